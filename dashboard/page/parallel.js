// Parallel coordinates: each trial a line over chosen columns, coloured by one of them. Ranges of axes choose lines; those are listed.
import {h, replace, choice, button} from "./dom.js";
import {Chart, cssColour, scaleOf, seenColour, seenBar, tooltip} from "./charts.js";
import {shown, grouped, stateWord} from "./format.js";
import {isNumber} from "./frame.js";
import {Part} from "./part.js";
import {RowsTable} from "./rows.js";
import {saveCsv} from "./download.js";
import {rankCorrelation} from "./statistics.js";

const kLinesMax = 3000;
const kAxesFirst = 10;
const kAxisWidth = 110;  // Below that the chart scrolls sideways in its box.

// "learning_rate:0.001..0.01;bits:0..1" and back. Of an axis with labels the numbers are places of labels.
function readRanges(text) {
  const ranges = new Map();
  for (const part of (text ?? "").split(";")) {
    const [, name, low, high] = part.match(/^(.+):(-?[0-9.e+-]+)\.\.(-?[0-9.e+-]+)$/i) ?? [];
    if (name && isNumber(Number(low)) && isNumber(Number(high))) ranges.set(name, [Number(low), Number(high)]);
  }
  return ranges;
}
function writeRanges(ranges) {
  return [...ranges].map(([name, [low, high]]) => `${name}:${Number(low.toPrecision(6))}..${Number(high.toPrecision(6))}`).join(";") || null;
}
const list = (text) => (text ?? "").split(",").filter(Boolean);

// A column as an axis: numbers, or places of labels.
class ParallelAxis {
  constructor(column, {log, flipped}) {
    Object.assign(this, {name: column.name, flipped});
    const known = column.values.filter((v) => v !== null);
    this.labels = column.numeric ? null : [...new Set(known)].sort((a, b) => String(a).localeCompare(String(b), "en", {numeric: true}));
    const places = this.labels && new Map(this.labels.map((label, i) => [label, i]));
    this.places = column.values.map((v) => v === null ? null : places ? places.get(v) : v);
    this.canLog = Boolean(column.numeric && known.every((v) => v > 0));
    this.log = log && this.canLog;
    const numbers = this.places.filter((v) => v !== null);
    this.whole = numbers.every(Number.isInteger);
    this.low = numbers.reduce((a, b) => Math.min(a, b), Infinity);
    this.high = numbers.reduce((a, b) => Math.max(a, b), -Infinity);
  }
  option(dim) {
    const text = cssColour("--text"), quiet = cssColour("--text-quiet");
    const cut = (value) => value.length > 16 ? `${value.slice(0, 15)}…` : value;
    return {
      dim, id: `axis ${dim}`, name: cut(this.name), nameLocation: this.flipped ? "start" : "end", inverse: this.flipped, type: this.labels ? "category" : this.log ? "log" : "value", data: this.labels ?? undefined,
      ...this.labels ? {} : this.low === this.high ? {} : {min: this.low, max: this.high, minInterval: this.whole && !this.log ? 1 : undefined}, nameTextStyle: {color: text, fontSize: 12}, nameGap: 14,
      axisLine: {lineStyle: {color: quiet}}, axisTick: {lineStyle: {color: quiet}},
      axisLabel: {color: text, textBorderColor: cssColour("--panel"), textBorderWidth: 3, formatter: (value) => cut(typeof value === "number" ? shown(value, 4) : String(value) || "–"), hideOverlap: true},
      areaSelectStyle: {width: 18, borderWidth: 1, borderColor: cssColour("--focus"), color: cssColour("--focus"), opacity: 0.25},
    };
  }
  // What the user reads of a place.
  text(place) { return place === null ? "–" : this.labels ? this.labels[place] : shown(place, 5); }
}

export class ParallelPart extends Part {
  constructor(view) {
    super(view);
    this.chart = new Chart({height: 380});
    this.scroll = h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Parallel coordinates"}, this.chart.element);
    this.scale = h("p", {class: "legend"});
    this.axesBox = h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Axes"});
    this.axesDetails = h("details", {class: "picker"}, h("summary", {}, "Axes: choice, order, ranges"), this.axesBox);
    this.rows = new RowsTable("Chosen trials", {attributes: {class: "compact"}});
    this.listed = h("details", {class: "picker", open: true}, h("summary", {}, "Trials of the lines"), this.rows.element);
    replace(this.box, this.scale, this.scroll, this.axesDetails, this.listed);
    this.ranges = readRanges(view.parameters.ranges);
  }
  destroy() { this.chart.destroy(); }

  async read() {
    const {view} = this, {parameters} = view, frame = await view.frame(), measured = await view.measured();
    this.box.hidden = measured.length === 0;
    if (measured.length === 0) { replace(this.note, "No trial has a result yet."); return; }
    const colour = view.chosen(measured), names = await this.axisNames(frame, colour), logs = list(parameters.logs), flips = list(parameters.flips);
    const [columns, value] = await Promise.all([frame.columns(names), frame.column(colour)]);
    if (!this.element.isConnected) return;
    this.ranges = readRanges(parameters.ranges);
    Object.assign(this, {frame, colour, values: value.values, axes: columns.map((c) => new ParallelAxis(c, {log: logs.includes(c.name), flipped: flips.includes(c.name)}))});
    this.drawFields([measured, colour], () => [choice("Measurement", colour, measured, (v) => view.set({color: v})), button("Forget ranges", () => this.setRanges(new Map())),
      button("Data (CSV)", () => this.saveData()), button("Picture (SVG)", () => this.chart.saveSvg(this.fileName())), button("Picture (PNG)", () => this.chart.savePng(this.fileName()))]);
    const drawn = frame.trials.map((_, i) => i).filter((i) => isNumber(this.values[i])), every = Math.ceil(drawn.length / kLinesMax) || 1;
    this.lines = drawn.filter((_, k) => k % every === 0).sort((a, b) => this.values[b] - this.values[a]);
    this.every = every;
    this.drawn = drawn.length;
    await this.drawChart();
    this.drawAxes();
    this.drawList();
  }
  fileName() { return `${this.view.sweep.name}-parallel`; }
  async axisNames(frame, colour) {
    const asked = list(this.view.parameters.axes).filter((name) => frame.has(name));
    if (asked.length > 0) return asked;
    const axes = await frame.columns(frame.axes);
    return [...axes.filter((c) => new Set(c.values).size > 1).map((c) => c.name).slice(0, kAxesFirst), colour];
  }

  async drawChart() {
    const {lines, axes} = this, scale = this.colourScale = scaleOf(this.values), opacity = lines.length > 500 ? 0.35 : lines.length > 50 ? 0.6 : 1;
    this.chart.box.style.minWidth = `${axes.length * kAxisWidth}px`;
    replace(this.scale, `${this.colour}: `, seenBar(scale));
    const option = {
      parallel: {left: 60, right: 80, top: 34, bottom: 16, parallelAxisDefault: {realtime: false}},
      parallelAxis: axes.map((axis, dim) => axis.option(dim)),
      tooltip: tooltip((params) => this.tip(lines[params.dataIndex]), {trigger: "item"}),
      series: [{type: "parallel", smooth: false, inactiveOpacity: 0.04, activeOpacity: opacity, emphasis: {lineStyle: {width: 3, opacity: 1}},
        data: lines.map((i) => ({value: axes.map((axis) => axis.places[i] ?? "-"), lineStyle: {color: seenColour(scale.share(this.values[i])), width: 1.3, opacity}}))}],
    };
    await this.chart.show(option, `Parallel coordinates of ${lines.length} trials over ${axes.map((a) => a.name).join(", ")}; colour: ${this.colour}`);
    const {instance} = this.chart;
    if (!instance) return;
    if (!this.listening) {
      this.listening = true;
      instance.on("click", (params) => { if (params.seriesType === "parallel") this.view.go(`#/trial/${this.frame.trials[this.lines[params.dataIndex]]}`); });
      instance.on("axisareaselected", (event) => { if (!this.setting) this.brushed(Number(String(event.parallelAxisId).slice(5)), event.intervals); });
    }
    this.drawnRanges = new Map();
    this.showRanges();
    replace(this.note, lines.length === 0 ? `No trial has ${this.colour} yet.` : this.every > 1 ? `Every ${this.every}. of ${grouped(this.drawn)} trials is drawn.`
      : "Each line is a trial: a click opens it. Drag along an axis to choose a range, or set it under Axes.");
  }
  tip(i) {
    const {frame} = this;
    return [h("strong", {}, frame.trials[i]), ` ${stateWord(frame.states[i])}`, this.axes.map((axis) => h("div", {}, `${axis.name}: ${axis.text(axis.places[i])}`)),
      this.axes.some((axis) => axis.name === this.colour) ? null : h("div", {}, `${this.colour}: ${shown(this.values[i], 5)}`)];
  }

  // -- ranges --

  brushed(dim, intervals) {
    const axis = this.axes[dim];
    if (!axis) return;
    const ranges = new Map(this.ranges), ends = intervals.flat();
    if (ends.length === 0) ranges.delete(axis.name);
    else ranges.set(axis.name, [Math.min(...ends), Math.max(...ends)]);
    this.drawnRanges.set(axis.name, intervals.length > 1 ? null : ranges.get(axis.name));  // The mouse may draw several; they become one.
    this.setRanges(ranges);
  }
  setRanges(ranges) {
    this.ranges = ranges;
    this.view.remember({ranges: writeRanges(ranges)});
    this.showRanges();
    this.drawAxes();
    this.drawList();
  }
  showRanges() {
    this.setting = true;  // What the chart then says comes from here.
    this.axes.forEach((axis, dim) => {
      const range = this.ranges.get(axis.name);
      if (String(range) === String(this.drawnRanges.get(axis.name))) return;
      this.drawnRanges.set(axis.name, range);
      this.chart.instance?.dispatchAction({type: "axisAreaSelect", parallelAxisId: `axis ${dim}`, intervals: range ? [range.map((end) => Math.max(axis.low, Math.min(axis.high, end)))] : []});
    });
    this.setting = false;
  }
  isChosen(i) {
    return this.axes.every((axis) => {
      const range = this.ranges.get(axis.name), place = axis.places[i];
      return !range || (place !== null && place >= range[0] && place <= range[1]);
    });
  }

  // -- axes --

  drawAxes() {
    const {view, axes} = this, names = axes.map((a) => a.name), others = this.frame.names.filter((name) => !names.includes(name));
    const set = (next, more = {}) => view.set({axes: next.join(","), ...more});
    const toggled = (key, name) => { const now = list(view.parameters[key]); return now.includes(name) ? now.filter((n) => n !== name) : [...now, name]; };
    const move = (k, by) => { const next = [...names]; [next[k], next[k + by]] = [next[k + by], next[k]]; set(next); };
    const box = (axis, key, text, checked, disabled) => h("input", {type: "checkbox", checked, disabled, "aria-label": `${text} ${axis.name}`, "data-key": `${key} ${axis.name}`, onchange: () => view.set({[key]: toggled(key, axis.name).join(",")})});
    const focused = this.axesBox.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    replace(this.axesBox, h("table", {class: "compact"}, h("caption", {class: "quiet-caption"}, "Axes"),
      h("thead", {}, h("tr", {}, ["axis", "from", "to", "rank correlation", "log", "flip", "order", ""].map((text) => h("th", {scope: "col"}, text)))),
      h("tbody", {}, axes.map((axis, k) => h("tr", {}, h("th", {scope: "row"}, axis.name), this.limits(axis).map((field) => h("td", {}, field)),
        h("td", {class: "number"}, axis.labels || axis.name === this.colour ? "–" : shown(rankCorrelation(axis.places, this.values) ?? NaN, 2)),
        h("td", {}, box(axis, "logs", "logarithm of", axis.log, !axis.canLog)), h("td", {}, box(axis, "flips", "flip", axis.flipped, false)),
        h("td", {}, button("←", () => move(k, -1), {disabled: k === 0, "aria-label": `${axis.name} to the left`, "data-key": `left ${axis.name}`}), button("→", () => move(k, 1), {disabled: k === axes.length - 1, "aria-label": `${axis.name} to the right`, "data-key": `right ${axis.name}`})),
        h("td", {}, button("×", () => set(names.filter((n) => n !== axis.name)), {disabled: axes.length < 3, "aria-label": `leave out ${axis.name}`, "data-key": `out ${axis.name}`})))))),
      h("p", {class: "legend"}, `The rank correlation (Spearman) is that with ${this.colour}, over all trials. How much each parameter matters, by fANOVA: `, h("code", {}, `inlier table ${this.view.id} --importance --by ${this.colour}`)),
      others.length > 0 && choice("Add axis", "", [["", "…"], ...others], (name) => name && set([...names, name])));
    if (focused) this.axesBox.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({preventScroll: true});
  }
  // The fields of an axis' range.
  limits(axis) {
    const range = this.ranges.get(axis.name);
    return [0, 1].map((end) => {
      const text = `${axis.name} ${end ? "to" : "from"}`;
      const change = (value) => {
        const ranges = new Map(this.ranges), next = range ? [...range] : [axis.low, axis.high];
        next[end] = value ?? (end ? axis.high : axis.low);
        if (next[0] <= axis.low && next[1] >= axis.high) ranges.delete(axis.name);
        else ranges.set(axis.name, [Math.min(...next), Math.max(...next)]);
        this.setRanges(ranges);
      };
      if (axis.labels) {
        const now = range ? Math.max(0, Math.min(axis.labels.length - 1, end ? Math.floor(range[1]) : Math.ceil(range[0]))) : end ? axis.labels.length - 1 : 0;
        return h("select", {"aria-label": text, "data-key": text, onchange: (event) => change(Number(event.target.value))},
          axis.labels.map((label, i) => h("option", {value: i, selected: i === now}, label || "–")));
      }
      return h("input", {type: "number", step: "any", size: "8", "aria-label": text, "data-key": text, placeholder: shown(end ? axis.high : axis.low, 5), value: range ? Number(range[end].toPrecision(6)) : null,
        onchange: (event) => change(event.target.value === "" ? null : Number(event.target.value))});
    });
  }

  // -- list --

  columns() {
    const {frame} = this, more = this.axes.some((axis) => axis.name === this.colour) ? [] : [{heading: this.colour, number: true, value: (i) => this.values[i], cell: (i) => shown(this.values[i], 5)}];
    return [{heading: "trial", value: (i) => frame.trials[i], cell: (i) => h("a", {href: `#/trial/${frame.trials[i]}`}, frame.trials[i])},
      ...this.axes.map((axis) => ({heading: axis.name, number: !axis.labels, value: (i) => axis.labels ? axis.labels[axis.places[i]] ?? null : axis.places[i], cell: (i) => axis.text(axis.places[i])})), ...more];
  }
  drawList() {
    const chosen = this.lines.filter((i) => this.isChosen(i)), some = chosen.slice(0, 12).map((i) => this.frame.trials[i]);
    this.rows.show(this.columns(), chosen);
    replace(this.rows.extra, this.ranges.size > 0 && some.length > 1 && h("a", {href: `#/compare?trials=${some.join(",")}`}, `Compare ${some.length === chosen.length ? "them" : `the first ${some.length}`}`));
    this.element.dataset.chosen = chosen.length;
  }
  saveData() {
    const columns = this.columns();
    saveCsv(this.fileName(), columns.map((c) => c.heading), this.rows.found().map((i) => columns.map((c) => c.value(i))));
  }
}
