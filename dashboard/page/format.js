// Texts for people: states, numbers, times, labels. One home for the colours and names of states.

export const STATES = ["", "PENDING", "RUNNING", "SUCCEEDED", "DIVERGED", "FAILED", "CANCELLED"];  // By TrialState.
export const STATE_ORDER = ["SUCCEEDED", "DIVERGED", "RUNNING", "PENDING", "CANCELLED", "FAILED"];

const SWEEP_STATES = {
  ACTIVE: "active", COMPLETE: "complete", SWEEP_CANCELLED: "cancelled", CANCELLED: "cancelled", STOPPED_BY_FAILURES: "stopped by failures",
  STOPPED_BY_TIME: "stopped by time", STOPPED_BY_BUDGET: "stopped by budget",
};

export function stateWord(state) { return state.toLowerCase(); }

export function sweepWord(sweep) {
  if (sweep.state === "ACTIVE" && sweep.paused) return "paused";
  const by = counts(sweep);
  if (sweep.state === "COMPLETE" && by.FAILED) return by.FAILED === by.total ? "failed" : "partly failed";
  return SWEEP_STATES[sweep.state] ?? String(sweep.state).toLowerCase();
}

export function sweepClass(sweep) { return `state sweep-${sweepWord(sweep).replaceAll(" ", "-")}`; }

// The name under which trials have their label of an axis (spec/sweep/sweep_grid.cc).
export function axisName(axis) {
  const last = (path) => path.slice(path.lastIndexOf(".") + 1);
  return axis.name || (axis.zip?.length ? axis.zip : [axis.field ?? ""]).map(last).join("+");
}

// A number of JSON, also one that JSON has as a text.
export function number(value) {
  if (value === undefined || value === null) return NaN;
  if (typeof value === "number") return value;
  if (value === "Infinity") return Infinity;
  if (value === "-Infinity") return -Infinity;
  return Number(value);
}

export function shown(value, digits = 4) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
  if (Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(digits)));
}

export function grouped(count) { return Number(count).toLocaleString("en"); }

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 1) return "under 1 s";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds < 600 ? Math.round(seconds % 60) + " s" : ""}`.trim();
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor(seconds % 86400 / 3600)} h`;
}

export function ago(unixMs, now = Date.now()) {
  const ms = Number(unixMs);
  return ms > 0 ? `${duration(Math.max(1, (now - ms) / 1000))} ago` : "–";
}

export function clock(unixMs) {
  return new Date(Number(unixMs)).toLocaleTimeString("en-GB");
}

// "method=clipped, seed=1": labels in the order of `axes`, without those that do not apply.
export function labelsText(labels, axes) {
  const names = axes ? axes.filter((a) => a in labels) : Object.keys(labels);
  return names.filter((a) => labels[a] !== "").map((a) => `${a}=${labels[a]}`).join(", ");
}

export function counts(sweep) {
  const trials = sweep.trials ?? {};
  const count = (name) => number(trials[name] ?? 0);
  const by = {PENDING: count("pending"), RUNNING: count("running"), SUCCEEDED: count("succeeded"),
    DIVERGED: count("diverged"), FAILED: count("failed"), CANCELLED: count("cancelled")};
  const total = Object.values(by).reduce((a, b) => a + b, 0);
  return {...by, total, ended: total - by.PENDING - by.RUNNING, pruned: count("pruned"), known: count("known")};
}
