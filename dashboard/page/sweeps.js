// All sweeps: progress, rate, time left, failures; found by text, sorted by a column, archived, tagged or removed several at once.
import {h, replace, table, notice, button, choice, ask} from "./dom.js";
import {counts, sweepWord, sweepClass, ago, duration, grouped, number, STATE_ORDER, stateWord} from "./format.js";

const kPeriodMs = 2000;
const kEstimated = 6;  // Active sweeps with an estimate of the time left.

const LISTS = [["", "in use"], ["all", "also archived"], ["removed", "removed"]];
const SORTS = {
  "submitted": (s) => -Number(s.submitted_unix_ms), "name": (s) => s.name ?? "", "state": sweepWord, "owner": (s) => s.owner ?? "",
  "trials": (s) => -counts(s).total, "failed": (s) => -(counts(s).FAILED ?? 0),
};

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
  filter = {};
  sort = "submitted";
  chosen = new Set();  // Ids.

  constructor(source) {
    this.source = source;
    this.list = h("div", {}, h("p", {class: "quiet"}, "Loading …"));
    this.bulk = h("div", {class: "row", role: "group", "aria-label": "For the chosen sweeps"});
    this.element = h("section", {}, h("h1", {tabindex: "-1"}, "Sweeps"), source.live && this.controls(), this.bulk, this.list);
  }
  controls() {
    const look = () => { clearTimeout(this.timer); this.all = Boolean(this.filter.text); this.refresh(); };
    const text = h("input", {type: "search", oninput: () => { this.filter.text = text.value; clearTimeout(this.typed); this.typed = setTimeout(look, 200); }});
    return h("div", {class: "row"},
      h("label", {class: "field"}, h("span", {}, "name, tag or note"), text),
      choice("list", "", LISTS, (value) => {
        this.filter = {text: this.filter.text, all: value === "all", removed: value === "removed"};
        this.chosen.clear();
        look();
      }),
      choice("sort by", this.sort, Object.keys(SORTS), (value) => { this.sort = value; look(); }));
  }
  // The buttons for the chosen sweeps.
  drawBulk() {
    if (this.chosen.size === 0) return replace(this.bulk);
    const each = (method, request) => async () => {
      const failures = [];
      for (const sweep of this.chosen) await this.source.change(method, {sweep, ...request}).catch((error) => failures.push(error.message));
      this.chosen.clear();
      this.drawBulk();
      clearTimeout(this.timer);
      await this.refresh();
      if (failures.length) this.bulk.append(notice(failures.join("; ")));
    };
    const many = `${this.chosen.size} ${this.chosen.size === 1 ? "sweep" : "sweeps"}`;
    const tag = h("input", {"aria-label": "tag", placeholder: "tag", size: "12"});
    const label = (request) => each("LabelSweep", request);
    replace(this.bulk, h("span", {}, `${many}: `), this.filter.removed ? button("Restore", each("RestoreSweep", {})) : [
      button("Archive", label({archived: true})), button("Unarchive", label({archived: false})),
      tag, button("Add tag", () => label({add_tags: [tag.value]})()), button("Take tag off", () => label({remove_tags: [tag.value]})()),
      button("Remove …", async () => {
        if (await ask(`Remove ${many}? Until inlier gc frees them, they can be restored.`, "Remove")) await each("RemoveSweep", {})();
      }, {class: "danger"})]);
  }
  choose(sweep) {
    return h("input", {type: "checkbox", checked: this.chosen.has(sweep.sweep_id), "aria-label": `choose ${sweep.sweep_id}`, onchange: (event) => {
      event.target.checked ? this.chosen.add(sweep.sweep_id) : this.chosen.delete(sweep.sweep_id);
      this.drawBulk();
    }});
  }
  start() { this.refresh(); }
  stop() { clearTimeout(this.timer); this.stopped = true; }

  async refresh() {
    try {
      const {sweeps, more} = await this.source.sweeps(this.all, this.filter);
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
      const filtered = this.filter.text || this.filter.removed;
      replace(this.list, h("p", {class: "empty"}, filtered ? "No sweep is so." : ["No sweeps yet. Submit one: ", h("code", {}, "inlier submit FILE.yaml")]));
      return;
    }
    const now = Date.now(), owned = sweeps.some((s) => s.owner), order = SORTS[this.sort];
    const chosen = (sweep) => this.source.live && this.source.mayChange(sweep, "LabelSweep");
    const choosing = sweeps.some(chosen);
    const focused = document.activeElement?.getAttribute?.("href") ?? document.activeElement?.getAttribute?.("aria-label");
    sweeps = sweeps.map((sweep) => [order(sweep), sweep]).sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0).map(([, sweep]) => sweep);
    const columns = [{heading: "sweep"}, {heading: "state"}, {heading: "progress"}, {heading: "trials", number: true}, {heading: "failed", number: true},
      {heading: "per minute", number: true}, {heading: "time left", number: true}, {heading: "submitted"}];
    if (owned) columns.push({heading: "owner"});
    if (choosing) columns.push({heading: "choose"});
    const rows = sweeps.map((sweep) => {
      const by = counts(sweep), rate = this.rates.of(sweep, now), left = this.left.get(sweep.sweep_id) ?? NaN, active = sweep.state === "ACTIVE";
      const row = [
        h("a", {href: `#/sweep/${sweep.sweep_id}`}, sweep.name || sweep.sweep_id, h("span", {class: "quiet id"}, sweep.sweep_id),
          (sweep.tags ?? []).map((tag) => h("span", {class: "tag"}, tag)), sweep.imported && h("span", {class: "tag", title: sweep.imported.path}, "imported"), sweep.archived && h("span", {class: "quiet"}, "archived")),
        h("span", {class: sweepClass(sweep)}, sweepWord(sweep)),
        progressBar(sweep),
        `${grouped(by.ended)} of ${grouped(by.total)}`,
        by.FAILED ? h("a", {class: "failed", href: `#/sweep/${sweep.sweep_id}?tab=failures`, "aria-label": `${by.FAILED} failed trials of ${sweep.sweep_id}`}, grouped(by.FAILED)) : "0",
        Number.isFinite(rate) ? rate.toPrecision(2) : "–",
        active && !sweep.paused ? duration(left) : "–",
        ago(sweep.submitted_unix_ms, now),
      ];
      if (owned) row.push(sweep.owner ?? "");
      if (choosing) row.push(chosen(sweep) ? this.choose(sweep) : "");
      return row;
    });
    replace(this.list, table(`Sweeps, by ${this.sort}`, columns, rows, {class: "sweeps"}),
      more && button("Show all sweeps", () => { this.all = true; this.refresh(); }));
    if (focused) [...this.list.querySelectorAll("a, input")]
      .find((one) => focused === (one.getAttribute("href") ?? one.getAttribute("aria-label")))?.focus({preventScroll: true});
  }
}
