// Line charts by Chart.js (https://www.chartjs.org, MIT licence), in the page's colours, and the colour scale of values.
/* global Chart */

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

// A chart in a box of its own; update(datasets) changes it without a new one. Datasets as Chart.js has them.
export class LineChart {
  constructor({label, x, y, logY = false, height = 280, points = false, category = false}) {
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.label = label;
    this.element = document.createElement("div");
    this.element.className = "chart";
    this.element.style.height = `${height}px`;
    this.element.append(this.canvas);
    this.canvas.setAttribute("aria-label", label);
    this.options = {x, y, logY, points, category};
    this.chart = null;
  }

  update(datasets, categories = undefined) {
    if (!this.canvas.isConnected) return;
    const shown = datasets.filter((d) => !d.hidden).length;
    this.canvas.setAttribute("aria-label", `${this.label}: ${shown} ${shown === 1 ? "line" : "lines"}`);
    if (this.chart) {
      this.chart.data.datasets = datasets;
      if (categories) this.chart.data.labels = categories;
      this.chart.update("none");
      return;
    }
    const text = cssColour("--text-quiet"), grid = cssColour("--line");
    const axis = (title, more) => ({
      title: {display: Boolean(title), text: title, color: text}, ticks: {color: text}, grid: {color: grid, drawBorder: false}, ...more});
    const {x, y, logY, points, category} = this.options;
    this.chart = new Chart(this.canvas, {
      type: "line",
      data: {labels: categories, datasets},
      options: {
        animation: false, parsing: category, normalized: !category, responsive: true, maintainAspectRatio: false, spanGaps: true,
        interaction: {mode: "nearest", axis: "x", intersect: false},
        elements: {point: {radius: points ? 3 : 0, hitRadius: 6}, line: {borderWidth: 1.5, tension: 0}},
        scales: {
          x: axis(x, {type: category ? "category" : "linear"}),
          y: axis(y, {type: logY ? "logarithmic" : "linear"}),
        },
        plugins: {
          legend: {display: shown > 1, position: "bottom",
            labels: {color: text, boxWidth: 14, boxHeight: 2, filter: (item, data) => !data.datasets[item.datasetIndex].quiet}},
          tooltip: {filter: (item) => !item.dataset.quiet},
          decimation: {enabled: !category, algorithm: "lttb", samples: 500},
        },
      },
    });
  }

  destroy() {
    this.chart?.destroy();
    this.chart = null;
  }
}
