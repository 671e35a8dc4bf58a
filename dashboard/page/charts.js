// Charts by Apache ECharts (vendor/README.md), which is loaded with the first of them, in the page's colours; the colour scale of values.
import {h, replace} from "./dom.js";
import {shown} from "./format.js";
import {save} from "./download.js";

// Okabe and Ito: distinct for all kinds of colour vision.
const kSeries = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8c6bb1", "#7f7f7f"];

export function seriesColour(i) { return kSeries[i % kSeries.length]; }
export function cssColour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

// Viridis at eight places.
const kScale = [[68, 1, 84], [70, 50, 126], [54, 92, 141], [39, 127, 142], [31, 161, 135], [74, 193, 109], [160, 218, 57], [253, 231, 37]];

// The colour of 0 … 1, as "rgb(…)", in 256 steps.
const kTable = Array.from({length: 256}, (_, i) => {
  const at = i / 255 * (kScale.length - 1), low = Math.min(kScale.length - 2, Math.floor(at)), part = at - low;
  return `rgb(${kScale[low].map((c, k) => Math.round(c + (kScale[low + 1][k] - c) * part)).join(",")})`;
});
export function scaleIndex(share) { return Math.max(0, Math.min(255, Math.round(share * 255))); }
export function scaleColour(index) { return kTable[index]; }

// The part of the colours with a contrast of 3 to the theme's panel, for lines and points.
const kSeen = {light: [0, 0.57], dark: [0.4, 1]};
export function seenColour(share) {
  const [lowest, highest] = kSeen[document.documentElement.dataset.theme] ?? kSeen.light;
  return scaleColour(scaleIndex(lowest + (highest - lowest) * share));
}
export function seenBar(scale) {
  const colours = Array.from({length: 8}, (_, i) => seenColour(i / 7)).join(", ");
  return h("span", {class: "swatch"}, shown(scale.low), h("i", {class: "scale", style: {background: `linear-gradient(90deg, ${colours})`}}), shown(scale.high), scale.log ? " (log)" : "");
}

// Maps values to 0 … 1: by logarithm where they span more than two orders of magnitude.
export function scaleOf(values) {
  let low = Infinity, high = -Infinity;
  for (const v of values) if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
  if (low > high) return {low: NaN, high: NaN, log: false, share: () => 0};
  const log = low > 0 && high / low > 100;
  const map = log ? Math.log : (v) => v;
  const span = map(high) - map(low) || 1;
  return {low, high, log, share: (v) => (map(v) - map(low)) / span};
}

// A chart in a box of its own. show(option) replaces what it shows; `label` describes it for who cannot see it.
export class Chart {
  constructor({height = 280} = {}) {
    this.box = h("div", {class: "chart", role: "img", "aria-label": "Chart", style: {height: `${height}px`}});
    this.below = h("div", {});
    this.element = h("div", {}, this.box, this.below);
    this.observer = new ResizeObserver(() => this.instance?.resize());
    this.observer.observe(this.box);
  }

  async show(option, label) {
    this.option = {animation: false, backgroundColor: "transparent", textStyle: {fontFamily: "system-ui, sans-serif", color: cssColour("--text-quiet")}, ...option};
    const {init} = await import("./echarts.js");
    if (this.destroyed || !this.box.isConnected) return;
    this.instance ??= init(this.box, null, {renderer: "canvas"});
    this.instance.resize();
    this.instance.setOption(this.option, {notMerge: true});
    this.box.setAttribute("aria-label", label);
  }
  destroy() {
    this.destroyed = true;
    this.observer.disconnect();
    this.instance?.dispose();
    this.instance = null;
  }

  // As it is shown, on the panel's colour.
  async saveSvg(name) {
    const {init} = await import("./echarts.js"), {clientWidth: width, clientHeight: height} = this.box;
    const drawn = init(null, null, {renderer: "svg", ssr: true, width, height});
    drawn.setOption({...this.option, backgroundColor: cssColour("--panel")});
    save(`${name}.svg`, "image/svg+xml", drawn.renderToSVGString());
    drawn.dispose();
  }
  savePng(name) {
    const address = this.instance.getDataURL({type: "png", pixelRatio: 2, backgroundColor: cssColour("--panel")});
    save(`${name}.png`, "image/png", Uint8Array.from(atob(address.slice(address.indexOf(",") + 1)), (c) => c.charCodeAt(0)));
  }
}

export function axis(more) {
  const text = cssColour("--text-quiet"), line = {lineStyle: {color: cssColour("--line")}};
  return {nameLocation: "middle", nameGap: 26, nameTextStyle: {color: text}, axisLabel: {color: text, hideOverlap: true}, axisLine: line, axisTick: line, splitLine: line, ...more};
}
export function numberAxis(name, log, {labels = {}, ...more} = {}) {
  const base = axis({type: log ? "log" : "value", scale: true, name, ...more});
  return {...base, axisLabel: {...base.axisLabel, formatter: (v) => shown(v, 5), ...labels}};
}

// `content(params)`: elements and texts, which are never read as HTML.
export function tooltip(content, more = {}) {
  return {
    confine: true, enterable: false, backgroundColor: cssColour("--panel"), borderColor: cssColour("--line"), padding: [4, 8], textStyle: {color: cssColour("--text"), fontSize: 12},
    formatter: (params) => h("div", {class: "tip"}, content(params)), ...more,
  };
}
export function legend(names) {
  return {type: "scroll", bottom: 0, data: names, icon: "roundRect", itemWidth: 12, itemHeight: 12, textStyle: {color: cssColour("--text-quiet")}, pageTextStyle: {color: cssColour("--text-quiet")}};
}
function swatch(colour) { return h("i", {class: "swatch-dot", style: {background: colour}}); }

// Lines over numbers or times. Lines: {name, points: [[x, y], …], colour, dashed}; `colour`: the number of one of the series.
export class LineChart extends Chart {
  // `range`: {min, max} of y.
  constructor({label, x, logY = false, height = 280, time = false, format = shown, range = {}}) {
    super({height});
    Object.assign(this, {label, x, logY, time, format, range});
  }
  update(lines) {
    const several = lines.length > 1, colourOf = (line, i) => seriesColour(line.colour ?? i);
    replace(this.below, (several || lines.some((line) => line.colour > 0)) && h("div", {class: "legend"}, lines.map((line, i) => h("span", {class: "swatch"}, swatch(colourOf(line, i)), line.name))));
    const at = (value) => this.time ? new Date(value).toLocaleString("en-GB") : `${this.x || "step"} ${value}`;
    return this.show({
      grid: {left: 8, right: 14, top: 12, bottom: this.x ? 24 : 6, containLabel: true},
      xAxis: this.time ? axis({type: "time", splitLine: {show: false}}) : numberAxis(this.x, false, {splitLine: {show: false}, min: "dataMin", max: "dataMax"}),
      yAxis: numberAxis("", this.logY, {...this.range, labels: {formatter: (v) => this.format(v, 5)}}),
      tooltip: tooltip((params) => [at(params[0].axisValue), params.map((one) => h("div", {}, swatch(one.color), `${several ? `${one.seriesName}: ` : ""}${this.format(one.value[1], 6)}`))], {trigger: "axis"}),
      series: lines.map((line, i) => ({
        type: "line", name: line.name, data: line.points, showSymbol: line.points.length < 3, symbolSize: 6, sampling: "lttb", color: colourOf(line, i),
        lineStyle: {width: 1.5, type: line.dashed ? "dashed" : "solid"}, emphasis: {disabled: true}})),
    }, `${this.label}: ${lines.length} ${several || lines.length === 0 ? "lines" : "line"}`);
  }
}
