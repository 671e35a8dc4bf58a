// The end of a trial's log, live: new lines are added while it runs; it follows them until the user scrolls up or pauses it.
import {h, replace, button} from "./dom.js";
import {clock, grouped} from "./format.js";

const kFirst = 300;
const kAtOnce = 2000;
const kKept = 5000;
const kPeriodMs = 1500;

export class LogTail {
  constructor(source, trial) {
    Object.assign(this, {source, trial, last: 0, count: 0, paused: false, follows: true});
    this.lines = h("pre", {class: "log", tabindex: "0", role: "log", "aria-label": "Log", "aria-live": "off", onscroll: () => this.scrolled()}, "Loading …");
    this.pauseButton = button("Pause", () => { this.paused = !this.paused; this.tell(); if (!this.paused) this.poll(); });
    this.followBox = h("input", {type: "checkbox", checked: true, onchange: () => { this.follows = this.followBox.checked; this.follow(); }});
    this.state = h("span", {class: "quiet", role: "status"});
    this.controls = h("div", {class: "row fields"}, this.pauseButton, h("label", {class: "field"}, this.followBox, "follow"), this.state);
    this.element = h("div", {}, this.controls, this.lines);
  }
  stop() { this.stopped = true; clearTimeout(this.timer); }
  // The trial may write lines or will write no more. Reads once more in any case.
  live(active) {
    this.active = active;
    this.controls.hidden = !active && this.count <= 1;
    this.pauseButton.hidden = !active;
    this.poll();
  }

  async poll() {
    if (this.stopped || this.reading || this.paused) return;
    clearTimeout(this.timer);
    this.reading = true;
    try {
      let lines;
      do {
        lines = await this.source.logs(this.trial, this.last ? {most: kAtOnce, after: this.last} : {most: kFirst});
        if (this.stopped) return;
        this.add(lines);
      } while (lines.length === kAtOnce && !this.paused);
      this.tell();
    } catch (error) {
      if (!this.stopped) replace(this.state, `${error.message}; tried again`);
    } finally {
      this.reading = false;
    }
    if (this.active && !this.stopped && !this.paused) this.timer = setTimeout(() => this.poll(), document.hidden ? 5 * kPeriodMs : kPeriodMs);
  }
  add(lines) {
    if (this.last === 0) replace(this.lines, lines.length === 0 ? "No lines." : null);
    if (lines.length === 0) return;
    this.last = Number(lines[lines.length - 1].line);
    this.lines.append(...lines.map((line) => h("span", {class: "line"}, `${clock(line.time_unix_ms)}  ${line.text ?? ""}\n`)));
    this.count += lines.length;
    while (this.lines.childElementCount > kKept) this.lines.firstElementChild.remove();
    this.follow();
  }
  follow() {
    if (!this.follows) return;
    this.lines.scrollTop = this.lines.scrollHeight;
  }
  scrolled() {
    const atEnd = this.lines.scrollTop + this.lines.clientHeight >= this.lines.scrollHeight - 8;
    if (atEnd === this.follows) return;
    this.follows = atEnd;
    this.followBox.checked = atEnd;
  }
  tell() {
    replace(this.pauseButton, this.paused ? "Go on" : "Pause");
    replace(this.state, this.paused ? "paused" : this.active ? `live, ${grouped(this.count)} lines read` : "");
  }
}
