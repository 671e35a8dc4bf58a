// Where the views get their data: a coordinator, or the data in a saved file. Both have the same methods.
import {about, call, stream, ApiError} from "./api.js";
import {number, STATES} from "./format.js";

const kCurveRows = 20000;
const kParameterRows = 300;
const kValuesMax = 200000;
// Columns of the view `trials` that are not hyper-parameters.
const kNotParameters = new Set(["trial", "sweep", "sweep_id", "state", "label", "labels", "withdrawn", "train_stage", "evaluate_stage", "dataset_digest", "start_stage",
  "start_checkpoint", "message", "spec"]);

// An id in SQL. REQUIRES: one that a server or the address gave, so it is checked.
function id(text) {
  if (!/^(s|t)-[0-9]+$/.test(text)) throw new ApiError("INVALID_ARGUMENT", `'${text}' is no id`, 0);
  return `'${text}'`;
}
// Names come from addresses too.
function named(column) { return `"${column.replaceAll('"', '""')}"`; }
function quoted(text) { return `'${text.replaceAll("'", "''")}'`; }

function plain(value) {
  if ("integer" in value) return Number(value.integer);
  if ("real" in value) return number(value.real);
  return value.text ?? value.blob ?? null;
}

// Names with two values at least, none of them an object.
function varying(rows, names) {
  return names.filter((name) => rows.every((row) => typeof row[name] !== "object" || row[name] === null) && new Set(rows.map((row) => row[name] ?? null)).size > 1);
}

// {"model.bert.layers": 2, …}: lists as texts.
export function flat(value, prefix = "", out = {}) {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    const entries = Object.entries(value);
    if (entries.length === 0 && prefix) out[prefix] = "{}";
    for (const [key, inner] of entries) flat(inner, prefix ? `${prefix}.${key}` : key, out);
  } else {
    out[prefix] = typeof value === "string" ? value : JSON.stringify(value);
  }
  return out;
}

function bytes(base64) {
  const text = atob(base64 ?? "");
  const out = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) out[i] = text.charCodeAt(i);
  return out;
}

// A SweepMatrix as arrays: trials by number, labels trial by trial.
export function unpack(matrix) {
  const axes = (matrix.axes ?? []).map((axis) => ({name: axis.name, labels: axis.labels ?? []}));
  const numbers = Float64Array.from(matrix.numbers ?? [], Number);
  const trainings = Float64Array.from(matrix.trainings ?? [], Number);
  const labels = Uint32Array.from(matrix.labels ?? []);
  const values = matrix.values ? Float64Array.from(matrix.values, number) : null;
  return {
    axes, numbers, trainings, labels, values, states: bytes(matrix.states), trials: Number(matrix.trials ?? numbers.length), size: numbers.length,
    labelsOf(i) {
      return Object.fromEntries(axes.map((axis, a) => [axis.name, axis.labels[labels[i * axes.length + a]]]));
    },
    stateOf(i) { return STATES[this.states[i]]; },
    find(trial) { return numbers.indexOf(Number(trial.slice(2))); },
  };
}

export class LiveSource {
  live = true;

  async open() { this.about = await about(); }
  may(method) { return this.about.caller.methods.includes(method); }
  mayChange(sweep, method) {
    const {name, admin} = this.about.caller;
    return this.may(method) && (!name || admin || !sweep.owner || sweep.owner === name);
  }

  // `filter`: fields of ListSweepsRequest.
  async sweeps(all, filter = {}) {
    const first = await call("ListSweeps", {...filter, page_size: 100});
    const sweeps = first.sweeps ?? [];
    let page = first.next_page_token;
    while (page && all) {
      const next = await call("ListSweeps", {...filter, page_size: 100, page_token: page});
      sweeps.push(...next.sweeps ?? []);
      page = next.next_page_token;
    }
    return {sweeps, more: Boolean(page)};
  }
  sweep(sweep) { return call("GetSweep", {sweep}); }
  // The present SweepUpdate.
  async snapshot(sweep) {
    const stop = new AbortController();
    let got = null;
    try {
      await stream("WatchSweep", {sweep}, (update) => { got ??= update; stop.abort(); }, stop.signal);
    } catch (error) {
      if (!got) throw error;
    }
    return got;
  }
  watch(sweep, from, update, signal) {
    return stream("WatchSweep", from === null ? {sweep} : {sweep, from_sequence: String(from)}, update, signal);
  }

  async query(sql, rows = 10000) {
    const answer = await call("Query", {sql, max_rows: rows});
    const names = answer.columns ?? [];
    return Object.assign((answer.rows ?? []).map((row) =>
      Object.fromEntries((row.values ?? []).map((value, i) => [names[i], plain(value)]))), {truncated: Boolean(answer.truncated)});
  }

  // All its trials; of very large sweeps in pages.
  async matrix(sweep, measurement) {
    const request = measurement ? {sweep, measurement} : {sweep};
    return unpack(await call("GetMatrix", request));
  }
  // Final measurements of the sweep with this id, SQL: those that its program declares, or inlier's.
  async finals(sweep) {
    const [row] = await this.query("SELECT spec->'$.program.name' AS program, spec->'$.program.description.measurements' AS own "
      + `FROM sweeps WHERE sweep_id = ${sweep}`);
    if (row?.program) return Object.keys(JSON.parse(row.own ?? "{}")).sort();
    return this.about.measurements.filter((m) => m.final && m.axis !== "site").map((m) => m.name);
  }
  // Final measurements that some of its results have.
  async measured(sweep) {
    const names = await this.finals(id(sweep));
    if (names.length === 0) return [];
    const rows = await this.query(`SELECT ${names.map(named).join(", ")} FROM results WHERE sweep_id = ${id(sweep)} LIMIT 5`);
    return names.filter((name) => rows.some((row) => row[name] !== null));
  }
  // Columns of the view `trials` of which the sweep has two values, by some hundred of its trials.
  async parameters(sweep) {
    const [{n}] = await this.query(`SELECT count(*) AS n FROM trials WHERE sweep_id = ${id(sweep)}`);
    const every = Math.ceil(n / kParameterRows) || 1;
    const rows = await this.query(`SELECT * FROM trials WHERE sweep_id = ${id(sweep)} AND CAST(substr(trial, 3) AS INTEGER) % ${every} = 0`, 2 * kParameterRows);
    return varying(rows, Object.keys(rows[0] ?? {}).filter((name) => !kNotParameters.has(name)));
  }
  // Of each trial.
  async parameterValues(sweep, name) {
    const rows = await this.query(`SELECT trial, ${named(name)} AS value FROM trials WHERE sweep_id = ${id(sweep)}`, kValuesMax);
    return new Map(rows.map((row) => [row.trial, row.value]));
  }
  table(sweep) { return call("BuildTable", {sweep}); }
  failures(sweep) {
    return this.query("SELECT message, failure, count(*) AS trials, min(CAST(substr(trial, 3) AS INTEGER)) AS first "
      + `FROM failures WHERE sweep_id = ${id(sweep)} GROUP BY message, failure ORDER BY 3 DESC LIMIT 200`);
  }
  async curveNames(trials) {
    if (trials.length === 0) return [];
    const rows = await this.query(`SELECT DISTINCT name FROM curves WHERE trial IN (${trials.map(id).join(", ")}) AND site = ''`);
    return rows.map((row) => row.name);
  }
  // Points {trial, step, value, kind}, thinned where there are too many.
  async curves(trials, name) {
    if (trials.length === 0) return [];
    const from = `FROM curves WHERE trial IN (${trials.map(id).join(", ")}) AND name = ${quoted(name)} AND site = ''`;
    const rows = await this.query(`SELECT trial, step, value ${from} ORDER BY token, step`, kCurveRows);
    if (!rows.truncated) return rows;
    const [{points}] = await this.query(`SELECT count(*) AS points ${from}`);
    const every = Math.ceil(points / kCurveRows) + 1;
    return this.query(`SELECT trial, step, value ${from} AND step % ${every} = 0 ORDER BY token, step`, kCurveRows);
  }
  async trial(trial) {
    const rows = await this.query("SELECT trial, sweep, sweep_id, state, labels, message, train_stage, evaluate_stage, "
      + `spec FROM trials WHERE trial = ${id(trial)}`);
    if (rows.length === 0) throw new ApiError("NOT_FOUND", `there is no trial ${trial}`, 404);
    return {...rows[0], labels: JSON.parse(rows[0].labels), spec: JSON.parse(rows[0].spec)};
  }
  async specs(trials) {
    if (trials.length === 0) return [];
    const rows = await this.query(`SELECT trial, spec FROM trials WHERE trial IN (${trials.map(id).join(", ")})`);
    return rows.map((row) => ({trial: row.trial, spec: JSON.parse(row.spec)}));
  }
  attempts(trial) {
    return this.query("SELECT kind, attempt, token, outcome, failure, message, started_at, seconds, worker, slot, processes, host, device, "
      + `resumed_step FROM attempts WHERE trial = ${id(trial)} ORDER BY token DESC LIMIT 100`);
  }
  async results(trial) {
    const names = await this.finals(`(SELECT sweep_id FROM trials WHERE trial = ${id(trial)})`);
    if (names.length === 0) return [];
    const [row] = await this.query(`SELECT ${names.map(named).join(", ")} FROM results WHERE trial = ${id(trial)}`);
    return row ? names.filter((name) => row[name] !== null).map((name) => [name, row[name]]) : [];
  }
  // The newest lines, or those after `after`, a LoggedLine.line.
  async logs(trial, {most, after}) {
    return (await call("GetLogs", {trial, max_lines: most, ...after ? {after_line: String(after)} : {newest: true}})).lines ?? [];
  }
  // A worker's DeviceTracks, each as [{name, memory, points: [{at, utilization, …}]}]; times are milliseconds since 1970.
  async deviceTracks(worker, {device, from, to} = {}) {
    const request = {worker, ...device ? {device} : {}, ...from ? {from_unix_ms: String(Math.round(from))} : {}, ...to ? {to_unix_ms: String(Math.round(to))} : {}};
    return ((await call("GetDeviceTracks", request)).devices ?? []).map((track) => ({
      device: track.device, name: track.name ?? "", memory: number(track.memory_total_mib),
      points: (track.unix_seconds ?? []).map((second, i) => ({at: 1000 * Number(second), utilization: number(track.utilization[i]), memory: number(track.memory_used_mib[i]),
        temperature: number(track.temperature_celsius[i]), power: number(track.power_watts[i])}))}));
  }
  why(trial) { return call("Explain", {trial}); }
  async workers() {
    const workers = [];
    let page = "";
    do {
      const answer = await call("ListWorkers", {page_token: page});
      workers.push(...answer.workers ?? []);
      page = answer.next_page_token ?? "";
    } while (page);
    return workers;
  }
  change(method, request) { return call(method, {...request, request_id: uuid()}); }
}

// crypto.randomUUID is for https and localhost only.
function uuid() {
  const hex = [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

// A sweep that `inlier page SWEEP -o FILE` saved.
export class StoredSource {
  live = false;

  constructor(data) {
    this.data = data;
    this.about = {caller: {name: "", methods: []}, measurements: [], version: data.version};
    this.rows = new Map((data.trials ?? []).map((row) => [row.trial, row]));
  }
  async open() {}
  may() { return false; }
  mayChange() { return false; }
  async sweeps() { return {sweeps: [this.data.sweep], more: false}; }
  async sweep() { return this.data.sweep; }
  async snapshot() { return {status: this.data.sweep}; }
  async watch() {}
  async matrix(sweep, measurement) {
    const base = unpack(this.data.matrix);
    if (measurement) base.values = Float64Array.from(this.data.values[measurement] ?? [], number);
    return base;
  }
  async measured() { return Object.keys(this.data.values ?? {}); }
  get fields() { return this.flatRows ??= [...this.rows.values()].map((row) => ({trial: row.trial, ...flat(row.spec ?? {})})); }
  async parameters() { return varying(this.fields, [...new Set(this.fields.flatMap(Object.keys))].filter((name) => name !== "trial")); }
  async parameterValues(sweep, name) { return new Map(this.fields.map((row) => [row.trial, row[name] ?? null])); }
  async table() {
    if (!this.data.table) throw new ApiError("NOT_FOUND", "the file has no table", 0);
    return this.data.table;
  }
  async failures() { return this.data.failures ?? []; }
  async curveNames(trials) {
    const wanted = new Set(trials);
    return [...new Set((this.data.curves ?? []).filter((c) => wanted.has(c.trial)).map((c) => c.name))];
  }
  async curves(trials, name) {
    const wanted = new Set(trials);
    return (this.data.curves ?? []).filter((c) => c.name === name && wanted.has(c.trial))
      .flatMap((c) => c.points.map(([step, value]) => ({trial: c.trial, step, value})));
  }
  async trial(trial) {
    const row = this.rows.get(trial);
    if (!row) throw new ApiError("NOT_FOUND", `the file has no specification of ${trial}`, 0);
    return row;
  }
  async specs(trials) { return trials.filter((t) => this.rows.has(t)).map((t) => this.rows.get(t)); }
  async attempts() { return []; }
  async results(trial) {
    const at = unpack(this.data.matrix).find(trial);
    return Object.entries(this.data.values ?? {}).map(([name, values]) => [name, number(values[at])])
      .filter(([, value]) => Number.isFinite(value));
  }
  async logs() { return []; }
  async why(trial) {
    const row = this.rows.get(trial);
    return {text: `${trial} is ${row?.state ?? "unknown"}`, because: row?.message ? [{text: row.message}] : []};
  }
  async workers() { return []; }
  async deviceTracks() { return []; }
  curveTrials() { return [...new Set((this.data.curves ?? []).map((c) => c.trial))]; }
}
