// One trial: why it is in its state, results, specification and how it differs from its neighbours, curves, attempts, log.
import {h, replace, table, notice, button, ask} from "./dom.js";
import {labelsText, shown, stateWord, duration, clock, grouped} from "./format.js";
import {LineChart, seriesColour} from "./charts.js";

const kPeriodMs = 3000;
const kLogLines = 200;
const kNeighbours = 12;

// {"model.bert.layers": 2, …}: lists as texts.
function flat(value, prefix = "", out = {}) {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    const entries = Object.entries(value);
    if (entries.length === 0 && prefix) out[prefix] = "{}";
    for (const [key, inner] of entries) flat(inner, prefix ? `${prefix}.${key}` : key, out);
  } else {
    out[prefix] = typeof value === "string" ? value : JSON.stringify(value);
  }
  return out;
}

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
    this.log = h("pre", {class: "log", tabindex: "0", role: "region", "aria-label": "Log"});
    this.differences = h("div", {}); this.spec = h("div", {});
    const part = (title, body) => h("section", {class: "panel part"}, h("h2", {}, title), body);
    this.logPart = part("Log", this.log);
    this.attemptsPart = part("Attempts", this.attempts);
    this.element = h("section", {}, this.heading, this.head,
      h("div", {class: "two"}, part("Why", this.why), part("Results", h("div", {class: "results", tabindex: "0", role: "region", "aria-label": "Results"}, this.results))),
      part("Curves", this.curves), this.attemptsPart, this.logPart, part("Differences from its neighbours", this.differences), part("Specification", this.spec));
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
  }

  async refresh() {
    const trial = this.trial = await this.source.trial(this.id);
    if (this.stopped) return;
    this.drawHead();
    const [why, results, attempts, logs, names] = await Promise.all([this.source.why(this.id), this.source.results(this.id), this.source.attempts(this.id),
      this.source.logs(this.id, kLogLines), this.source.curveNames([this.id])]);
    if (this.stopped) return;
    replace(this.why, h("ul", {class: "why"}, reasons(why)));
    replace(this.results, results.length === 0 ? h("p", {class: "empty"}, trial.state === "DIVERGED" ? "The loss is not finite: this is its result." : trial.state === "PENDING" || trial.state === "RUNNING" ? "No result yet." : "No result.")
      : table("Final measurements", [{heading: "measurement"}, {heading: "value", number: true}], results.map(([name, value]) => [name, shown(value, 6)]), {class: "compact"}));
    this.drawAttempts(attempts);
    this.drawLog(logs);
    await this.drawCurves(names);
    const active = trial.state === "PENDING" || trial.state === "RUNNING";
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

  drawLog(lines) {
    this.logPart.hidden = !this.source.live;
    const last = lines.length ? lines[lines.length - 1].line ?? lines.length : 0;
    if (last === this.lastLine && this.log.childNodes.length) return;
    this.lastLine = last;
    const atEnd = this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 8;
    replace(this.log, lines.length === 0 ? "No lines." : lines.map((line) => `${clock(line.time_unix_ms)}  ${line.text ?? ""}\n`));
    if (atEnd) this.log.scrollTop = this.log.scrollHeight;
  }

  async drawCurves(names) {
    const first = ["train_loss", "loss", "max_inf_norm", "avg_kurtosis"], order = [...first.filter((n) => names.includes(n)), ...names.filter((n) => !first.includes(n)).sort()].slice(0, 8);
    if (order.length === 0) { replace(this.curves, h("p", {class: "empty"}, "No points.")); return; }
    if (!order.every((name) => this.charts.has(name))) {
      for (const name of order) if (!this.charts.has(name)) this.charts.set(name, new LineChart({label: `${name} of ${this.id} over steps`, x: "", y: "", height: 170}));
      replace(this.curves, order.map((name) => h("figure", {}, h("figcaption", {}, name), this.charts.get(name).element)));
    }
    for (const name of order) {
      const rows = await this.source.curves([this.id], name);
      if (this.stopped) return;
      const points = rows.filter((r) => r.value !== null).map((r) => ({x: r.step, y: r.value}));
      this.charts.get(name).update([{label: name, data: points, borderColor: seriesColour(0), backgroundColor: seriesColour(0), pointRadius: points.length < 3 ? 3 : 0}]);
    }
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
    replace(this.differences, rows.length === 0 ? h("p", {class: "empty"}, "No other trial differs from it in one axis alone.")
      : table("Trials that differ in one axis", [{heading: "trial"}, {heading: "axis"}, {heading: "state"}, {heading: "fields", class: "reason"}], rows));
  }
  drawSpec(own) {
    replace(this.spec, h("details", {}, h("summary", {}, `${Object.keys(own).length} fields`),
      table("Specification", [{heading: "field"}, {heading: "value"}], Object.entries(own).map(([field, value]) => [h("code", {}, field), value]), {class: "compact"})));
  }
}
