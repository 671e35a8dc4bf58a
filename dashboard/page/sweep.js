// One sweep: its trials as a matrix, curves, table, figure, parallel coordinates, failures.
import {h, replace, table, notice, button, choice, ask} from "./dom.js";
import {counts, sweepWord, sweepClass, axisName, duration, grouped, number, shown, labelsText, stateWord, STATE_ORDER} from "./format.js";
import {progressBar} from "./sweeps.js";
import {MatrixView, columnAxes} from "./matrix.js";
import {ParallelView} from "./parallel.js";
import {summarise} from "./statistics.js";
import {LineChart, seriesColour} from "./charts.js";
import {tableElement} from "./table.js";

const kTabs = [["matrix", "Matrix"], ["curves", "Curves"], ["table", "Table"], ["figure", "Figure"], ["parallel", "Parallel"], ["failures", "Failures"]];
const kCurvesMax = 12;
const kCurvesRead = 4 * kCurvesMax;  // Trials, some of which share a training.
const kRefreshMs = 2500;  // Of what is shown, while the sweep changes; longer where reading takes longer.
const kNoticesShown = 200;
const kRetryMs = 3000;
const kSeriesMax = 8;

export class SweepView {
  title = "Sweep";

  // `go(path, parameters)` changes the address.
  constructor(source, sweep, parameters, go) {
    this.source = source;
    this.id = sweep;
    this.parameters = parameters;
    this.go = go;
    this.head = h("div", {}, h("p", {class: "quiet"}, "Loading …"));
    this.tabs = h("nav", {class: "tabs", "aria-label": "Parts of the sweep"});
    this.body = h("div", {class: "panel"});
    this.notices = h("ol", {class: "notices"});
    this.log = h("details", {class: "notices-box"}, h("summary", {}, "Notices"), this.notices);
    this.heading = h("h1", {tabindex: "-1"}, sweep);
    this.element = h("section", {}, this.heading, this.head, this.tabs, this.body, this.log);
    this.sequence = null;
    this.abort = new AbortController();
    this.onHidden = () => document.hidden ? this.stopWatch() : this.watch();
  }

  async start() {
    try {
      this.sweep = await this.source.sweep(this.id);
      this.id = this.sweep.sweep_id ?? this.id;
    } catch (error) {
      replace(this.head, notice(error.message));
      return;
    }
    if (this.stopped) return;
    this.title = this.sweep.name;
    document.title = `${this.sweep.name} · inlier`;
    replace(this.heading, this.sweep.name, h("span", {class: "quiet id"}, this.id));
    this.drawHead();
    this.drawTabs();
    this.show();
    if (this.source.live) {
      document.addEventListener("visibilitychange", this.onHidden);
      this.watch();
    } else {
      this.log.remove();
    }
  }
  stop() {
    this.stopped = true;
    this.stopWatch();
    clearTimeout(this.refreshTimer);
    clearTimeout(this.retryTimer);
    document.removeEventListener("visibilitychange", this.onHidden);
    this.part?.destroy?.();
  }

  // -- what changes --

  stopWatch() { this.watching?.abort(); this.watching = null; }

  async watch() {
    if (this.watching || this.stopped || this.over) return;
    const watching = this.watching = new AbortController();
    try {
      await this.source.watch(this.id, this.sequence ?? 0, (update) => this.onUpdate(update), watching.signal);
      this.over = true;
      this.refreshSoon(0);
    } catch (error) {
      if (watching.signal.aborted || this.stopped) return;
      replace(this.state, `${error.message}; tried again`);
      this.retryTimer = setTimeout(() => this.watch(), kRetryMs);
    } finally {
      if (this.watching === watching) this.watching = null;
    }
  }

  onUpdate(update) {
    if (this.stopped) return;
    this.sequence = update.sequence ?? this.sequence;
    const changed = JSON.stringify(update.status?.trials) !== JSON.stringify(this.sweep.trials);
    this.sweep = {...this.sweep, ...update.status, spec: this.sweep.spec};
    this.sweep.paused = update.status?.paused;
    this.update = update;
    this.drawHead();
    for (const text of update.notices ?? []) this.notices.prepend(h("li", {}, text));
    while (this.notices.children.length > kNoticesShown) this.notices.lastChild.remove();
    this.log.hidden = this.notices.children.length === 0;
    if (changed || this.parameters.tab === "curves") this.refreshSoon(kRefreshMs);
  }
  refreshSoon(ms) {
    if (this.refreshTimer && ms > 0) return;
    clearTimeout(this.refreshTimer);
    this.refreshTimer = setTimeout(async () => {
      const began = performance.now();
      await this.part?.refresh?.();
      this.refreshTimer = null;
      if (this.again) { this.again = false; this.refreshSoon(Math.max(kRefreshMs, 8 * (performance.now() - began))); }
    }, ms);
  }

  // -- head --

  drawHead() {
    const sweep = this.sweep, by = counts(sweep), update = this.update ?? {}, active = sweep.state === "ACTIVE";
    const facts = [`${grouped(by.ended)} of ${grouped(by.total)} trials ended`];
    if (by.known) facts.push(`${grouped(by.known)} known before`);
    if (by.pruned) facts.push(`${grouped(by.pruned)} pruned`);
    if (active && update.work_done !== undefined) facts.push(`${Math.floor(100 * number(update.work_done))} % of the work done`);
    if (active && !sweep.paused && update.seconds_left !== undefined) facts.push(`${duration(number(update.seconds_left))} left`);
    if (number(sweep.gpu_hours) > 0) facts.push(`${shown(number(sweep.gpu_hours), 3)} GPU hours`);
    if (sweep.owner) facts.push(`owner ${sweep.owner}`);
    this.state ??= h("span", {class: "quiet", "aria-live": "polite"});
    if (this.state.textContent && this.watching) replace(this.state);
    const focused = document.activeElement?.textContent;
    const inHead = this.head.contains(document.activeElement);
    replace(this.head,
      sweep.spec?.description && h("p", {class: "quiet"}, sweep.spec.description),
      h("div", {class: "row"}, h("span", {class: sweepClass(sweep)}, sweepWord(sweep)), h("span", {class: "facts"}, facts.join(" · ")), this.state,
        h("span", {class: "grow"}), this.controls()),
      progressBar(sweep),
      h("p", {class: "legend"}, STATE_ORDER.filter((state) => by[state]).map((state) =>
        h("span", {class: "swatch"}, h("i", {style: {background: `var(--${stateWord(state)})`}}), `${grouped(by[state])} ${stateWord(state)}`))),
      (sweep.warnings ?? []).map((text) => notice(text, "warning")),
      (update.running ?? []).length > 0 && this.running(update.running));
    if (inHead) [...this.head.querySelectorAll("button, a")].find((b) => b.textContent === focused)?.focus({preventScroll: true});
  }

  running(attempts) {
    const axes = (this.sweep.spec?.axes ?? []).map(axisName), trials = counts(this.sweep).RUNNING;
    const all = (labels) => [...new Set([...axes, ...Object.keys(labels)])];
    return h("details", {class: "running", open: this.runningOpen ?? true, ontoggle: (e) => { this.runningOpen = e.target.open; }},
      h("summary", {}, `${grouped(trials)} running ${trials === 1 ? "trial" : "trials"}, by ${grouped(attempts.length)} ${attempts.length === 1 ? "attempt" : "attempts"}`),
      h("ul", {}, attempts.slice(0, 16).map((one) => {
        const progress = one.progress ?? {}, total = number(progress.steps_total), step = number(progress.step ?? 0);
        const latest = (one.latest ?? []).filter((p) => p.value !== undefined).slice(0, 3).map((p) => `${p.name} ${shown(number(p.value))}`);
        return h("li", {}, h("a", {href: `#/trial/${one.trial_id}`}, one.trial_id), " ", labelsText(one.labels ?? {}, all(one.labels ?? {})), " ",
          h("span", {class: "quiet"}, [progress.phase, total > 0 ? `${grouped(step)} of ${grouped(total)}` : null,
            progress.rate ? `${shown(number(progress.rate), 3)} steps/s` : null, progress.loss !== undefined && latest.length === 0 ? `loss ${shown(number(progress.loss))}` : null, ...latest]
            .filter(Boolean).join(", ")));
      }), attempts.length > 16 && h("li", {class: "quiet"}, `and ${attempts.length - 16} more`)));
  }

  controls() {
    const sweep = this.sweep, by = counts(sweep), active = sweep.state === "ACTIVE", buttons = [];
    const change = (method, request, question, agree) => async () => {
      if (question && !await ask(question, agree)) return;
      try {
        await this.source.change(method, {sweep: this.id, ...request});
        this.over = false;
        this.sweep = {...this.sweep, ...await this.source.sweep(this.id)};
        this.drawHead();
        this.watch();
      } catch (error) {
        replace(this.state, error.message);
      }
    };
    const may = (method) => this.source.mayChange(sweep, method);
    if (active && sweep.paused && may("ResumeSweep")) buttons.push(button("Resume", change("ResumeSweep", {})));
    if (active && !sweep.paused && may("PauseSweep")) buttons.push(button("Pause", change("PauseSweep", {})));
    if (by.FAILED && may("Retry")) buttons.push(button("Retry failed", change("Retry", {})));
    if (active && may("Cancel")) {
      buttons.push(button("Cancel", change("Cancel", {},
        `Cancel ${sweep.name}? ${grouped(by.PENDING + by.RUNNING)} trials that have not ended are cancelled; ${grouped(by.RUNNING)} of them run now.`, "Cancel the sweep"), {class: "danger"}));
    }
    return buttons;
  }

  // -- parts --

  drawTabs() {
    const current = this.parameters.tab ?? "matrix";
    replace(this.tabs, kTabs.filter(([key]) => this.source.live || key !== "table" || this.source.data.table).map(([key, text]) =>
      h("a", {href: this.address({tab: key === "matrix" ? null : key}), "aria-current": key === current ? "page" : null}, text)));
  }
  address(changes) {
    const parameters = new URLSearchParams();
    for (const [key, value] of Object.entries({...this.parameters, ...changes})) if (value) parameters.set(key, value);
    const query = parameters.toString();
    return `#/sweep/${this.id}${query ? `?${query}` : ""}`;
  }
  set(changes) {
    this.go(this.address(changes));
  }
  // The address has changed, and the sweep has not.
  parametersChanged(parameters) {
    const before = this.parameters.tab;
    this.parameters = parameters;
    if (!this.sweep) return;
    this.drawTabs();
    if (before !== parameters.tab || !this.part) this.show();
    else this.part.refresh();
  }

  show() {
    this.part?.destroy?.();
    const parts = {matrix: MatrixPart, curves: CurvesPart, table: TablePart, figure: FigurePart, parallel: ParallelPart, failures: FailuresPart};
    this.part = new (parts[this.parameters.tab] ?? MatrixPart)(this);
    replace(this.body, this.part.element);
    this.part.refresh();
  }

  // The final measurements that there are, read again until the sweep has some.
  async measured() {
    if (!this.measurements?.length || this.measuredAt !== counts(this.sweep).ended) {
      this.measuredAt = counts(this.sweep).ended;
      this.measurements = await this.source.measured(this.id);
    }
    return this.measurements;
  }
  // The measurement of the address, else the first usual one.
  chosen(measured) {
    if (this.parameters.color && measured.includes(this.parameters.color)) return this.parameters.color;
    return ["perplexity", "accuracy", "loss"].find((name) => measured.includes(name)) ?? measured[0] ?? "";
  }
  pins() { return (this.parameters.trials ?? "").split(",").filter((t) => /^t-[0-9]+$/.test(t)); }
  pin(trial) {
    const pins = this.pins();
    const next = pins.includes(trial) ? pins.filter((t) => t !== trial) : [...pins, trial].slice(-kCurvesMax);
    this.set({trials: next.join(",")});
  }
}

// A part that shows an error in its own place, and does not read twice at once.
class Part {
  constructor(view) {
    this.view = view;
    this.element = h("div", {});
    this.message = h("div", {});
  }
  get source() { return this.view.source; }
  async refresh() {
    if (this.reading) { this.readAgain = true; return; }
    this.reading = true;
    try {
      await this.read();
      replace(this.message);
    } catch (error) {
      if (error.name !== "AbortError") replace(this.message, notice(error.message));
    }
    this.reading = false;
    if (this.readAgain) { this.readAgain = false; await this.refresh(); }
  }
}

class MatrixPart extends Part {
  constructor(view) {
    super(view);
    this.matrix = new MatrixView({open: (trial) => view.go(`#/trial/${trial}`), pin: (trial) => view.pin(trial)});
    this.fields = h("div", {class: "row fields"});
    this.more = h("p", {class: "hint"});
    replace(this.element, this.fields, this.message, this.matrix.element, this.more);
  }
  destroy() { this.matrix.destroy(); }

  async read() {
    const {view} = this, measured = await view.measured(), colour = measured.includes(view.parameters.color) ? view.parameters.color : "";
    const matrix = await this.source.matrix(view.id, colour);
    if (!this.element.isConnected) return;
    const columns = view.parameters.columns?.split(",") ?? null;
    this.matrix.pinned = new Set(view.pins().map((t) => matrix.find(t)));
    this.matrix.show(matrix, {columns, colour});
    this.drawFields(matrix, measured, colour, columns);
    this.loaded = true;
    this.element.dataset.trials = matrix.size;
  }
  drawFields(matrix, measured, colour, columns) {
    const key = JSON.stringify([measured, colour, columns, matrix.axes.map((a) => a.name), this.view.pins()]);
    const {trials, size} = matrix;
    replace(this.more, size < trials ? `${grouped(size)} of ${grouped(trials)} trials; the others are made as they come near to a slot.` : "",
      this.view.pins().length ? [" ", h("a", {href: this.view.address({tab: "curves"})}, `Curves of ${this.view.pins().length} marked trials`)] : "");
    if (key === this.key) return;
    this.key = key;
    const names = matrix.axes.map((a) => a.name), now = columnAxes(matrix, columns).map((a) => names[a]).join(",");
    const several = names.map((_, i) => names.slice(i).join(",")).slice(1);
    const options = [...new Set([now, ...names, ...several])].filter(Boolean).map((v) => [v, v.replaceAll(",", " × ")]);
    replace(this.fields,
      choice("Colour", colour, [["", "state"], ...measured], (value) => this.view.set({color: value})),
      names.length > 1 && choice("Columns", now, options, (value) => this.view.set({columns: value})));
  }
}

// Trials that share a training have the same points: a curve for each training.
function onePerTraining(pointsByTrial) {
  const curves = new Map();
  for (const [trial, points] of pointsByTrial) {
    if (points.length === 0) continue;
    const key = points.map(({x, y}) => `${x}:${y}`).join(" ");
    if (!curves.has(key)) curves.set(key, {trials: [], points});
    curves.get(key).trials.push(trial);
  }
  return [...curves.values()];
}

class CurvesPart extends Part {
  constructor(view) {
    super(view);
    this.fields = h("div", {class: "row fields"});
    this.box = h("div", {});
    this.note = h("p", {class: "hint"});
    replace(this.element, this.fields, this.message, this.box, this.note);
  }
  destroy() { this.chart?.destroy(); }

  // Marked trials, else those that run, else the first ones.
  async trials() {
    const {view} = this, pins = view.pins();
    if (pins.length) return pins;
    if (!this.source.live) return this.source.curveTrials().slice(0, kCurvesRead);
    const running = [...new Set((view.update?.running ?? []).map((r) => r.trial_id))];
    this.kept = [...new Set([...this.kept ?? [], ...running])].slice(-kCurvesMax);
    if (this.kept.length) return this.kept;
    this.first ??= await this.source.query(`SELECT trial FROM trials WHERE sweep_id = '${view.id}' AND state <> 'PENDING' LIMIT ${kCurvesRead}`);
    return this.first.map((row) => row.trial);
  }

  async read() {
    const {view} = this, trials = await this.trials(), names = await this.source.curveNames(trials);
    const name = names.includes(view.parameters.curve) ? view.parameters.curve : ["train_loss", "loss"].find((n) => names.includes(n)) ?? names[0];
    if (!this.element.isConnected) return;
    if (!name) {
      replace(this.note, trials.length ? "No curve has a point yet." : "Nothing has run yet.");
      return;
    }
    const labels = await this.labels(trials), rows = await this.source.curves(trials, name), logarithmic = view.parameters.log === "1";
    if (!this.element.isConnected) return;
    const by = new Map(trials.map((t) => [t, []]));
    for (const row of rows) if (row.value !== null) by.get(row.trial)?.push({x: row.step, y: row.value});
    if (this.shownName !== name || this.shownLog !== logarithmic) {
      this.chart?.destroy();
      this.chart = new LineChart({label: `${name} over steps`, x: "step", y: name, logY: logarithmic, height: 380});
      replace(this.box, this.chart.element);
      this.shownName = name;
      this.shownLog = logarithmic;
    }
    const key = JSON.stringify([names, name, logarithmic]);
    if (key !== this.key) {
      this.key = key;
      replace(this.fields, choice("Curve", name, names, (value) => view.set({curve: value})),
        choice("Scale", logarithmic ? "1" : "", [["", "linear"], ["1", "logarithmic"]], (value) => view.set({log: value})));
    }
    const curves = onePerTraining(by).slice(0, view.pins().length ? undefined : kCurvesMax);
    this.chart.update(curves.map(({trials: [trial, ...others], points}, i) => ({
      label: `${trial} ${labels.get(trial) ?? ""}${others.length ? `, and ${others.length} more of this training` : ""}`, data: points,
      borderColor: seriesColour(i), backgroundColor: seriesColour(i), borderDash: i >= 8 ? [5, 3] : [], pointRadius: points.length === 1 ? 3 : 0})));
    replace(this.note, view.pins().length ? [`${trials.length} marked trials. `, h("a", {href: view.address({trials: null})}, "Unmark them")]
      : `${curves.length} trainings: ${view.over ?? view.sweep.state !== "ACTIVE" ? "the first ones" : "those that run"}; mark others in the matrix with Space or Shift and a click.`);
  }
  async labels(trials) {
    this.known ??= new Map();
    if (trials.some((t) => !this.known.has(t))) {
      const matrix = await this.source.matrix(this.view.id, ""), axes = matrix.axes.filter((a) => a.labels.length > 1).map((a) => a.name);
      for (const t of trials) {
        const at = matrix.find(t);
        if (at >= 0) this.known.set(t, labelsText(matrix.labelsOf(at), axes));
      }
    }
    return this.known;
  }
}

class TablePart extends Part {
  constructor(view) {
    super(view);
    this.box = h("div", {}, h("p", {class: "quiet"}, "Loading …"));
    replace(this.element, this.message, this.box);
  }
  async read() {
    try {
      replace(this.box, tableElement(await this.source.table(this.view.id)));
    } catch (error) {
      replace(this.box);
      throw error;
    }
  }
}

class FigurePart extends Part {
  constructor(view) {
    super(view);
    this.fields = h("div", {class: "row fields"});
    this.box = h("div", {});
    this.note = h("p", {class: "hint"});
    replace(this.element, this.fields, this.message, this.box, this.note);
  }
  destroy() { this.chart?.destroy(); }

  async read() {
    const {view} = this, measured = await view.measured();
    if (measured.length === 0) { replace(this.note, "No trial has a result yet."); return; }
    const name = view.chosen(measured), matrix = await this.source.matrix(view.id, name);
    if (!this.element.isConnected) return;
    const axes = matrix.axes.filter((a) => a.labels.length > 1).map((a) => a.name);
    if (axes.length === 0) { replace(this.note, "No axis of the sweep has two labels."); return; }
    const x = axes.includes(view.parameters.x) ? view.parameters.x : axes.find((a) => a !== "seed") ?? axes[0];
    const others = axes.filter((a) => a !== x);
    const by = view.parameters.by === "-" ? "" : others.includes(view.parameters.by) ? view.parameters.by : others.find((a) => a !== "seed") ?? "";
    const key = JSON.stringify([measured, name, axes, x, by]);
    if (key !== this.key) {
      this.key = key;
      replace(this.fields, choice("Measurement", name, measured, (v) => view.set({color: v})), choice("Against", x, axes, (v) => view.set({x: v})),
        choice("Lines", by || "-", [["-", "one"], ...others], (v) => view.set({by: v})));
      this.chart?.destroy();
      this.chart = null;
    }
    this.draw(matrix, name, x, by);
  }

  draw(matrix, name, x, by) {
    const axisOf = (axis) => matrix.axes.findIndex((a) => a.name === axis), width = matrix.axes.length, xAt = axisOf(x), byAt = by ? axisOf(by) : -1;
    const groups = new Map();
    for (let i = 0; i < matrix.size; ++i) {
      if (!Number.isFinite(matrix.values[i])) continue;
      const line = byAt < 0 ? 0 : matrix.labels[i * width + byAt], at = matrix.labels[i * width + xAt];
      if (!groups.has(line)) groups.set(line, new Map());
      const points = groups.get(line);
      if (!points.has(at)) points.set(at, []);
      points.get(at).push({training: matrix.trainings[i], value: matrix.values[i]});
    }
    const labels = matrix.axes[xAt].labels, used = labels.map((_, k) => k).filter((k) => [...groups.values()].some((g) => g.has(k)));
    const numeric = used.length > 0 && used.every((k) => labels[k] !== "" && Number.isFinite(Number(labels[k])));
    if (numeric) used.sort((a, b) => Number(labels[a]) - Number(labels[b]));
    const place = (k) => numeric ? Number(labels[k]) : labels[k];
    const lines = [...groups].sort(([a], [b]) => a - b).slice(0, kSeriesMax), datasets = [];
    lines.forEach(([line, points], i) => {
      const at = used.filter((k) => points.has(k)), cells = new Map(at.map((k) => [k, summarise(points.get(k))]));
      const data = (f) => at.map((k) => ({x: place(k), y: f(cells.get(k))}));
      const colour = seriesColour(i);
      datasets.push({label: byAt < 0 ? name : `${by}=${matrix.axes[byAt].labels[line] || "–"}`, data: data((c) => c.mean), borderColor: colour, backgroundColor: colour, pointRadius: 3});
      if (at.some((k) => cells.get(k).n > 1)) {
        const band = {borderColor: "transparent", backgroundColor: `${colour}33`, pointRadius: 0, quiet: true};
        datasets.push({...band, label: "high", data: data((c) => c.mean + c.deviation), fill: "+1"}, {...band, label: "low", data: data((c) => c.mean - c.deviation)});
      }
    });
    if (this.category === numeric || !this.chart) {
      this.chart?.destroy();
      this.category = !numeric;
      this.chart = new LineChart({label: `${name} against ${x}`, x, y: name, height: 380, points: true, category: !numeric});
      replace(this.box, this.chart.element);
    }
    this.chart.update(datasets, numeric ? undefined : used.map((k) => labels[k]));
    replace(this.note, `Mean over trainings, each the mean over its evaluations; the band is one standard deviation over trainings.${groups.size > lines.length ? ` ${groups.size - lines.length} more lines are left out.` : ""}`);
  }
}

class ParallelPart extends Part {
  constructor(view) {
    super(view);
    this.fields = h("div", {class: "row fields"});
    this.lines = new ParallelView();
    replace(this.element, this.fields, this.message, this.lines.element);
  }
  destroy() { this.lines.destroy(); }
  async read() {
    const {view} = this, measured = await view.measured();
    if (measured.length === 0) { replace(this.lines.note, "No trial has a result yet."); return; }
    const name = view.chosen(measured), matrix = await this.source.matrix(view.id, name);
    if (!this.element.isConnected) return;
    replace(this.fields, choice("Measurement", name, measured, (v) => view.set({color: v})));
    this.lines.show(matrix, name);
  }
}

class FailuresPart extends Part {
  constructor(view) {
    super(view);
    this.box = h("div", {}, h("p", {class: "quiet"}, "Loading …"));
    replace(this.element, this.message, this.box);
  }
  async read() {
    const rows = await this.source.failures(this.view.id);
    if (rows.length === 0) { replace(this.box, h("p", {class: "empty"}, "No trial has failed.")); return; }
    replace(this.box, table("Failed trials by reason", [{heading: "reason", class: "reason"}, {heading: "kind"}, {heading: "trials", number: true}, {heading: "for example"}],
      rows.map((row) => [row.message || "no reason is known", row.failure ?? "", grouped(row.trials), h("a", {href: `#/trial/t-${row.first}`}, `t-${row.first}`)])));
  }
}

