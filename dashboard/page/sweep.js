// One sweep: its trials as a matrix, rows, curves, table, parallel coordinates, a chart of one's own, failures.
import {h, replace, notice, button, choice, ask} from "./dom.js";
import {counts, sweepWord, sweepClass, axisName, duration, grouped, number, shown, labelsText, stateWord, STATE_ORDER} from "./format.js";
import {progressBar} from "./sweeps.js";
import {MatrixView, columnAxes} from "./matrix.js";
import {tableElement} from "./table.js";
import {Frame} from "./frame.js";
import {Part} from "./part.js";
import {RowsTable} from "./rows.js";
import {TrialsPart} from "./trials_part.js";
import {CurvesPart} from "./curves_part.js";
import {ParallelPart} from "./parallel.js";
import {ChartPart} from "./chart_part.js";

const kTabs = [["matrix", "Matrix"], ["trials", "Trials"], ["curves", "Curves"], ["table", "Table"], ["chart", "Chart"], ["parallel", "Parallel"], ["failures", "Failures"]];
const kPinsMax = 12;
const kRefreshMs = 2500;  // Of what is shown, while the sweep changes; longer where reading takes longer.
const kNoticesShown = 200;
const kRetryMs = 3000;

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
    if (sweep.imported) facts.push(`imported from ${sweep.imported.path}, SHA-256 ${sweep.imported.sha256.slice(0, 12)}…`);
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
    const current = this.tab();
    replace(this.tabs, kTabs.filter(([key]) => this.source.live || key !== "table" || this.source.data.table).map(([key, text]) =>
      h("a", {href: this.address({tab: key === "matrix" ? null : key}), "aria-current": key === current ? "page" : null}, text)));
  }
  tab() {
    const tab = this.parameters.tab === "figure" ? "chart" : this.parameters.tab;  // Its name before.
    return kTabs.some(([key]) => key === tab) ? tab : "matrix";
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
  // Changes the address, and nothing that is shown.
  remember(changes) {
    this.parameters = Object.fromEntries(Object.entries({...this.parameters, ...changes}).filter(([, value]) => value));
    history.replaceState(null, "", this.address({}));
    this.drawTabs();
  }
  // The address has changed, and the sweep has not.
  parametersChanged(parameters) {
    const before = this.tab();
    this.parameters = parameters;
    if (!this.sweep) return;
    this.drawTabs();
    if (before !== this.tab() || !this.part) this.show();
    else this.part.refresh();
  }

  show() {
    this.part?.destroy?.();
    const parts = {matrix: MatrixPart, trials: TrialsPart, curves: CurvesPart, table: TablePart, chart: ChartPart, parallel: ParallelPart, failures: FailuresPart};
    this.part = new parts[this.tab()](this);
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
  // Its trials, and those of the sweeps `more` ("s-2,s-3"), as columns; read again when some have ended.
  frame(more = "") {
    const sweeps = [this.id, ...more.split(",").filter((one) => /^s-[0-9]+$/.test(one) && one !== this.id)], key = `${sweeps} ${counts(this.sweep).ended}`;
    if (key !== this.frameKey) {
      this.frameKey = key;
      this.frames = Frame.read(this.source, sweeps);
      this.frames.catch(() => { this.frameKey = null; });
    }
    return this.frames;
  }
  // The measurement of the address, else the first usual one.
  chosen(measured) {
    if (this.parameters.color && measured.includes(this.parameters.color)) return this.parameters.color;
    return ["perplexity", "accuracy", "loss"].find((name) => measured.includes(name)) ?? measured[0] ?? "";
  }
  pins() { return (this.parameters.trials ?? "").split(",").filter((t) => /^t-[0-9]+$/.test(t)); }
  // Marks a trial, or no longer. `quietly`: nothing is drawn again.
  pin(trial, quietly = false) {
    const pins = this.pins();
    const next = pins.includes(trial) ? pins.filter((t) => t !== trial) : [...pins, trial].slice(-kPinsMax);
    quietly ? this.remember({trials: next.join(",")}) : this.set({trials: next.join(",")});
  }
}

class MatrixPart extends Part {
  constructor(view) {
    super(view);
    this.matrix = new MatrixView({open: (trial) => view.go(`#/trial/${trial}`), pin: (trial) => view.pin(trial)});
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
    this.drawChoices(matrix, measured, colour, columns);
    this.loaded = true;
    this.element.dataset.trials = matrix.size;
  }
  drawChoices(matrix, measured, colour, columns) {
    const {trials, size} = matrix, pins = this.view.pins();
    replace(this.more, size < trials ? `${grouped(size)} of ${grouped(trials)} trials; the others are made as they come near to a slot.` : "",
      pins.length ? [" ", h("a", {href: this.view.address({tab: "curves"})}, `Curves of ${pins.length} marked trials`), " · ", h("a", {href: `#/compare?trials=${pins.join(",")}`}, "Compare them")] : "");
    const names = matrix.axes.map((a) => a.name), now = columnAxes(matrix, columns).map((a) => names[a]).join(",");
    const several = names.map((_, i) => names.slice(i).join(",")).slice(1);
    const options = [...new Set([now, ...names, ...several])].filter(Boolean).map((v) => [v, v.replaceAll(",", " × ")]);
    this.drawFields([measured, colour, now, options], () => [choice("Colour", colour, [["", "state"], ...measured], (value) => this.view.set({color: value})),
      names.length > 1 && choice("Columns", now, options, (value) => this.view.set({columns: value}))]);
  }
}

class TablePart extends Part {
  constructor(view) {
    super(view);
    replace(this.box, h("p", {class: "quiet"}, "Loading …"));
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

class FailuresPart extends Part {
  constructor(view) {
    super(view);
    this.rows = new RowsTable("Failed trials by reason", {settings: view.parameters, changed: (settings) => view.remember(settings)});
    replace(this.box, h("p", {class: "quiet"}, "Loading …"));
  }
  async read() {
    const rows = await this.source.failures(this.view.id);
    if (rows.length === 0) { replace(this.box, h("p", {class: "empty"}, "No trial has failed.")); return; }
    if (!this.rows.element.isConnected) replace(this.box, this.rows.element);
    this.rows.show([{heading: "reason", class: "reason", value: (row) => row.message || "no reason is known"}, {heading: "kind", value: (row) => row.failure ?? ""},
      {heading: "trials", number: true, value: (row) => row.trials, cell: (row) => grouped(row.trials)}, {heading: "for example", cell: (row) => h("a", {href: `#/trial/t-${row.first}`}, `t-${row.first}`)}], rows);
  }
}
