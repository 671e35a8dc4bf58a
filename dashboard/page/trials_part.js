// The trials of a sweep as rows: found by a text or a condition, sorted by a column, marked for curves and comparison.
import {h, replace, button} from "./dom.js";
import {shown, stateWord} from "./format.js";
import {Part} from "./part.js";
import {RowsTable} from "./rows.js";
import {saveCsv} from "./download.js";

const kMeasurementsFirst = 4;  // Shown where none are chosen.
const kUsual = ["perplexity", "accuracy", "loss", "max_inf_norm", "avg_kurtosis"];

export class TrialsPart extends Part {
  constructor(view) {
    super(view);
    this.rows = new RowsTable("Trials", {settings: view.parameters, changed: (settings) => view.remember(settings), attributes: {class: "compact"}});
    this.marked = h("p", {class: "hint", role: "status"});
    replace(this.box, this.marked, this.rows.element);
  }

  async read() {
    const {view} = this, frame = await view.frame(), shownNames = this.chosen(frame);
    const columns = await frame.columns([...frame.axes, ...shownNames]);
    if (!this.element.isConnected) return;
    this.frame = frame;
    this.drawFields([frame.names, shownNames], () => this.picker(frame, shownNames));
    this.pins = new Set(view.pins());
    const cell = (c) => c.kind === "measurement" ? (i) => c.values[i] === null ? null : shown(c.values[i], 5) : (i) => c.values[i] === null ? null : String(c.values[i]);
    this.columns = [
      {heading: "trial", value: (i) => frame.trials[i], cell: (i) => h("a", {href: `#/trial/${frame.trials[i]}`}, frame.trials[i])},
      {heading: "mark", cell: (i) => this.mark(frame.trials[i])},
      {heading: "state", value: (i) => stateWord(frame.states[i]), cell: (i) => h("span", {class: `state ${stateWord(frame.states[i])}`}, stateWord(frame.states[i]))},
      ...columns.map((c) => ({heading: c.name, number: c.numeric, value: (i) => c.values[i], cell: cell(c)}))];
    this.rows.show(this.columns, frame.trials.map((_, i) => i));
    this.drawMarked();
    replace(this.rows.extra, button("Data (CSV)", () => {
      const data = this.columns.filter((c) => c.value);
      saveCsv(`${view.sweep.name}-trials`, data.map((c) => c.heading), this.rows.found().map((i) => data.map((c) => c.value(i))));
    }));
    this.element.dataset.rows = frame.size;
  }
  chosen(frame) {
    const asked = this.view.parameters.show;
    if (asked !== undefined) return asked.split(",").filter((name) => frame.has(name) && !frame.axes.includes(name));
    const usual = kUsual.filter((name) => frame.measured.includes(name));
    return [...usual, ...frame.measured.filter((name) => !usual.includes(name))].slice(0, kMeasurementsFirst);
  }
  picker(frame, chosen) {
    const box = (name) => h("label", {class: "field"}, h("input", {type: "checkbox", checked: chosen.includes(name), onchange: (event) => {
      const next = event.target.checked ? [...chosen, name] : chosen.filter((one) => one !== name);
      this.view.set({show: next.join(",") || "-"});
    }}), name);
    return h("details", {class: "picker", open: this.open, ontoggle: (event) => { this.open = event.target.open; }}, h("summary", {}, `Columns (${chosen.length} of ${frame.parameters.length + frame.measured.length})`),
      frame.parameters.length > 0 && h("fieldset", {}, h("legend", {}, "Parameters"), frame.parameters.map(box)), h("fieldset", {}, h("legend", {}, "Measurements"), frame.measured.map(box)));
  }
  mark(trial) {
    return h("input", {type: "checkbox", checked: this.pins.has(trial), "aria-label": `mark ${trial}`, "data-key": trial, onchange: () => {
      this.view.pin(trial, true);
      this.pins = new Set(this.view.pins());
      if (!this.pins.has(trial)) this.rows.draw();
      this.drawMarked();
    }});
  }
  drawMarked() {
    const pins = [...this.pins];
    replace(this.marked, pins.length === 0 ? "Mark trials to compare them or to see their curves." : [
      `${pins.length} marked: `, h("a", {href: `#/compare?trials=${pins.join(",")}`}, "Compare"), " · ", h("a", {href: this.view.address({tab: "curves"})}, "Curves"), " · ",
      button("Unmark", () => { this.view.remember({trials: null}); this.pins = new Set(); this.rows.draw(); this.drawMarked(); })]);
  }
}
