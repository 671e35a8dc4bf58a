// The workers: slots, what is busy, the machine and its GPUs now and over time.
import {h, replace, notice, choice} from "./dom.js";
import {ago, number, shown, grouped} from "./format.js";
import {DeviceCharts} from "./device_charts.js";
import {RowsTable} from "./rows.js";

const kPeriodMs = 3000;
const kTracksMs = 10000;
const kHours = [["1", "hour"], ["6", "6 hours"], ["24", "day"]];

function meter(share, text) {
  const percent = Math.max(0, Math.min(100, 100 * share));
  return h("div", {class: "meter"}, h("div", {class: "bar small", role: "img", "aria-label": text}, h("i", {style: {width: `${percent}%`, background: "var(--running)"}})), h("span", {}, text));
}

function gpuOf(gpu) {
  const used = number(gpu.memory_used_mib), total = number(gpu.memory_total_mib), use = number(gpu.utilization);
  const more = [];
  if (gpu.device === "cpu") more.push("the machine");
  if (gpu.temperature_celsius !== undefined) more.push(`${shown(number(gpu.temperature_celsius), 3)} °C`);
  if (gpu.power_watts !== undefined) more.push(`${shown(number(gpu.power_watts), 3)} W`);
  if (number(gpu.memory_errors) > 0) more.push(`${gpu.memory_errors} memory errors`);
  return h("div", {class: "gpu"}, h("strong", {}, gpu.device), h("span", {class: "quiet"}, ` ${gpu.name ?? ""} ${more.join(", ")}`),
    Number.isFinite(use) && meter(use, `${Math.round(100 * use)} % in use`),
    total > 0 && meter(used / total, `${grouped(used)} of ${grouped(total)} MiB`));
}

// The devices as they are now, and what is wrong with them.
function devicesOf(worker) {
  const sick = (worker.quarantined ?? []).map((one) => h("div", {class: "warn"}, `${one.device} in quarantine: ${one.reason}`));
  if (worker.trouble) sick.push(h("div", {class: "warn"}, `can start no trial: ${worker.trouble}`));
  const kinds = new Map();
  for (const device of worker.devices ?? []) kinds.set(device, (kinds.get(device) ?? 0) + 1);
  const read = [...worker.gpus ?? [], ...worker.machine ? [worker.machine] : []];
  return [read.length > 0 ? read.map(gpuOf) : [...kinds].map(([device, n]) => h("div", {}, n > 1 ? `${n} × ${device}` : device)), sick];
}

export class WorkersView {
  title = "Workers";

  constructor(source, parameters, go) {
    Object.assign(this, {source, parameters, go});
    this.summary = h("p", {class: "quiet"}, "Loading …");
    this.rows = new RowsTable("Workers", {attributes: {class: "compact"}});
    this.rows.element.hidden = true;
    this.fields = h("div", {class: "row fields"});
    this.devices = new DeviceCharts("the worker's devices");
    this.overTime = h("section", {class: "panel part", hidden: true}, h("h2", {}, "Over time"), this.fields, this.devices.element);
    this.element = h("section", {}, h("h1", {tabindex: "-1"}, "Workers"), this.summary, this.rows.element, this.overTime);
  }
  start() { this.refresh(); }
  stop() { clearTimeout(this.timer); this.stopped = true; this.devices.destroy(); }
  parametersChanged(parameters) {
    this.parameters = parameters;
    this.readAt = 0;
    clearTimeout(this.timer);
    this.refresh();
  }

  async refresh() {
    try {
      const workers = await this.source.workers();
      if (this.stopped) return;
      this.draw(workers);
      await this.drawOverTime(workers);
    } catch (error) {
      if (!this.stopped) replace(this.summary, notice(error.message));
    }
    if (!this.stopped) this.timer = setTimeout(() => this.refresh(), kPeriodMs);
  }

  draw(workers) {
    if (workers.length === 0) {
      this.rows.element.hidden = true;
      replace(this.summary, "No worker has connected. Start one: ", h("code", {}, "inlier-worker"));
      return;
    }
    const order = [...workers].sort((a, b) => Number(Boolean(b.connected)) - Number(Boolean(a.connected)) || String(a.name).localeCompare(b.name));
    const slots = order.filter((w) => w.connected).reduce((n, w) => n + (w.slots ?? 0), 0), busy = order.filter((w) => w.connected).reduce((n, w) => n + (w.busy ?? 0), 0);
    const stateOf = (worker) => {
      const away = worker.draining && !worker.busy ? "stopped" : "lost";  // As AwayWord of cli/sweeps/sweep_text.h.
      return !worker.connected ? away : worker.draining ? "draining" : worker.trouble ? "unable" : "connected";
    };
    this.rows.show([
      {heading: "worker", value: (w) => `${w.name} ${w.host}`, cell: (w) => h("a", {href: this.address({worker: w.incarnation})}, w.name, h("span", {class: "quiet id"}, w.host))},
      {heading: "state", value: stateOf, cell: (w) => h("span", {class: `state worker-${stateOf(w)}`}, stateOf(w))},
      {heading: "slots", value: (w) => w.slots ?? 0, cell: (w) => meter((w.busy ?? 0) / Math.max(1, w.slots ?? 0), `${w.busy ?? 0} of ${w.slots ?? 0} busy`)},
      {heading: "devices", value: (w) => (w.devices ?? []).join(" "), cell: devicesOf},
      {heading: "last seen", value: (w) => Number(w.last_seen_unix_ms), cell: (w) => ago(w.last_seen_unix_ms)},
      {heading: "version", value: (w) => w.version ?? ""},
    ], order);
    this.rows.element.hidden = false;
    replace(this.summary, `${busy} of ${slots} slots of connected workers are busy.`);
  }

  address(changes) {
    const parameters = new URLSearchParams();
    for (const [key, value] of Object.entries({...this.parameters, ...changes})) if (value) parameters.set(key, value);
    return `#/workers?${parameters}`;
  }
  async drawOverTime(workers) {
    this.overTime.hidden = workers.length === 0;
    if (workers.length === 0 || Date.now() - (this.readAt ?? 0) < kTracksMs) return;
    this.readAt = Date.now();
    const worker = workers.find((w) => w.incarnation === this.parameters.worker) ?? workers.find((w) => w.connected) ?? workers[0], hours = this.parameters.hours ?? "1";
    const names = workers.map((w) => [w.incarnation, w.connected ? w.name : `${w.name}, ${ago(w.last_seen_unix_ms)}`]), key = JSON.stringify([names.map(([k]) => k), worker.incarnation, hours]);
    if (key !== this.key) {
      this.key = key;
      replace(this.fields, choice("Worker", worker.incarnation, names, (value) => this.go(this.address({worker: value}))), choice("Of the last", hours, kHours, (value) => this.go(this.address({hours: value}))));
    }
    const tracks = await this.source.deviceTracks(worker.incarnation, {from: Date.now() - 3600000 * Number(hours)});
    if (!this.stopped) await this.devices.show(tracks.map((track) => ({name: [track.device, track.name].filter(Boolean).join(" "), points: track.points})));
  }
}
