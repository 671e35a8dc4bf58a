// The page: header, addresses, keys. The views are in modules of their own.
import {h, replace, notice, button} from "./dom.js";
import {setToken, takeTokenFromAddress, token} from "./api.js";
import {LiveSource, StoredSource} from "./source.js";
import {SweepsView} from "./sweeps.js";
import {SweepView} from "./sweep.js";
import {TrialView} from "./trial.js";
import {WorkersView} from "./workers.js";
import {CompareView} from "./compare.js";

const kKeys = [["?", "this list"], ["s", "sweeps"], ["w", "workers"], ["t", "dark or light"], ["1 … 7", "parts of a sweep"], ["c", "compare trials"],
  ["arrow keys", "move in the matrix"], ["Page up, Page down, Home, End", "move further in the matrix"], ["Enter", "open the trial under the mark"],
  ["Space", "add the trial's curve"], ["Tab", "to the next control"], ["Escape", "close a dialog"]];
const kThemeKey = "inlier.theme";

const main = document.getElementById("main");
const stored = document.getElementById("inlier-data");
const source = stored ? new StoredSource(JSON.parse(stored.textContent)) : new LiveSource();
let view = null;
let shownAddress = null;

// -- theme --

// A file of its own, or a window without storage, has no place for settings.
function remembered(action) { try { return action(); } catch { return null; } }
function theme() {
  return remembered(() => localStorage.getItem(kThemeKey)) ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}
function useTheme() {
  document.documentElement.dataset.theme = theme();
  window.dispatchEvent(new Event("inlier-theme"));
}
function switchTheme() {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  remembered(() => localStorage.setItem(kThemeKey, next));
  document.documentElement.dataset.theme = next;
  window.dispatchEvent(new Event("inlier-theme"));
  redraw();
}

// -- addresses: #/sweeps, #/sweep/s-1?tab=curves&trials=t-1,t-2, #/trial/t-3, #/compare?trials=t-1,t-2, #/workers --

function parse(hash) {
  const [path, query] = hash.replace(/^#/, "").split("?");
  const [, kind = "", id = ""] = path.split("/");
  return {kind: kind || "sweeps", id: decodeURIComponent(id), parameters: Object.fromEntries(new URLSearchParams(query ?? ""))};
}
function go(hash) { location.hash = hash.replace(/^#/, ""); }

function makeView({kind, id, parameters}) {
  if (kind === "sweep" && id) return new SweepView(source, id, parameters, go);
  if (kind === "trial" && id) return new TrialView(source, id, parameters, go);
  if (kind === "compare") return new CompareView(source, parameters, go);
  if (kind === "workers" && source.live) return new WorkersView(source, parameters, go);
  if (!source.live) return new SweepView(source, source.data.sweep.sweep_id, parameters, go);
  return new SweepsView(source);
}

function redraw() {
  shownAddress = null;
  route();
}

function route() {
  const address = parse(location.hash), same = shownAddress && view && shownAddress.kind === address.kind && shownAddress.id === address.id;
  if (same && view.parametersChanged) {
    shownAddress = address;
    view.parametersChanged(address.parameters);
    return;
  }
  const first = shownAddress === null;
  shownAddress = address;
  view?.stop();
  view = makeView(address);
  document.title = `${view.title} · inlier`;
  replace(main, view.element);
  drawHeader(address.kind);
  view.start();
  if (!first) {
    view.element.querySelector("h1")?.focus({preventScroll: true});
    window.scrollTo(0, 0);
  }
}

// -- header --

function drawHeader(kind) {
  const {caller, version} = source.about;
  const link = (to, text, key) => h("a", {href: `#/${to}`, "aria-current": kind.startsWith(key) ? "page" : null}, text);
  replace(document.getElementById("top"),
    h("a", {class: "brand", href: "#/sweeps"}, "inlier"),
    h("nav", {"aria-label": "Pages"}, source.live ? [link("sweeps", "Sweeps", "sweep"), link("compare", "Compare", "compare"), link("workers", "Workers", "worker")]
      : [link("sweeps", "Sweep", "sweep"), link("compare", "Compare", "compare")]),
    h("span", {class: "grow"}),
    source.live ? caller.name && h("span", {class: "quiet caller"}, `${caller.name} (${caller.role})`) : h("span", {class: "quiet caller"}, `saved ${source.data.saved_at}`),
    source.live && token() && button("Forget token", () => { setToken(""); location.reload(); }, {class: "forget"}),
    button("Theme", switchTheme, {"aria-label": "Dark or light colours"}),
    button("?", showKeys, {"aria-label": "Keys"}));
  replace(document.getElementById("bottom"), `inlier ${version}. Charts by `, h("a", {href: "https://echarts.apache.org", rel: "noreferrer"}, "Apache ECharts"), " (Apache License 2.0).");
}

function showKeys() {
  const dialog = h("dialog", {"aria-label": "Keys"}, h("h2", {}, "Keys"),
    h("dl", {class: "keys"}, kKeys.map(([key, does]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)])),
    h("form", {method: "dialog"}, h("button", {autofocus: true}, "Close")));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input, select, textarea")) return;
  if (event.key === "?") showKeys();
  else if (event.key === "s") go("#/sweeps");
  else if (event.key === "w" && source.live) go("#/workers");
  else if (event.key === "c") go("#/compare");
  else if (event.key === "t") switchTheme();
  else if (event.key >= "1" && event.key <= "7") document.querySelectorAll(".tabs a")[Number(event.key) - 1]?.click();
  else return;
  event.preventDefault();
});

// What the coordinator says of itself, such as that its disk is full.
window.addEventListener("inlier-notice", ({detail}) => {
  replace(document.getElementById("notice"), detail && notice(`${detail}; the page shows the stored state`));
});

// -- who asks --

function askForToken(error) {
  const field = h("input", {type: "password", id: "token", autocomplete: "off", spellcheck: "false", required: true});
  replace(main, h("section", {class: "panel token"}, h("h1", {tabindex: "-1"}, "A token, please"),
    h("p", {}, "This coordinator checks its callers. On the machine of ", h("code", {}, "inlier up"), " the command ", h("code", {}, "inlier page"), " opens this page with its token."),
    token() && notice(error.message),
    h("form", {onsubmit: (event) => { event.preventDefault(); setToken(field.value.trim()); begin(); }},
      h("label", {for: "token"}, "Token"), field, h("button", {}, "Use it"))));
  field.focus();
}

async function begin() {
  try {
    await source.open();
  } catch (error) {
    if (error.status === 401) return askForToken(error);
    replace(main, notice(error.message), error.status === 403 ? null : button("Try again", begin));
    return;
  }
  window.addEventListener("hashchange", route);
  route();
}

if (source.live) takeTokenFromAddress();
useTheme();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { useTheme(); if (view) redraw(); });
document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
begin();
