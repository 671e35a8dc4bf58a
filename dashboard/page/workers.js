// The workers: slots, what is busy, GPU memory and use.
import {h, replace, table, notice} from "./dom.js";
import {ago, number, shown, grouped} from "./format.js";

const kPeriodMs = 3000;

function meter(share, text) {
  const percent = Math.max(0, Math.min(100, 100 * share));
  return h("div", {class: "meter"}, h("div", {class: "bar small", role: "img", "aria-label": text}, h("i", {style: {width: `${percent}%`, background: "var(--running)"}})), h("span", {}, text));
}

function gpuOf(gpu) {
  const used = number(gpu.memory_used_mib), total = number(gpu.memory_total_mib), use = number(gpu.utilization);
  const more = [];
  if (gpu.temperature_celsius !== undefined) more.push(`${shown(number(gpu.temperature_celsius), 3)} °C`);
  if (gpu.power_watts !== undefined) more.push(`${shown(number(gpu.power_watts), 3)} W`);
  if (number(gpu.memory_errors) > 0) more.push(`${gpu.memory_errors} memory errors`);
  return h("div", {class: "gpu"}, h("strong", {}, gpu.device), h("span", {class: "quiet"}, ` ${gpu.name ?? ""} ${more.join(", ")}`),
    Number.isFinite(use) && meter(use, `${Math.round(100 * use)} % in use`),
    total > 0 && meter(used / total, `${grouped(used)} of ${grouped(total)} MiB`));
}

export class WorkersView {
  title = "Workers";

  constructor(source) {
    this.source = source;
    this.list = h("div", {}, h("p", {class: "quiet"}, "Loading …"));
    this.element = h("section", {}, h("h1", {tabindex: "-1"}, "Workers"), this.list);
  }
  start() { this.refresh(); }
  stop() { clearTimeout(this.timer); this.stopped = true; }

  async refresh() {
    try {
      const workers = await this.source.workers();
      if (this.stopped) return;
      this.draw(workers);
    } catch (error) {
      if (!this.stopped) replace(this.list, notice(error.message));
    }
    if (!this.stopped) this.timer = setTimeout(() => this.refresh(), kPeriodMs);
  }

  draw(workers) {
    if (workers.length === 0) {
      replace(this.list, h("p", {class: "empty"}, "No worker has connected. Start one: ", h("code", {}, "inlier-worker")));
      return;
    }
    const order = [...workers].sort((a, b) => Number(Boolean(b.connected)) - Number(Boolean(a.connected)) || String(a.name).localeCompare(b.name));
    const slots = order.filter((w) => w.connected).reduce((n, w) => n + (w.slots ?? 0), 0), busy = order.filter((w) => w.connected).reduce((n, w) => n + (w.busy ?? 0), 0);
    const columns = [{heading: "worker"}, {heading: "state"}, {heading: "slots"}, {heading: "devices"}, {heading: "last seen"}, {heading: "version"}];
    const rows = order.map((worker) => {
      const away = worker.draining && !worker.busy ? "stopped" : "lost";  // As AwayWord of cli/sweeps/sweep_text.h.
      const state = !worker.connected ? away : worker.draining ? "draining" : worker.trouble ? "unable" : "connected";
      const sick = (worker.quarantined ?? []).map((one) => h("div", {class: "warn"}, `${one.device} in quarantine: ${one.reason}`));
      if (worker.trouble) sick.push(h("div", {class: "warn"}, `can start no trial: ${worker.trouble}`));
      const kinds = new Map();
      for (const device of worker.devices ?? []) kinds.set(device, (kinds.get(device) ?? 0) + 1);
      return [
        h("span", {}, worker.name, h("span", {class: "quiet id"}, worker.host)),
        h("span", {class: `state worker-${state}`}, state),
        meter((worker.busy ?? 0) / Math.max(1, worker.slots ?? 0), `${worker.busy ?? 0} of ${worker.slots ?? 0} busy`),
        [(worker.gpus ?? []).length ? worker.gpus.map(gpuOf) : [...kinds].map(([device, n]) => h("div", {}, n > 1 ? `${n} × ${device}` : device)), sick],
        ago(worker.last_seen_unix_ms), worker.version ?? "",
      ];
    });
    replace(this.list, h("p", {class: "quiet"}, `${busy} of ${slots} slots of connected workers are busy.`), table("Workers", columns, rows));
  }
}
