// A part of a sweep's view. It shows an error in its own place, and does not read twice at once.
import {h, replace, notice} from "./dom.js";

export class Part {
  constructor(view) {
    this.view = view;
    this.fields = h("div", {class: "row fields"});
    this.message = h("div", {});
    this.box = h("div", {});
    this.note = h("p", {class: "hint"});
    this.element = h("div", {}, this.fields, this.message, this.box, this.note);
  }
  get source() { return this.view.source; }
  async refresh() {
    if (this.reading) { this.readAgain = true; return; }
    this.reading = true;
    try {
      await this.read();
      replace(this.message);
    } catch (error) {
      if (error.name !== "AbortError") replace(this.message, notice(error.message));
    }
    this.reading = false;
    if (this.readAgain) { this.readAgain = false; await this.refresh(); }
  }
  // Draws the fields anew when `key` is another one: who is in one of them keeps it.
  drawFields(key, make) {
    const text = JSON.stringify(key);
    if (text === this.fieldsKey) return;
    this.fieldsKey = text;
    const label = this.fields.contains(document.activeElement) ? document.activeElement.getAttribute("name") : null;
    replace(this.fields, make());
    if (label) this.fields.querySelector(`[name="${CSS.escape(label)}"]`)?.focus({preventScroll: true});
  }
}
