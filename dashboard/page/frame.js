// Trials of sweeps as columns: labels of axes, parameters, final measurements. A column is read when it is first used.
import {stateWord} from "./format.js";

export function isNumber(value) { return typeof value === "number" && Number.isFinite(value); }

// Numbers where all that there are read as such.
function column(name, kind, values) {
  const absent = (v) => v === null || v === undefined || v === "" || Number.isNaN(v), known = values.filter((v) => !absent(v));
  const numeric = known.length > 0 && known.every((v) => isNumber(typeof v === "string" && v.trim() !== "" ? Number(v) : v));
  return {name, kind, values: values.map((v) => absent(v) ? null : numeric ? Number(v) : String(v)), numeric};
}

export class Frame {
  // `sweeps`: ids.
  static async read(source, sweeps) {
    const parts = await Promise.all(sweeps.map(async (sweep) => {
      const [matrix, measured, parameters] = await Promise.all([source.matrix(sweep, ""), source.measured(sweep), source.parameters(sweep)]);
      return {sweep, matrix, measured, parameters};
    }));
    return new Frame(source, parts);
  }
  constructor(source, parts) {
    this.source = source;
    this.parts = parts;
    this.known = new Map();
    this.trials = parts.flatMap(({matrix}) => Array.from(matrix.numbers, (n) => `t-${n}`));
    this.states = parts.flatMap(({matrix}) => Array.from(matrix.states, (_, i) => matrix.stateOf(i)));
    this.trainings = parts.flatMap(({matrix}) => Array.from(matrix.trainings));
    const all = (list) => [...new Set(parts.flatMap(list))];
    this.axes = all(({matrix}) => matrix.axes.map((a) => a.name));
    this.measured = all(({measured}) => measured).filter((name) => !this.axes.includes(name));
    this.parameters = all(({parameters}) => parameters).filter((name) => !this.axes.includes(name) && !this.measured.includes(name));
  }
  get size() { return this.trials.length; }
  // Names by what they are.
  get names() { return [...this.parts.length > 1 ? ["sweep"] : [], ...this.axes, ...this.parameters, ...this.measured]; }
  has(name) { return this.names.includes(name); }

  column(name) {
    if (!this.known.has(name)) this.known.set(name, this.read(name));
    return this.known.get(name);
  }
  columns(names) { return Promise.all(names.map((name) => this.column(name))); }

  async read(name) {
    const each = async (values) => (await Promise.all(this.parts.map(values))).flat();
    if (name === "sweep") return column(name, "sweep", await each(({sweep, matrix}) => Array(matrix.size).fill(sweep)));
    if (name === "state") return column(name, "state", this.states.map(stateWord));
    if (this.axes.includes(name)) {
      return column(name, "axis", await each(({matrix}) => {
        const a = matrix.axes.findIndex((axis) => axis.name === name);
        return Array.from({length: matrix.size}, (_, i) => a < 0 ? null : matrix.axes[a].labels[matrix.labels[i * matrix.axes.length + a]]);
      }));
    }
    if (this.measured.includes(name)) {
      return column(name, "measurement", await each(async ({sweep, matrix, measured}) => {
        const values = measured.includes(name) ? (await this.source.matrix(sweep, name)).values ?? [] : [];
        return Array.from({length: matrix.size}, (_, i) => values[i] ?? null);
      }));
    }
    return column(name, "parameter", await each(async ({sweep, matrix}) => {
      const values = await this.source.parameterValues(sweep, name);
      return Array.from(matrix.numbers, (n) => values.get(`t-${n}`) ?? null);
    }));
  }

  labelsText(i) {
    let at = i;
    for (const {matrix} of this.parts) {
      if (at < matrix.size) return matrix.axes.map((axis, a) => [axis, axis.labels[matrix.labels[at * matrix.axes.length + a]]])
        .filter(([axis, label]) => axis.labels.length > 1 && label !== "").map(([axis, label]) => `${axis.name}=${label}`).join(", ");
      at -= matrix.size;
    }
    return "";
  }
}
