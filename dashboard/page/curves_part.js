// Curves of the marked trials, else of those that run.
import {h, replace, choice} from "./dom.js";
import {labelsText} from "./format.js";
import {LineChart} from "./charts.js";
import {Part} from "./part.js";

const kCurvesMax = 12;
const kCurvesRead = 4 * kCurvesMax;  // Trials, some of which share a training.

// Trials that share a training have the same points: a curve for each training.
function onePerTraining(pointsByTrial) {
  const curves = new Map();
  for (const [trial, points] of pointsByTrial) {
    if (points.length === 0) continue;
    const key = points.map(([x, y]) => `${x}:${y}`).join(" ");
    if (!curves.has(key)) curves.set(key, {trials: [], points});
    curves.get(key).trials.push(trial);
  }
  return [...curves.values()];
}

export class CurvesPart extends Part {
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
    for (const row of rows) if (row.value !== null) by.get(row.trial)?.push([row.step, row.value]);
    if (this.shownName !== name || this.shownLog !== logarithmic) {
      this.chart?.destroy();
      this.chart = new LineChart({label: `${name} over steps`, x: "step", logY: logarithmic, height: 400});
      replace(this.box, this.chart.element);
      this.shownName = name;
      this.shownLog = logarithmic;
    }
    this.drawFields([names, name, logarithmic], () => [choice("Curve", name, names, (value) => view.set({curve: value})),
      choice("Scale", logarithmic ? "1" : "", [["", "linear"], ["1", "logarithmic"]], (value) => view.set({log: value}))]);
    const curves = onePerTraining(by).slice(0, view.pins().length ? undefined : kCurvesMax);
    await this.chart.update(curves.map(({trials: [trial, ...others], points}, i) => ({
      name: `${trial} ${labels.get(trial) ?? ""}${others.length ? `, and ${others.length} more of this training` : ""}`, points, dashed: i >= 8})));
    replace(this.note, view.pins().length ? [`${trials.length} marked trials. `, h("a", {href: `#/compare?trials=${trials.join(",")}`}, "Compare them"), " · ", h("a", {href: view.address({trials: null})}, "Unmark them")]
      : `${curves.length} trainings: ${view.over ?? view.sweep.state !== "ACTIVE" ? "the first ones" : "those that run"}; mark others in the matrix with Space or Shift and a click, or in the table of trials.`);
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
