// A table whose rows are found by a text and sorted by a column.
import {h, replace, table, button} from "./dom.js";
import {grouped} from "./format.js";

const kRowsShown = 100;

// "perplexity<30 bert": conditions on columns, and words that a row must have.
function conditionsOf(text, columns) {
  return text.trim().toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const [, name, sign, wanted] = word.match(/^(.+?)(<=|>=|!=|=|<|>)(.+)$/) ?? [];
    const column = name && columns.find((c) => c.heading.toLowerCase() === name);
    if (!column) return (row) => columns.some((c) => String(c.value(row) ?? "").toLowerCase().includes(word));
    const compare = {"<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b, "=": (a, b) => a === b, "!=": (a, b) => a !== b}[sign];
    return (row) => {
      const value = column.value(row), number = Number(wanted);
      if (value === null || value === undefined) return sign === "!=";
      if (typeof value === "number" && Number.isFinite(number)) return compare(value, number);
      return compare(String(value).toLowerCase(), wanted);
    };
  });
}

// What is absent comes last in both directions.
function inOrder(a, b, sign) {
  const absent = (v) => v === null || v === undefined || v === "" || Number.isNaN(v);
  if (absent(a) || absent(b)) return absent(a) - absent(b);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b), "en", {numeric: true});
}

export class RowsTable {
  // `columns`: {heading, value(row), cell(row), number}; without `value` one is neither searched nor sorted by. `settings`: {find, sort}, sort
  // "heading" or "-heading"; `changed(settings)` after a user's change.
  constructor(caption, {settings = {}, changed = () => {}, attributes = {}} = {}) {
    Object.assign(this, {caption, changed, attributes, find: settings.find ?? "", sort: settings.sort ?? "", most: kRowsShown});
    this.field = h("input", {type: "search", value: this.find, "aria-label": `Find in ${caption}`, placeholder: "words, or column<1", oninput: () => {
      clearTimeout(this.typed);
      this.typed = setTimeout(() => { this.find = this.field.value; this.most = kRowsShown; this.draw(); this.tell(); }, 200);
    }});
    this.count = h("span", {class: "quiet", role: "status"});
    this.list = h("div", {});
    this.more = h("div", {});
    this.extra = h("span", {class: "row"});
    this.element = h("div", {}, h("div", {class: "row fields"}, h("label", {class: "field"}, h("span", {}, "Find"), this.field), this.count, this.extra), this.list, this.more);
  }
  tell() { this.changed({find: this.find || null, sort: this.sort || null}); }

  show(columns, rows) {
    this.columns = columns;
    this.rows = rows;
    this.draw();
  }
  // The rows that are found, in order.
  found() {
    const searched = this.columns.filter((c) => c.value), conditions = conditionsOf(this.find, searched);
    const found = this.rows.filter((row) => conditions.every((holds) => holds(row)));
    const by = searched.find((c) => c.heading === this.sort.replace(/^-/, ""));
    if (by) {
      const sign = this.sort.startsWith("-") ? -1 : 1;
      found.sort((a, b) => inOrder(by.value(a), by.value(b), sign));
    }
    return found;
  }
  heading(column) {
    if (!column.value) return column.heading;
    const now = this.sort === column.heading ? "↑" : this.sort === `-${column.heading}` ? "↓" : "";
    return button([column.heading, h("span", {"aria-hidden": "true"}, now && ` ${now}`)], () => {
      this.sort = this.sort === column.heading ? `-${column.heading}` : column.heading;
      this.draw();
      this.tell();
      this.list.querySelectorAll("thead button")[this.columns.filter((c) => c.value).indexOf(column)]?.focus();
    }, {class: "heading"});
  }
  draw() {
    const found = this.found(), focused = this.list.contains(document.activeElement) ? document.activeElement.getAttribute("data-key") ?? document.activeElement.getAttribute("href") : null;
    const sorted = (c) => c.value && this.sort === c.heading ? "ascending" : c.value && this.sort === `-${c.heading}` ? "descending" : null;
    const scrolled = this.list.firstChild?.scrollLeft ?? 0;
    replace(this.list, found.length === 0 ? h("p", {class: "empty"}, this.rows.length === 0 ? "None." : "No row is so.")
      : table(this.caption, this.columns.map((c) => ({...c, heading: this.heading(c), sorted: sorted(c)})), found.slice(0, this.most).map((row) => this.columns.map((c) => (c.cell ?? c.value)(row) ?? "–")), this.attributes));
    if (this.list.firstChild) this.list.firstChild.scrollLeft = scrolled;
    replace(this.count, found.length < this.rows.length ? `${grouped(found.length)} of ${grouped(this.rows.length)}` : grouped(found.length));
    replace(this.more, found.length > this.most && button(`Show more of ${grouped(found.length)}`, () => { this.most *= 5; this.draw(); }));
    if (focused) [...this.list.querySelectorAll("a, input")].find((one) => focused === (one.getAttribute("data-key") ?? one.getAttribute("href")))?.focus({preventScroll: true});
  }
}
