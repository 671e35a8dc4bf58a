// A chart of one's own over the trials: x, y, colour and facet from axes, parameters and measurements; means or points. Its settings are in the address.
import {h, replace, choice, button} from "./dom.js";
import {Chart, axis, cssColour, legend, numberAxis, scaleOf, seenBar, seenColour, seriesColour, tooltip} from "./charts.js";
import {shown, stateWord} from "./format.js";
import {isNumber} from "./frame.js";
import {Part} from "./part.js";
import {summarise} from "./statistics.js";
import {saveCsv} from "./download.js";

const kSeriesMax = 8;
const kFacetsMax = 12;
const kPointsMax = 20000;
const kFacetWidth = 300;
const kFacetHeight = 260;

// The values of a column in their order; of more than `most` the others are left out.
function valuesOf(column, rows, most) {
  const seen = [...new Set(rows.map((i) => column.values[i]))];
  seen.sort((a, b) => isNumber(a) && isNumber(b) ? a - b : String(a ?? "").localeCompare(String(b ?? ""), "en", {numeric: true}));
  return {shown: seen.slice(0, most), left: Math.max(0, seen.length - most)};
}
function group(rows, key) {
  const groups = new Map();
  for (const row of rows) groups.has(key(row)) ? groups.get(key(row)).push(row) : groups.set(key(row), [row]);
  return groups;
}
function named(column, value) { return column ? `${column.name}=${value === null || value === "" ? "–" : isNumber(value) ? shown(value, 5) : value}` : ""; }

export class ChartPart extends Part {
  constructor(view) {
    super(view);
    this.chart = new Chart({height: 400});
    this.scale = h("p", {class: "legend"});
    replace(this.box, this.scale, this.chart.element);
  }
  destroy() { this.chart.destroy(); }

  async read() {
    const {view} = this, frame = await view.frame(view.parameters.with), measured = await view.measured();
    this.box.hidden = measured.length === 0;
    if (measured.length === 0) { replace(this.note, "No trial has a result yet."); return; }
    const settings = await this.chosen(frame, measured), {x, y, by, facet} = settings;
    const [xs, ys, colours, facets] = await Promise.all([x, y, by, facet].map((name) => name ? frame.column(name) : null));
    if (!this.element.isConnected) return;
    Object.assign(this, {frame, settings, columns: {x: xs, y: ys, by: colours, facet: facets}});
    this.drawFields([frame.names, settings, this.view.parameters.with], () => this.controls(frame, settings));
    await this.draw();
  }
  // What the address asks for, where the sweep has it; else a measurement against the first axis of several labels.
  async chosen(frame, measured) {
    const {parameters} = this.view, pick = (name, otherwise) => name === "-" ? "" : frame.has(name) ? name : otherwise;
    const axes = (await frame.columns(frame.axes)).filter((c) => new Set(c.values).size > 1).map((c) => c.name), notSeed = axes.filter((a) => a !== "seed");
    const x = pick(parameters.x, notSeed[0] ?? axes[0] ?? frame.names[0]), y = pick(parameters.y ?? parameters.color, this.view.chosen(measured));
    return {x, y, by: pick(parameters.by, frame.parts.length > 1 ? "sweep" : notSeed.find((a) => a !== x) ?? ""), facet: pick(parameters.facet, ""), draw: parameters.draw === "points" ? "points" : "means",
      logx: parameters.logx === "1", logy: parameters.logy === "1"};
  }
  controls(frame, {x, y, by, facet, draw, logx, logy}) {
    const {view} = this, change = (key) => (value) => view.set({[key]: value || null}), optional = [["-", "none"], ...frame.names];
    const others = h("input", {name: "with", size: "10", placeholder: "s-2, s-3", value: view.parameters.with ?? "", "aria-label": "With the sweeps", spellcheck: "false", onchange: (event) => {
      view.set({with: event.target.value.split(/[\s,]+/).filter((one) => /^s-[0-9]+$/.test(one)).join(",")});
    }});
    return [choice("x", x, frame.names, change("x")), choice("y", y, frame.names, change("y")), choice("Colour", by || "-", optional, change("by")), choice("Facets", facet || "-", optional, change("facet")),
      choice("Draw", draw, [["means", "means"], ["points", "points"]], change("draw")), choice("x scale", logx ? "1" : "", [["", "linear"], ["1", "logarithmic"]], change("logx")),
      choice("y scale", logy ? "1" : "", [["", "linear"], ["1", "logarithmic"]], change("logy")), this.source.live && h("label", {class: "field"}, h("span", {}, "With"), others),
      button("Data (CSV)", () => saveCsv(this.fileName(), this.table.columns, this.table.rows)), button("Picture (SVG)", () => this.chart.saveSvg(this.fileName())),
      button("Picture (PNG)", () => this.chart.savePng(this.fileName()))];
  }
  fileName() { return [this.view.sweep.name, this.settings.y, "by", this.settings.x].join("-").replace(/[^A-Za-z0-9_.-]+/g, "_"); }

  // -- what is drawn --

  // The rows with numbers that the scales can show.
  rowsDrawn() {
    const {x, y} = this.columns, {logx, logy} = this.settings;
    return this.frame.trials.map((_, i) => i).filter((i) => isNumber(y.values[i]) && x.values[i] !== null && (!logy || y.values[i] > 0) && (!logx || !x.numeric || x.values[i] > 0));
  }
  async draw() {
    const {columns: {x, y, by, facet}, settings} = this;
    replace(this.scale);
    if (!y.numeric) { replace(this.note, `${y.name} is not a number: choose another y.`); return; }
    const rows = this.rowsDrawn(), colours = by ? valuesOf(by, rows, kSeriesMax) : {shown: [null], left: 0}, facets = facet ? valuesOf(facet, rows, kFacetsMax) : {shown: [null], left: 0};
    const graded = Boolean(settings.draw === "points" && by?.numeric && colours.left > 0);
    if (graded) { this.shades = scaleOf(by.values); replace(this.scale, `${by.name}: `, seenBar(this.shades)); }
    const categories = x.numeric ? null : valuesOf(x, rows, Infinity).shown, layout = this.layout(facets.shown.length);
    this.table = settings.draw === "points" ? {columns: ["trial", x.name, y.name, ...by ? [by.name] : [], ...facet ? [facet.name] : []], rows: []}
      : {columns: [...facet ? [facet.name] : [], ...by ? [by.name] : [], x.name, `mean ${y.name}`, "deviation", "n"], rows: []};
    const series = facets.shown.flatMap((value, k) => {
      const mine = facet ? rows.filter((i) => facet.values[i] === value) : rows;
      return graded ? this.points(mine, k, null, value) : colours.shown.flatMap((colour, c) => this.series(by ? mine.filter((i) => by.values[i] === colour) : mine, k, {colour, c, facet: value}));
    });
    const names = by && !graded ? colours.shown.map((value) => named(by, value)) : [];
    const share = this.extents(rows);
    this.chart.box.style.height = `${layout.height}px`;
    await this.chart.show({
      grid: layout.grids, title: facet ? layout.titles(facets.shown.map((value) => named(facet, value))) : undefined, legend: names.length > 1 ? legend(names) : undefined,
      xAxis: layout.grids.map((_, k) => categories ? axis({type: "category", data: categories.map((v) => v || "–"), gridIndex: k, name: x.name}) : numberAxis(x.name, settings.logx, {gridIndex: k, splitLine: {show: false}, ...share.x})),
      yAxis: layout.grids.map((_, k) => numberAxis(k % layout.across === 0 ? y.name : "", settings.logy, {gridIndex: k, nameLocation: "end", nameGap: 8, nameTextStyle: {color: cssColour("--text-quiet"), align: "left"}, ...share.y})),
      tooltip: tooltip((params) => this.tip(params), {trigger: "item"}), series,
    }, `${y.name} against ${x.name}: ${rows.length} trials${by ? `, colour ${by.name}` : ""}${facet ? `, ${facets.shown.length} facets of ${facet.name}` : ""}`);
    this.listen();
    this.tell(rows, graded ? 0 : colours.left, facets.left);
  }
  // Facets share their scales.
  extents(rows) {
    const of = (column, log) => {
      if (!this.settings.facet || !column.numeric) return {};
      let low = Infinity, high = -Infinity;
      for (const i of rows) { low = Math.min(low, column.values[i]); high = Math.max(high, column.values[i]); }
      if (!(low < high)) return {};
      const room = log ? (high / low) ** 0.05 : (high - low) * 0.05;
      return {min: log ? low / room : low - room, max: log ? high * room : high + room, labels: {showMinLabel: log, showMaxLabel: log}};
    };
    return {x: of(this.columns.x, this.settings.logx), y: of(this.columns.y, this.settings.logy)};
  }
  layout(count) {
    const width = this.box.clientWidth || 800, across = Math.max(1, Math.min(count, Math.floor(width / kFacetWidth))), down = Math.ceil(count / across);
    const each = width / across, height = count === 1 ? 400 : kFacetHeight * down + 30;
    const grids = Array.from({length: count}, (_, k) => count === 1 ? {left: 10, right: 20, top: 34, bottom: 58, containLabel: true}
      : {left: (k % across) * each + 8, width: each - 28, top: Math.floor(k / across) * kFacetHeight + 40, height: kFacetHeight - 80, containLabel: true});
    const titles = (texts) => texts.map((text, k) => ({text, left: (k % across) * each + 8, top: Math.floor(k / across) * kFacetHeight + 2, textStyle: {fontSize: 12, fontWeight: 600, color: cssColour("--text"), width: each - 20, overflow: "truncate"}}));
    return {across, height, grids, titles};
  }
  series(rows, k, {colour, c, facet}) {
    return this.settings.draw === "points" ? this.points(rows, k, {colour, c}, facet) : this.means(rows, k, {colour, c, facet});
  }
  place(value) { return this.columns.x.numeric ? value : value || "–"; }

  points(rows, k, series) {
    const {x, y, by, facet} = this.columns, every = Math.ceil(rows.length / kPointsMax) || 1, some = rows.filter((_, n) => n % every === 0);
    for (const i of rows) this.table.rows.push([this.frame.trials[i], x.values[i], y.values[i], ...by ? [by.values[i]] : [], ...facet ? [facet.values[i]] : []]);
    return [{type: "scatter", xAxisIndex: k, yAxisIndex: k, name: series ? named(by, series.colour) || y.name : y.name, symbolSize: some.length > 2000 ? 4 : 7, color: series ? seriesColour(series.c) : undefined,
      itemStyle: {opacity: some.length > 500 ? 0.6 : 0.85}, data: some.map((i) => ({value: [this.place(x.values[i]), y.values[i]], trial: i, ...series ? {} : {itemStyle: {color: by.values[i] === null ? cssColour("--none") : seenColour(this.shades.share(by.values[i]))}}}))}];
  }
  // A line of means over trainings, and a band of one standard deviation where there are several.
  means(rows, k, {colour, c, facet}) {
    const {x, y, by, facet: facets} = this.columns, order = (a, b) => isNumber(a) ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
    const cells = [...group(rows, (i) => x.values[i])].sort(([a], [b]) => order(a, b))
      .map(([at, trials]) => ({at, trials, ...summarise(trials.map((i) => ({training: this.frame.trainings[i], value: y.values[i]})))}));
    for (const cell of cells) this.table.rows.push([...facets ? [facet] : [], ...by ? [colour] : [], cell.at, cell.mean, cell.deviation, cell.n]);
    const name = named(by, colour) || y.name, paint = seriesColour(c), line = {type: "line", xAxisIndex: k, yAxisIndex: k, name, color: paint, symbolSize: 6, lineStyle: {width: 1.8}, emphasis: {disabled: true},
      data: cells.map((cell) => ({value: [this.place(cell.at), cell.mean], cell}))};
    if (!cells.some((cell) => cell.n > 1)) return [line];
    const low = (cell) => this.settings.logy ? Math.max(cell.mean - cell.deviation, cell.mean / 1000) : cell.mean - cell.deviation;
    const band = {type: "custom", xAxisIndex: k, yAxisIndex: k, name, silent: true, tooltip: {show: false}, z: 1, color: paint, encode: {x: 0, y: [1, 2]}, clip: true,
      data: cells.map((cell) => [this.place(cell.at), low(cell), cell.mean + cell.deviation]),
      renderItem: (params, api) => params.dataIndex > 0 ? null : {type: "polygon", style: {fill: paint, opacity: 0.18},
        shape: {points: [...cells.map((cell) => api.coord([this.place(cell.at), low(cell)])), ...[...cells].reverse().map((cell) => api.coord([this.place(cell.at), cell.mean + cell.deviation]))]}}};
    return [band, line];
  }
  tip({data, seriesName}) {
    const {x, y} = this.columns, at = (value) => isNumber(value) ? shown(value, 5) : value;
    if (data.cell) {
      const {cell} = data;
      return [h("strong", {}, seriesName), h("div", {}, `${x.name}: ${at(cell.at)}`), h("div", {}, `${y.name}: ${shown(cell.mean, 6)}${cell.n > 1 ? ` ± ${shown(cell.deviation, 3)}` : ""}, n=${cell.n}`),
        h("div", {class: "quiet"}, cell.trials.slice(0, 6).map((i) => this.frame.trials[i]).join(", "), cell.trials.length > 6 && ` and ${cell.trials.length - 6} more`)];
    }
    return [h("strong", {}, this.frame.trials[data.trial]), ` ${stateWord(this.frame.states[data.trial])}`, h("div", {}, this.frame.labelsText(data.trial)),
      h("div", {}, `${x.name}: ${at(x.values[data.trial])}`), h("div", {}, `${y.name}: ${shown(y.values[data.trial], 6)}`)];
  }
  listen() {
    if (this.listening || !this.chart.instance) return;
    this.listening = true;
    this.chart.instance.on("click", ({data}) => {
      const trials = data?.cell ? data.cell.trials : data?.trial === undefined ? [] : [data.trial], ids = trials.slice(0, 12).map((i) => this.frame.trials[i]);
      if (ids.length > 0) this.view.go(ids.length === 1 ? `#/trial/${ids[0]}` : `#/compare?trials=${ids.join(",")}`);
    });
  }
  tell(rows, colours, facets) {
    const left = this.frame.trials.filter((_, i) => this.columns.y.values[i] !== null).length - rows.length;
    replace(this.note, this.settings.draw === "means" ? "Mean over trainings, each the mean over its evaluations; the band is one standard deviation over trainings. A click on a point opens its trials."
      : "Each point is a trial; a click opens it.", left > 0 && ` ${left} trials have no place on these scales.`, colours > 0 && ` ${colours} more colours are left out.`, facets > 0 && ` ${facets} more facets are left out.`);
  }
}
