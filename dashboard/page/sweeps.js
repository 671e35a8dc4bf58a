// All sweeps: progress, rate, time left, failures.
import {h, replace, table, notice, button} from "./dom.js";
import {counts, sweepWord, sweepClass, ago, duration, grouped, number, STATE_ORDER, stateWord} from "./format.js";

const kPeriodMs = 2000;
const kEstimated = 6;  // Active sweeps with an estimate of the time left.

// A bar with a part for each state.
export function progressBar(sweep) {
  const by = counts(sweep);
  const text = STATE_ORDER.filter((state) => by[state]).map((state) => `${grouped(by[state])} ${stateWord(state)}`).join(", ");
  return h("div", {class: "bar", role: "img", "aria-label": text || "no trials yet", title: text},
    STATE_ORDER.filter((state) => by[state] && state !== "PENDING").map((state) =>
      h("i", {style: {width: `${100 * by[state] / by.total}%`, background: `var(--${stateWord(state)})`}})));
}

// Trials that end in a minute, from what was seen before.
class Rates {
  seen = new Map();
  of(sweep, now) {
    const ended = counts(sweep).ended;
    const past = this.seen.get(sweep.sweep_id) ?? [];
    past.push({ended, now});
    while (past.length > 2 && now - past[0].now > 60000) past.shift();
    this.seen.set(sweep.sweep_id, past);
    const first = past[0], seconds = (now - first.now) / 1000;
    if (sweep.state !== "ACTIVE") return NaN;
    if (seconds > 5 && ended > first.ended) return 60 * (ended - first.ended) / seconds;
    const whole = (now - Number(sweep.submitted_unix_ms)) / 60000;
    return ended > 0 && whole > 0 && !counts(sweep).known ? ended / whole : NaN;
  }
}

export class SweepsView {
  title = "Sweeps";
  rates = new Rates();
  left = new Map();
  all = false;

  constructor(source) {
    this.source = source;
    this.list = h("div", {}, h("p", {class: "quiet"}, "Loading …"));
    this.element = h("section", {}, h("h1", {tabindex: "-1"}, "Sweeps"), this.list);
  }
  start() { this.refresh(); }
  stop() { clearTimeout(this.timer); this.stopped = true; }

  async refresh() {
    try {
      const {sweeps, more} = await this.source.sweeps(this.all);
      if (this.stopped) return;
      this.draw(sweeps, more);
      if (this.source.live) await this.estimate(sweeps.filter((s) => s.state === "ACTIVE" && !s.paused).slice(0, kEstimated));
      if (!this.stopped) this.draw(sweeps, more);
    } catch (error) {
      if (!this.stopped) replace(this.list, notice(error.message));
    }
    if (!this.stopped && this.source.live) this.timer = setTimeout(() => this.refresh(), document.hidden ? 5 * kPeriodMs : kPeriodMs);
  }

  async estimate(sweeps) {
    await Promise.all(sweeps.map(async (sweep) => {
      const update = await this.source.snapshot(sweep.sweep_id).catch(() => null);
      this.left.set(sweep.sweep_id, update?.seconds_left === undefined ? NaN : number(update.seconds_left));
    }));
  }

  draw(sweeps, more) {
    if (sweeps.length === 0) {
      replace(this.list, h("p", {class: "empty"}, "No sweeps yet. Submit one: ", h("code", {}, "inlier submit FILE.yaml")));
      return;
    }
    const now = Date.now(), owned = sweeps.some((s) => s.owner);
    const focused = document.activeElement?.getAttribute?.("href");
    const columns = [{heading: "sweep"}, {heading: "state"}, {heading: "progress"}, {heading: "trials", number: true}, {heading: "failed", number: true},
      {heading: "per minute", number: true}, {heading: "time left", number: true}, {heading: "submitted"}];
    if (owned) columns.push({heading: "owner"});
    const rows = sweeps.map((sweep) => {
      const by = counts(sweep), rate = this.rates.of(sweep, now), left = this.left.get(sweep.sweep_id) ?? NaN, active = sweep.state === "ACTIVE";
      const row = [
        h("a", {href: `#/sweep/${sweep.sweep_id}`}, sweep.name || sweep.sweep_id, h("span", {class: "quiet id"}, sweep.sweep_id)),
        h("span", {class: sweepClass(sweep)}, sweepWord(sweep)),
        progressBar(sweep),
        `${grouped(by.ended)} of ${grouped(by.total)}`,
        by.FAILED ? h("a", {class: "failed", href: `#/sweep/${sweep.sweep_id}?tab=failures`, "aria-label": `${by.FAILED} failed trials of ${sweep.sweep_id}`}, grouped(by.FAILED)) : "0",
        Number.isFinite(rate) ? rate.toPrecision(2) : "–",
        active && !sweep.paused ? duration(left) : "–",
        ago(sweep.submitted_unix_ms, now),
      ];
      if (owned) row.push(sweep.owner ?? "");
      return row;
    });
    replace(this.list, table("Sweeps, the newest first", columns, rows, {class: "sweeps"}),
      more && button("Show all sweeps", () => { this.all = true; this.refresh(); }));
    if (focused) [...this.list.querySelectorAll("a")].find((a) => a.getAttribute("href") === focused)?.focus({preventScroll: true});
  }
}
