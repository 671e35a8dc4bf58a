// Calls of the coordinator's services as JSON (coordinator/web/api.h), with the caller's token.

const kTokenKey = "inlier.token";

export class ApiError extends Error {
  constructor(code, message, status) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export function token() { return sessionStorage.getItem(kTokenKey) ?? ""; }
export function setToken(text) {
  text ? sessionStorage.setItem(kTokenKey, text) : sessionStorage.removeItem(kTokenKey);
}

// Takes the token from the address, where `inlier page` puts it, and removes it there at once.
export function takeTokenFromAddress() {
  const found = location.hash.match(/^#token=([A-Za-z0-9_.-]+)(?:&to=(.*))?$/);
  if (!found) return;
  setToken(found[1]);
  history.replaceState(null, "", `${location.pathname}#${found[2] ?? "/sweeps"}`);
}

function headers() {
  const all = {"Content-Type": "application/json"};
  if (token()) all.Authorization = `Bearer ${token()}`;
  return all;
}

async function failure(response) {
  let body = {};
  try { body = await response.json(); } catch { /* Not from the services. */ }
  return new ApiError(body.code ?? `HTTP ${response.status}`, body.message ?? response.statusText, response.status);
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, {cache: "no-store", ...options});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("UNAVAILABLE", "the coordinator does not answer", 0);
  }
  if (!response.ok) throw await failure(response);
  return response;
}

export async function about() {
  return (await send("/api/about", {headers: headers()})).json();
}

export async function call(method, request = {}, signal = undefined) {
  const response = await send(`/api/inlier.v1.SweepService/${method}`,
    {method: "POST", headers: headers(), body: JSON.stringify(request), signal});
  const notice = response.headers.get("Inlier-Notice");
  window.dispatchEvent(new CustomEvent("inlier-notice", {detail: notice ? JSON.parse(notice) : ""}));
  return response.json();
}

// Calls update(message) for each message of a streaming method; resolves with the status at its end.
export async function stream(method, request, update, signal) {
  const response = await send(`/api/inlier.v1.SweepService/${method}`,
    {method: "POST", headers: headers(), body: JSON.stringify(request), signal});
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const {done, value} = await reader.read();
    if (done) throw new ApiError("UNAVAILABLE", "the connection to the coordinator ended", 0);
    buffer += value;
    let end;
    while ((end = buffer.indexOf("\n\n")) >= 0) {
      const lines = buffer.slice(0, end).split("\n");
      buffer = buffer.slice(end + 2);
      const event = lines.find((line) => line.startsWith("event: "))?.slice(7);
      const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
      if (event === "update") update(JSON.parse(data));
      if (event === "end") {
        const status = JSON.parse(data);
        if (status.code !== "OK") throw new ApiError(status.code, status.message, 0);
        return;
      }
    }
  }
}
