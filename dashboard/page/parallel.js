// Parallel coordinates: each trial a line over the sweep's axes and measurements, coloured by the last one.
import {h, replace} from "./dom.js";
import {cssColour, scaleOf, scaleIndex, scaleColour} from "./charts.js";
import {shown, grouped} from "./format.js";

const kLinesMax = 3000;
const kLabelsMax = 24;
// The part of the colours with a contrast of 3 to the theme's panel.
const kColours = {light: [0, 0.57], dark: [0.4, 1]};

export class ParallelView {
  constructor() {
    this.canvas = h("canvas", {role: "img", "aria-label": "Parallel coordinates"});
    this.note = h("p", {class: "hint"});
    this.box = h("div", {class: "parallel"}, this.canvas);
    this.element = h("div", {}, this.box, this.note);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.box);
    this.themed = () => this.draw();
    window.addEventListener("inlier-theme", this.themed);
  }
  destroy() {
    this.observer.disconnect();
    window.removeEventListener("inlier-theme", this.themed);
  }

  show(matrix, measurement) {
    const axes = matrix.axes.map((axis, a) => ({axis, a})).filter(({axis}) => axis.labels.length > 1);
    this.scale = scaleOf(matrix.values);
    const trials = [];
    for (let i = 0; i < matrix.size; ++i) if (Number.isFinite(matrix.values[i])) trials.push(i);
    const every = Math.ceil(trials.length / kLinesMax);
    this.lines = trials.filter((_, k) => k % every === 0).sort((a, b) => matrix.values[b] - matrix.values[a]);
    this.dimensions = [
      ...axes.map(({axis, a}) => ({
        name: axis.name, labels: axis.labels,
        share: (i) => axis.labels.length < 2 ? 0.5 : 1 - matrix.labels[i * matrix.axes.length + a] / (axis.labels.length - 1)})),
      {name: measurement, labels: null, share: (i) => this.scale.share(matrix.values[i])},
    ];
    this.values = matrix.values;
    this.canvas.setAttribute("aria-label", `Parallel coordinates of ${this.lines.length} trials over ${axes.map(({axis}) => axis.name).join(", ")}; colour: ${measurement}`);
    replace(this.note, trials.length === 0 ? `No trial has ${measurement} yet.`
      : every > 1 ? `Every ${every}. of ${grouped(trials.length)} trials is drawn.` : "Each line is a trial; violet and blue are low, green and yellow are high.");
    this.draw();
  }

  draw() {
    if (!this.lines || !this.canvas.isConnected) return;
    const ratio = window.devicePixelRatio || 1, width = this.box.clientWidth, height = 360, top = 28, bottom = 16, side = 60;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "12px system-ui, sans-serif";
    const n = this.dimensions.length, x = (d) => n < 2 ? width / 2 : side + d * (width - 2 * side) / (n - 1), y = (share) => top + (1 - share) * (height - top - bottom);
    context.lineWidth = 1;
    context.globalAlpha = this.lines.length > 500 ? 0.35 : this.lines.length > 50 ? 0.6 : 1;
    const [lowest, highest] = kColours[document.documentElement.dataset.theme] ?? kColours.light;
    for (const i of this.lines) {
      context.strokeStyle = scaleColour(scaleIndex(lowest + (highest - lowest) * this.scale.share(this.values[i])));
      context.beginPath();
      this.dimensions.forEach((dimension, d) => d === 0 ? context.moveTo(x(d), y(dimension.share(i))) : context.lineTo(x(d), y(dimension.share(i))));
      context.stroke();
    }
    context.globalAlpha = 1;
    const text = cssColour("--text"), quiet = cssColour("--text-quiet"), back = cssColour("--panel");
    this.dimensions.forEach((dimension, d) => {
      context.strokeStyle = quiet;
      context.beginPath();
      context.moveTo(x(d), top);
      context.lineTo(x(d), height - bottom);
      context.stroke();
      const write = (label, at, colour) => {
        const cut = label.length > 18 ? `${label.slice(0, 17)}…` : label;
        const wide = context.measureText(cut).width;
        const left = Math.max(2, Math.min(width - wide - 2, d === n - 1 ? x(d) - wide - 6 : x(d) + 6));
        context.fillStyle = back;
        context.globalAlpha = 0.75;
        context.fillRect(left - 2, at - 8, wide + 4, 16);
        context.globalAlpha = 1;
        context.fillStyle = colour;
        context.textBaseline = "middle";
        context.fillText(cut, left, at);
      };
      write(dimension.name, 10, text);
      if (!dimension.labels) {
        write(shown(this.scale.high), y(1), quiet);
        write(shown(this.scale.low), y(0), quiet);
      } else {
        const every = Math.ceil(dimension.labels.length / kLabelsMax), last = dimension.labels.length - 1;
        dimension.labels.forEach((label, k) => { if (k % every === 0) write(label || "–", y(1 - k / last), quiet); });
      }
    });
  }
}
