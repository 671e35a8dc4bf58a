// A sweep as a matrix of trials by axis values: a canvas of the size of the window that draws the cells in view.
//
// Rows and columns are the combinations of labels that occur, in the file's order; where a grid would be nearly empty
// (samples, one long axis) the trials follow one another in lines.
import {h, replace} from "./dom.js";
import {STATES, stateWord, labelsText, shown, grouped} from "./format.js";
import {cssColour, scaleOf, scaleIndex, scaleColour} from "./charts.js";

const kColumnsAtOnce = 64;   // Axes become columns, from the last one, while there are no more.
const kEmptiest = 4;         // Cells for each trial of a grid.
const kHeadHeight = 18;      // Of one column axis.
const kSlantedMax = 84;

// The combinations of some axes that trials have: each one's index by trial, and its labels.
function combine(matrix, axes) {
  const width = matrix.axes.length, keys = new Float64Array(matrix.size);
  for (let i = 0; i < matrix.size; ++i) {
    let key = 0;
    for (const a of axes) key = key * matrix.axes[a].labels.length + matrix.labels[i * width + a];
    keys[i] = key;
  }
  const sorted = Float64Array.from(new Set(keys)).sort();
  const index = new Map();
  sorted.forEach((key, i) => index.set(key, i));
  const labels = [...sorted].map((key) => {
    const out = [];
    for (const a of [...axes].reverse()) {
      const n = matrix.axes[a].labels.length;
      out.unshift(matrix.axes[a].labels[key % n]);
      key = Math.floor(key / n);
    }
    return out;
  });
  return {of: Uint32Array.from(keys, (key) => index.get(key)), labels, size: sorted.length};
}

// Which axes are columns: those named, or from the last one while the columns stay few.
export function columnAxes(matrix, names) {
  const chosen = matrix.axes.flatMap((axis, a) => names?.includes(axis.name) ? [a] : []);
  if (chosen.length > 0) return chosen;
  const columns = [];
  let count = 1;
  for (let a = matrix.axes.length - 1; a > 0; --a) {
    count *= Math.max(1, matrix.axes[a].labels.length);
    if (count > kColumnsAtOnce) break;
    columns.unshift(a);
  }
  return columns;
}

function makeGrid(matrix, names, room) {
  const columns = columnAxes(matrix, names);
  const rows = matrix.axes.map((_, a) => a).filter((a) => !columns.includes(a));
  const product = (axes) => axes.reduce((n, a) => n * Math.max(1, matrix.axes[a].labels.length), 1);
  if (product(rows) < 2 ** 52 && product(columns) < 2 ** 52) {
    const down = combine(matrix, rows), across = combine(matrix, columns);
    if (names?.length || (across.size > 1 && down.size * across.size <= Math.max(64, kEmptiest * matrix.size))) {
      const cells = new Int32Array(down.size * across.size).fill(-1);
      const hidden = [];
      for (let i = 0; i < matrix.size; ++i) {
        const at = down.of[i] * across.size + across.of[i];
        if (cells[at] >= 0) hidden.push(i);
        cells[at] = i;
      }
      return {rows: down.size, columns: across.size, cells, rowLabels: down.labels, columnLabels: across.labels, hidden,
        rowAxes: rows.map((a) => matrix.axes[a].name), columnNames: columns.map((a) => matrix.axes[a].name)};
    }
  }
  const across = Math.max(1, Math.min(matrix.size, room));
  const down = Math.ceil(matrix.size / across);
  const cells = new Int32Array(down * across).fill(-1);
  for (let i = 0; i < matrix.size; ++i) cells[i] = i;
  return {rows: down, columns: across, cells, rowLabels: null, columnLabels: null, hidden: [], rowAxes: [], columnNames: []};
}

export class MatrixView {
  // `open(trial)`: a person chose a cell; `pin(trial)`: marked it.
  constructor({open, pin}) {
    this.open = open;
    this.pin = pin;
    this.canvas = h("canvas", {"aria-hidden": "true"});
    this.spacer = h("div", {class: "matrix-space"}, this.canvas);
    this.live = h("p", {class: "matrix-cell", "aria-live": "polite", id: "matrix-cell"}, "\u00a0");
    this.scroller = h("div", {
      class: "matrix", tabindex: "0", role: "application", "aria-roledescription": "matrix of trials",
      "aria-label": "Matrix of trials", "aria-describedby": "matrix-cell matrix-keys",
      onscroll: () => this.later(), onkeydown: (event) => this.key(event), onfocus: () => { this.focused = true; this.tell(); this.later(); },
      onblur: () => { this.focused = false; this.tell(); this.later(); }, onclick: (event) => this.click(event), onmousemove: (event) => this.hover(event),
    }, this.spacer);
    this.legend = h("div", {class: "legend"});
    this.element = h("div", {}, this.legend, this.scroller, this.live,
      h("p", {id: "matrix-keys", class: "hint"}, "Arrow keys move, Enter opens a trial, Space adds its curve."));
    this.at = {row: 0, column: 0};
    this.pinned = new Set();
    this.frames = 0;
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.scroller);
    this.themed = () => { this.colours = null; this.later(); };
    window.addEventListener("inlier-theme", this.themed);
  }
  destroy() {
    this.observer.disconnect();
    window.removeEventListener("inlier-theme", this.themed);
  }

  show(matrix, {columns = null, colour = ""} = {}) {
    this.matrix = matrix;
    this.names = columns;
    this.colour = matrix.values ? colour : "";
    this.scale = this.colour ? scaleOf(matrix.values) : null;
    this.cell = matrix.size > 20000 ? 12 : matrix.size > 2000 ? 15 : 20;
    this.layout();
    this.drawLegend();
    this.tell();
  }

  layout() {
    const width = this.scroller.clientWidth;
    if (!this.matrix || width === 0) return;
    this.grid = makeGrid(this.matrix, this.names, Math.floor((width - 16) / this.cell));
    const measure = this.canvas.getContext("2d");
    measure.font = this.font();
    const widest = (labels, k) => {
      let most = 0;
      const step = Math.max(1, Math.floor(labels.length / 500));
      for (let i = 0; i < labels.length; i += step) most = Math.max(most, measure.measureText(labels[i][k]).width);
      return most;
    };
    const {rowLabels, columnLabels, rowAxes, columnNames} = this.grid;
    const most = Math.max(60, width * 0.45 / Math.max(1, rowAxes.length));
    this.gutters = rowAxes.map((name, k) => Math.min(most, 10 + Math.max(widest(rowLabels, k), measure.measureText(name).width)));
    this.gutter = this.gutters.reduce((a, b) => a + b, 8);
    this.heads = columnNames.map((name, k) => {
      const last = k === columnNames.length - 1;
      const text = widest(columnLabels, k);
      return last && text > this.cell - 4 ? Math.min(kSlantedMax, text + 8) : kHeadHeight;
    });
    this.head = this.heads.reduce((a, b) => a + b, columnNames.length ? 4 : 8);
    this.spacer.style.width = `${this.gutter + this.grid.columns * this.cell + 4}px`;
    const height = this.head + this.grid.rows * this.cell + 4;
    this.spacer.style.height = `${height}px`;
    this.scroller.style.height = `${Math.min(height + 18, Math.max(240, Math.round(window.innerHeight * 0.62)))}px`;
    this.at.row = Math.min(this.at.row, this.grid.rows - 1);
    this.at.column = Math.min(this.at.column, this.grid.columns - 1);
    this.later();
  }

  resize() {
    if (this.scroller.clientWidth === this.width) return this.later();
    this.width = this.scroller.clientWidth;
    this.layout();
  }
  font() { return `${this.cell < 14 ? 10 : 12}px system-ui, sans-serif`; }

  later() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.draw(); });
  }

  palette() {
    this.colours ??= {
      states: STATES.map((state) => state ? cssColour(`--${stateWord(state)}`) : "transparent"), text: cssColour("--text"),
      quiet: cssColour("--text-quiet"), line: cssColour("--line"), back: cssColour("--panel"), focus: cssColour("--focus"), none: cssColour("--none"),
    };
    return this.colours;
  }

  // Its colour: of the state while it has no value.
  colourOf(i) {
    const colours = this.palette();
    if (!this.colour) return colours.states[this.matrix.states[i]];
    const value = this.matrix.values[i];
    if (Number.isFinite(value)) return scaleColour(scaleIndex(this.scale.share(value)));
    const state = this.matrix.stateOf(i);
    return state === "FAILED" || state === "DIVERGED" ? colours.states[this.matrix.states[i]] : colours.none;
  }

  draw() {
    if (!this.grid || !this.canvas.isConnected) return;
    ++this.frames;
    const ratio = window.devicePixelRatio || 1, width = this.scroller.clientWidth, height = this.scroller.clientHeight;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d"), {grid, cell} = this, colours = this.palette();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = this.font();
    const left = this.scroller.scrollLeft, top = this.scroller.scrollTop;
    const firstRow = Math.max(0, Math.floor(top / cell)), lastRow = Math.min(grid.rows - 1, Math.ceil((top + height - this.head) / cell));
    const firstColumn = Math.max(0, Math.floor(left / cell)), lastColumn = Math.min(grid.columns - 1, Math.ceil((left + width - this.gutter) / cell));
    const x = (column) => this.gutter + column * cell - left, y = (row) => this.head + row * cell - top;
    this.drawCells(context, {firstRow, lastRow, firstColumn, lastColumn, x, y});
    context.fillStyle = colours.back;
    context.fillRect(0, 0, this.gutter, height);
    context.fillRect(0, 0, width, this.head);
    if (grid.rowLabels) this.drawRowLabels(context, firstRow, lastRow, y);
    if (grid.columnLabels) this.drawColumnLabels(context, firstColumn, lastColumn, x);
  }

  drawCells(context, {firstRow, lastRow, firstColumn, lastColumn, x, y}) {
    const {grid, cell} = this, size = cell - (cell < 14 ? 1 : 2), colours = this.palette();
    const byColour = new Map();  // One fill style for many cells.
    for (let row = firstRow; row <= lastRow; ++row) {
      for (let column = firstColumn; column <= lastColumn; ++column) {
        const trial = grid.cells[row * grid.columns + column];
        if (trial < 0) continue;
        const colour = this.colourOf(trial);
        let list = byColour.get(colour);
        if (!list) byColour.set(colour, list = []);
        list.push(x(column), y(row));
      }
    }
    for (const [colour, list] of byColour) {
      context.fillStyle = colour;
      for (let i = 0; i < list.length; i += 2) context.fillRect(list[i], list[i + 1], size, size);
    }
    context.strokeStyle = colours.text;
    context.lineWidth = 1.5;
    for (const pinned of this.pinned) {
      const at = grid.cells.indexOf(pinned);
      if (at >= 0) context.strokeRect(x(at % grid.columns) + 2, y(Math.floor(at / grid.columns)) + 2, size - 4, size - 4);
    }
    if (this.focused) {
      context.strokeStyle = colours.focus;
      context.lineWidth = 3;
      context.strokeRect(x(this.at.column) - 1, y(this.at.row) - 1, size + 2, size + 2);
    }
  }

  clip(context, text, room) {
    if (context.measureText(text).width <= room) return text;
    let length = Math.max(1, Math.floor(text.length * room / context.measureText(text).width));
    while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > room) --length;
    return `${text.slice(0, length)}…`;
  }

  drawRowLabels(context, first, last, y) {
    const {grid, cell} = this, colours = this.palette();
    context.save();
    context.beginPath();
    context.rect(0, this.head, this.gutter, this.scroller.clientHeight);
    context.clip();
    context.textBaseline = "middle";
    for (let row = first; row <= last; ++row) {
      const labels = grid.rowLabels[row], above = row > first ? grid.rowLabels[row - 1] : null;
      let x = 4, same = true;
      labels.forEach((label, k) => {
        same = same && above !== null && above[k] === label;
        context.fillStyle = k === labels.length - 1 ? colours.text : colours.quiet;
        if (!same || k === labels.length - 1) context.fillText(this.clip(context, label, this.gutters[k] - 6), x, y(row) + cell / 2 - 1);
        x += this.gutters[k];
      });
    }
    context.restore();
    context.fillStyle = colours.quiet;
    context.textBaseline = "bottom";
    let x = 4;
    grid.rowAxes.forEach((name, k) => {
      context.fillText(this.clip(context, name, this.gutters[k] - 6), x, this.head - 4);
      x += this.gutters[k];
    });
  }

  drawColumnLabels(context, first, last, x) {
    const {grid, cell} = this, colours = this.palette();
    context.save();
    context.beginPath();
    context.rect(this.gutter - 2, 0, this.scroller.clientWidth, this.head);
    context.clip();
    let top = 2;
    this.heads.forEach((height, k) => {
      const innermost = k === this.heads.length - 1;
      for (let column = first; column <= last;) {
        const same = (c) => grid.columnLabels[c].slice(0, k + 1).every((label, j) => label === grid.columnLabels[column][j]);
        let end = column + 1;
        while (end <= last && same(end)) ++end;
        const label = grid.columnLabels[column][k];
        context.fillStyle = innermost ? colours.text : colours.quiet;
        if (innermost && height > kHeadHeight) {
          context.save();
          context.translate(x(column) + cell / 2 - 1, top + height - 3);
          context.rotate(-Math.PI / 2);
          context.textBaseline = "middle";
          context.fillText(this.clip(context, label, height - 6), 0, 0);
          context.restore();
        } else {
          context.textBaseline = "middle";
          context.fillText(this.clip(context, label, Math.max(cell, (end - column) * cell - 4)), Math.max(x(column), this.gutter) + 1, top + height / 2);
          if (!innermost && column > 0) {
            context.fillStyle = colours.line;
            context.fillRect(x(column) - 2, top, 1, this.head - top);
          }
        }
        column = end;
      }
      top += height;
    });
    context.restore();
  }

  drawLegend() {
    const swatch = (colour, text) => h("span", {class: "swatch"}, h("i", {style: {background: colour}}), text);
    if (!this.colour) {
      const seen = new Map();
      for (const state of this.matrix.states) seen.set(state, (seen.get(state) ?? 0) + 1);
      replace(this.legend, [...seen].sort(([a], [b]) => a - b)
        .map(([state, count]) => swatch(`var(--${stateWord(STATES[state])})`, `${stateWord(STATES[state])} ${grouped(count)}`)));
      return;
    }
    const {low, high, log} = this.scale;
    const bar = h("i", {class: "scale", style: {
      background: `linear-gradient(90deg, ${[0, 36, 73, 109, 146, 182, 219, 255].map(scaleColour).join(", ")})`}});
    replace(this.legend, h("span", {class: "swatch"}, shown(low), bar, shown(high), log ? " (log)" : ""),
      swatch("var(--none)", "no value"), swatch("var(--failed)", "failed"), swatch("var(--diverged)", "diverged"));
  }

  trialAt(row, column) {
    return row >= 0 && column >= 0 && row < this.grid.rows && column < this.grid.columns ? this.grid.cells[row * this.grid.columns + column] : -1;
  }
  describe(i) {
    if (i < 0) return "no trial here";
    const value = this.colour ? `, ${this.colour} ${shown(this.matrix.values[i])}` : "";
    return `t-${this.matrix.numbers[i]}: ${labelsText(this.matrix.labelsOf(i))} · ${stateWord(this.matrix.stateOf(i))}${value}`;
  }
  tell() {
    if (!this.grid) return;
    const {hidden} = this.grid;
    replace(this.live, this.focused ? this.describe(this.trialAt(this.at.row, this.at.column))
      : hidden.length ? `${grouped(hidden.length)} trials share a cell with another one; choose other columns` : "\u00a0");
  }

  move(row, column) {
    this.at = {row: Math.max(0, Math.min(this.grid.rows - 1, row)), column: Math.max(0, Math.min(this.grid.columns - 1, column))};
    const {cell, scroller} = this;
    const x = this.at.column * cell, y = this.at.row * cell, roomX = scroller.clientWidth - this.gutter - cell, roomY = scroller.clientHeight - this.head - cell;
    if (x < scroller.scrollLeft) scroller.scrollLeft = x;
    if (x > scroller.scrollLeft + roomX) scroller.scrollLeft = x - roomX;
    if (y < scroller.scrollTop) scroller.scrollTop = y;
    if (y > scroller.scrollTop + roomY) scroller.scrollTop = y - roomY;
    this.tell();
    this.later();
  }

  key(event) {
    if (!this.grid || event.ctrlKey || event.metaKey || event.altKey) return;
    const {row, column} = this.at, page = Math.max(1, Math.floor((this.scroller.clientHeight - this.head) / this.cell) - 1);
    const to = {ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      PageUp: [row - page, column], PageDown: [row + page, column], Home: [row, 0], End: [row, this.grid.columns - 1]}[event.key];
    const trial = this.trialAt(row, column);
    if (to) this.move(...to);
    else if (event.key === "Enter" && trial >= 0) this.open(`t-${this.matrix.numbers[trial]}`);
    else if (event.key === " " && trial >= 0) this.pin(`t-${this.matrix.numbers[trial]}`);
    else return;
    event.preventDefault();
  }

  under(event) {
    const box = this.scroller.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    if (!this.grid || x < this.gutter || y < this.head) return {row: -1, column: -1};
    return {row: Math.floor((y - this.head + this.scroller.scrollTop) / this.cell),
      column: Math.floor((x - this.gutter + this.scroller.scrollLeft) / this.cell)};
  }
  hover(event) {
    const {row, column} = this.under(event), trial = this.trialAt(row, column);
    this.scroller.style.cursor = trial >= 0 ? "pointer" : "default";
    const text = trial >= 0 ? this.describe(trial) : "";
    if (this.scroller.title !== text) this.scroller.title = text;
  }
  click(event) {
    const {row, column} = this.under(event), trial = this.trialAt(row, column);
    if (trial < 0) return;
    this.at = {row, column};
    if (event.shiftKey) this.pin(`t-${this.matrix.numbers[trial]}`);
    else this.open(`t-${this.matrix.numbers[trial]}`);
  }
}
