// One trial: why it is in its state, results, specification and how it differs from its neighbours, curves, attempts, log.
import {h, replace, table, notice, button, ask} from "./dom.js";
import {labelsText, shown, stateWord, duration, grouped} from "./format.js";
import {LineChart} from "./charts.js";
import {DeviceCharts} from "./device_charts.js";
import {LogTail} from "./log_tail.js";
import {flat} from "./source.js";

const kPeriodMs = 3000;
const kDeviceAttempts = 6;
const kNeighbours = 12;

// Trials that differ in the label of one axis: the labels before and after its own.
function neighboursOf(matrix, trial) {
  const at = matrix.find(trial), width = matrix.axes.length;
  if (at < 0) return [];
  const own = matrix.labels.subarray(at * width, (at + 1) * width), found = [];
  for (let i = 0; i < matrix.size; ++i) {
    let differs = -1, count = 0;
    for (let a = 0; a < width && count < 2; ++a) if (matrix.labels[i * width + a] !== own[a]) { differs = a; ++count; }
    if (count === 1) found.push({i, axis: differs, distance: Math.abs(matrix.labels[i * width + differs] - own[differs])});
  }
  return found.sort((a, b) => a.axis - b.axis || a.distance - b.distance)
    .filter((one, k, all) => all.slice(0, k).filter((other) => other.axis === one.axis).length < 2).slice(0, kNeighbours);
}

function reasons(explanation) {
  const state = explanation.state ? h("span", {class: `state ${stateWord(explanation.state)}`}, stateWord(explanation.state)) : null;
  return h("li", {}, explanation.text, " ", state, (explanation.because ?? []).length > 0 && h("ul", {}, explanation.because.map(reasons)));
}

export class TrialView {
  title = "Trial";

  constructor(source, trial, parameters, go) {
    this.source = source;
    this.id = trial;
    this.go = go;
    this.heading = h("h1", {tabindex: "-1"}, trial);
    this.head = h("div", {}, h("p", {class: "quiet"}, "Loading …"));
    this.why = h("div", {}); this.results = h("div", {}); this.attempts = h("div", {}); this.curves = h("div", {class: "charts"});
    this.log = new LogTail(source, trial);
    this.devices = new DeviceCharts(trial);
    this.differences = h("div", {}); this.spec = h("div", {});
    const part = (title, body) => h("section", {class: "panel part"}, h("h2", {}, title), body);
    this.logPart = part("Log", this.log.element);
    this.devicesPart = part("Devices while it ran", this.devices.element);
    this.logPart.hidden = this.devicesPart.hidden = !source.live;
    this.attemptsPart = part("Attempts", this.attempts);
    this.element = h("section", {}, this.heading, this.head,
      h("div", {class: "two"}, part("Why", this.why), part("Results", h("div", {class: "results", tabindex: "0", role: "region", "aria-label": "Results"}, this.results))),
      part("Curves", this.curves), this.attemptsPart, this.logPart, this.devicesPart, part("Differences from its neighbours", this.differences), part("Specification", this.spec));
    this.charts = new Map();
  }

  async start() {
    try {
      await this.refresh();
      await this.compare();
    } catch (error) {
      if (!this.stopped) replace(this.head, notice(error.message));
    }
  }
  stop() {
    this.stopped = true;
    clearTimeout(this.timer);
    for (const chart of this.charts.values()) chart.destroy();
    this.log.stop();
    this.devices.destroy();
  }

  async refresh() {
    const trial = this.trial = await this.source.trial(this.id);
    if (this.stopped) return;
    this.drawHead();
    const active = trial.state === "PENDING" || trial.state === "RUNNING";
    if (this.source.live) this.log.live(active);
    const [why, results, attempts, names] = await Promise.all([this.source.why(this.id), this.source.results(this.id), this.source.attempts(this.id), this.source.curveNames([this.id])]);
    if (this.stopped) return;
    replace(this.why, h("ul", {class: "why"}, reasons(why)));
    replace(this.results, results.length === 0 ? h("p", {class: "empty"}, trial.state === "DIVERGED" ? "The loss is not finite: this is its result." : trial.state === "PENDING" || trial.state === "RUNNING" ? "No result yet." : "No result.")
      : table("Final measurements", [{heading: "measurement"}, {heading: "value", number: true}], results.map(([name, value]) => [name, shown(value, 6)]), {class: "compact"}));
    this.drawAttempts(attempts);
    await this.drawCurves(names);
    if (this.source.live) await this.drawDevices(attempts);
    if (active && this.source.live && !this.stopped) this.timer = setTimeout(() => this.refresh().catch((e) => replace(this.why, notice(e.message))), kPeriodMs);
  }

  drawHead() {
    const {trial} = this, active = trial.state === "PENDING" || trial.state === "RUNNING", buttons = [];
    const change = (method, question) => async () => {
      if (question && !await ask(question, "Cancel the trial")) return;
      try {
        await this.source.change(method, {trial: this.id});
        clearTimeout(this.timer);
        await this.refresh();
      } catch (error) {
        this.head.append(notice(error.message));
      }
    };
    if (trial.state === "FAILED" && this.source.may("Retry")) buttons.push(button("Retry", change("Retry")));
    if (active && this.source.may("Cancel")) buttons.push(button("Cancel", change("Cancel", `Cancel ${this.id}?`), {class: "danger"}));
    document.title = `${this.id} · inlier`;
    replace(this.heading, this.id, h("span", {class: "quiet id"}, labelsText(trial.labels)));
    replace(this.head,
      h("div", {class: "row"}, h("span", {class: `state ${stateWord(trial.state)}`}, stateWord(trial.state)),
        h("span", {}, "of ", h("a", {href: `#/sweep/${trial.sweep_id}`}, trial.sweep), h("span", {class: "quiet id"}, trial.sweep_id)), h("span", {class: "grow"}), buttons),
      trial.message && notice(trial.message, trial.state === "FAILED" ? "error" : "warning"));
  }

  drawAttempts(attempts) {
    this.attemptsPart.hidden = !this.source.live;
    replace(this.attempts, attempts.length === 0 ? h("p", {class: "empty"}, "None yet: its results may be those of a training or evaluation that ran before.")
      : table("Attempts, the newest first", [{heading: "stage"}, {heading: "no.", number: true}, {heading: "outcome"}, {heading: "took", number: true}, {heading: "where"}, {heading: "message", class: "reason"}],
        attempts.map((one) => [one.kind.toLowerCase(), one.attempt, h("span", {class: `state ${one.outcome === "LIVE" ? "running" : stateWord(one.outcome)}`}, [one.outcome, one.failure].filter(Boolean).join(" ").toLowerCase().replaceAll("_", " ")),
          one.seconds === null ? "–" : duration(one.seconds), [one.host, one.device, `slot ${one.slot}`, one.resumed_step > 0 ? `from step ${grouped(one.resumed_step)}` : null].filter(Boolean).join(", "), one.message ?? ""])));
  }

  async drawCurves(names) {
    const first = ["train_loss", "loss", "max_inf_norm", "avg_kurtosis"], order = [...first.filter((n) => names.includes(n)), ...names.filter((n) => !first.includes(n)).sort()].slice(0, 8);
    if (order.length === 0) { replace(this.curves, h("p", {class: "empty"}, "No points.")); return; }
    if (!order.every((name) => this.charts.has(name))) {
      for (const name of order) if (!this.charts.has(name)) this.charts.set(name, new LineChart({label: `${name} of ${this.id} over steps`, x: "", height: 170}));
      replace(this.curves, order.map((name) => h("figure", {}, h("figcaption", {}, name), this.charts.get(name).element)));
    }
    for (const name of order) {
      const rows = await this.source.curves([this.id], name);
      if (this.stopped) return;
      await this.charts.get(name).update([{name, points: rows.filter((r) => r.value !== null).map((r) => [r.step, r.value])}]);
    }
  }

  // Of its newest attempts; with a GPU also the machine.
  async drawDevices(attempts) {
    const some = attempts.filter((one) => one.worker && one.started_at).slice(0, kDeviceAttempts);
    const tracks = await Promise.all(some.map(async (one) => {
      const from = Date.parse(one.started_at), to = one.seconds === null ? Date.now() : from + 1000 * one.seconds;
      const devices = await this.source.deviceTracks(one.worker, {from, to}), gang = one.processes > 1;
      return devices.filter(({device}) => device === "cpu" || gang || device === one.device).map((track) => ({name: `${one.host ?? ""} ${track.device}`.trim(), points: track.points}));
    }));
    if (this.stopped) return;
    const by = new Map();
    for (const track of tracks.flat()) by.set(track.name, [...by.get(track.name) ?? [], ...track.points]);
    const points = (all) => [...new Map(all.map((p) => [p.at, p])).values()].sort((a, b) => a.at - b.at);
    await this.devices.show([...by].map(([name, all]) => ({name, points: points(all)})));
  }

  async compare() {
    const own = flat(this.trial.spec);
    this.drawSpec(own);
    const matrix = await this.source.matrix(this.trial.sweep_id, ""), neighbours = neighboursOf(matrix, this.id);
    const specs = new Map((await this.source.specs(neighbours.map((n) => `t-${matrix.numbers[n.i]}`))).map((row) => [row.trial, flat(row.spec)]));
    if (this.stopped) return;
    const rows = neighbours.map(({i, axis}) => {
      const trial = `t-${matrix.numbers[i]}`, other = specs.get(trial);
      const fields = other ? [...new Set([...Object.keys(own), ...Object.keys(other)])].filter((f) => own[f] !== other[f]) : [];
      return [h("a", {href: `#/trial/${trial}`}, trial), `${matrix.axes[axis].name}=${matrix.axes[axis].labels[matrix.labels[i * matrix.axes.length + axis]] || "–"}`,
        h("span", {class: `state ${stateWord(matrix.stateOf(i))}`}, stateWord(matrix.stateOf(i))),
        fields.length === 0 ? h("span", {class: "quiet"}, "its specification is not known") : h("ul", {class: "fields-differ"}, fields.slice(0, 20).map((f) => h("li", {}, h("code", {}, f), `: ${own[f] ?? "–"} here, ${other[f] ?? "–"} there`)),
          fields.length > 20 && h("li", {class: "quiet"}, `and ${fields.length - 20} more`))];
    });
    replace(this.differences, h("p", {}, h("a", {href: `#/compare?trials=${[this.id, ...neighbours.map(({i}) => `t-${matrix.numbers[i]}`)].slice(0, 6).join(",")}`}, neighbours.length > 0 ? "Compare with its neighbours" : "Compare with others")), rows.length === 0 ? h("p", {class: "empty"}, "No other trial differs from it in one axis alone.")
      : table("Trials that differ in one axis", [{heading: "trial"}, {heading: "axis"}, {heading: "state"}, {heading: "fields", class: "reason"}], rows));
  }
  drawSpec(own) {
    replace(this.spec, h("details", {}, h("summary", {}, `${Object.keys(own).length} fields`),
      table("Specification", [{heading: "field"}, {heading: "value"}], Object.entries(own).map(([field, value]) => [h("code", {}, field), value]), {class: "compact"})));
  }
}
