// Any trials side by side: settings with the differences first, final measurements, curves.
import {h, replace, table, notice, button, choice} from "./dom.js";
import {grouped, labelsText, shown, stateWord} from "./format.js";
import {LineChart} from "./charts.js";
import {saveCsv} from "./download.js";
import {flat} from "./source.js";

const kTrialsMax = 12;
const kChartsMax = 8;
const kPeriodMs = 5000;

function heading(one) {
  return [h("a", {href: `#/trial/${one.id}`}, one.id), h("div", {class: "quiet"}, `${one.trial.sweep} · ${labelsText(one.trial.labels)}`)];
}

// "+3.1 %" against the first trial's value.
function against(value, first) {
  if (!Number.isFinite(value) || !Number.isFinite(first) || first === 0 || value === first) return "";
  const percent = 100 * (value - first) / Math.abs(first);
  return ` ${percent > 0 ? "+" : "−"}${Math.abs(percent) >= 100 ? grouped(Math.round(Math.abs(percent))) : Math.abs(percent).toPrecision(2)} %`;
}

export class CompareView {
  title = "Compare";

  constructor(source, parameters, go) {
    Object.assign(this, {source, parameters, go});
    this.field = h("input", {"aria-label": "trial to add", placeholder: "t-12", size: "8", spellcheck: "false"});
    this.message = h("div", {});
    this.trials = h("div", {class: "row"});
    this.settings = h("div", {}); this.measurements = h("div", {}); this.curves = h("div", {class: "charts"}); this.fields = h("div", {class: "row fields"});
    const part = (title, ...body) => h("section", {class: "panel part"}, h("h2", {}, title), body);
    this.element = h("section", {}, h("h1", {tabindex: "-1"}, "Compare trials"),
      h("div", {class: "row"}, this.trials, h("form", {class: "row", onsubmit: (event) => { event.preventDefault(); this.add(this.field.value.trim()); }}, this.field, h("button", {}, "Add"))),
      this.message, part("Settings", this.settings), part("Final measurements", this.measurements), part("Curves", this.fields, this.curves));
    this.charts = new Map();
  }
  ids() { return [...new Set((this.parameters.trials ?? "").split(",").filter((t) => /^t-[0-9]+$/.test(t)))].slice(0, kTrialsMax); }
  address(changes) {
    const parameters = new URLSearchParams();
    for (const [key, value] of Object.entries({...this.parameters, ...changes})) if (value) parameters.set(key, value);
    return `#/compare?${parameters}`;
  }
  add(id) {
    const trial = /^[0-9]+$/.test(id) ? `t-${id}` : id;
    if (!/^t-[0-9]+$/.test(trial)) return replace(this.message, notice(`"${id}" is not a trial; write its id, for example t-12`));
    if (this.ids().length >= kTrialsMax) return replace(this.message, notice(`${kTrialsMax} trials are compared, the most at once; take one out`));
    this.field.value = "";
    this.go(this.address({trials: [...this.ids(), trial].join(",")}));
  }
  start() { this.refresh(); }
  stop() { this.stopped = true; clearTimeout(this.timer); this.destroyCharts(); }
  parametersChanged(parameters) { this.parameters = parameters; this.refresh(); }
  destroyCharts() {
    for (const chart of this.charts.values()) chart.destroy();
    this.charts.clear();
  }

  async refresh() {
    clearTimeout(this.timer);
    const reading = this.reading = {}, ids = this.ids(), problems = [];
    const found = (await Promise.all(ids.map(async (id) => {
      try {
        const [trial, results] = await Promise.all([this.source.trial(id), this.source.results(id)]);
        return {id, trial, results: new Map(results), fields: flat(trial.spec)};
      } catch (error) {
        problems.push(error.message);
        return null;
      }
    }))).filter(Boolean);
    if (this.stopped || this.reading !== reading) return;
    replace(this.message, problems.length > 0 && notice(problems.join("; ")));
    replace(this.trials, ids.map((id) => h("span", {class: "tag"}, id, " ", button("×", () => this.go(this.address({trials: ids.filter((one) => one !== id).join(",")})), {"aria-label": `take out ${id}`}))));
    this.drawSettings(found);
    this.drawMeasurements(found);
    try {
      await this.drawCurves(found);
    } catch (error) {
      if (!this.stopped) replace(this.message, notice(error.message));
    }
    const active = found.some(({trial}) => trial.state === "PENDING" || trial.state === "RUNNING");
    if (active && this.source.live && !this.stopped && this.reading === reading) this.timer = setTimeout(() => this.refresh(), kPeriodMs);
  }

  drawSettings(found) {
    if (found.length === 0) return replace(this.settings, h("p", {class: "empty"}, "No trials. Add some, or mark them in the table of a sweep."));
    const names = [...new Set(found.flatMap(({fields}) => Object.keys(fields)))].sort();
    const differ = names.filter((name) => new Set(found.map(({fields}) => fields[name])).size > 1), equal = names.filter((name) => !differ.includes(name));
    const columns = () => [{heading: "field"}, ...found.map((one) => ({heading: heading(one)}))];
    const row = (name) => [h("code", {}, name), ...found.map(({fields}) => fields[name] ?? "–")];
    const state = ["state", ...found.map(({trial}) => h("span", {class: `state ${stateWord(trial.state)}`}, stateWord(trial.state)))];
    const open = this.settings.querySelector("details")?.open;
    replace(this.settings, table(`${differ.length} fields that differ`, columns(), [state, ...differ.map(row)], {class: "compact sides"}),
      found.length > 1 && differ.length === 0 && h("p", {class: "empty"}, "All fields are equal."),
      h("details", {open}, h("summary", {}, `${equal.length} equal fields`), table("Equal fields", columns(), equal.map(row), {class: "compact sides"})));
  }

  drawMeasurements(found) {
    const names = [...new Set(found.flatMap(({results}) => [...results.keys()]))];
    if (names.length === 0) return replace(this.measurements, h("p", {class: "empty"}, "No trial has a result yet."));
    const [first] = found;
    replace(this.measurements, button("Data (CSV)", () => saveCsv("compared", ["measurement", ...found.map(({id}) => id)], names.map((name) => [name, ...found.map(({results}) => results.get(name) ?? null)]))),
      table("Final measurements", [{heading: "measurement"}, ...found.map((one) => ({heading: heading(one), number: true}))],
        names.map((name) => [name, ...found.map((one) => {
          const value = one.results.get(name);
          return value === undefined ? "–" : [shown(value, 6), one !== first && h("span", {class: "quiet"}, against(value, first.results.get(name)))];
        })]), {class: "compact sides"}));
  }

  async drawCurves(found) {
    const ids = found.map(({id}) => id), names = (await this.source.curveNames(ids)).sort();
    if (this.stopped) return;
    if (names.length === 0) { this.destroyCharts(); replace(this.fields); return replace(this.curves, h("p", {class: "empty"}, "No points.")); }
    const usual = ["train_loss", "loss", "max_inf_norm", "avg_kurtosis"], log = this.parameters.log === "1";
    const order = [...usual.filter((n) => names.includes(n)), ...names.filter((n) => !usual.includes(n))].slice(0, kChartsMax), key = JSON.stringify([order, log]);
    if (key !== this.key) {
      this.key = key;
      this.destroyCharts();
      for (const name of order) this.charts.set(name, new LineChart({label: `${name} over steps`, x: "step", logY: log, height: 260}));
      replace(this.fields, choice("Scale", log ? "1" : "", [["", "linear"], ["1", "logarithmic"]], (value) => this.go(this.address({log: value}))));
      replace(this.curves, order.map((name) => h("figure", {}, h("figcaption", {}, name), this.charts.get(name).element)));
    }
    await Promise.all(order.map(async (name) => {
      const rows = await this.source.curves(ids, name);
      if (this.stopped) return;
      await this.charts.get(name)?.update(found.map(({id}) => ({name: id, points: rows.filter((r) => r.trial === id && r.value !== null).map((r) => [r.step, r.value])})));
    }));
  }
}
