// The sweep's table, as BuildTable gives it.
import {h} from "./dom.js";
import {number, shown} from "./format.js";

function digits(value, decimals) {
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e6 || size < 10 ** -(decimals + 2)) ? shown(value) : value.toFixed(decimals);
}

function cellOf(cell, decimals) {
  const notes = [];
  if (cell.diverged) notes.push(`${cell.diverged} diverged`);
  if (cell.failed) notes.push(`${cell.failed} failed`);
  const waiting = (cell.missing ?? 0) - (cell.failed ?? 0) - (cell.cancelled ?? 0) - (cell.unmeasured ?? 0);
  if (waiting > 0) notes.push(`${waiting} missing`);
  if (cell.cancelled) notes.push(`${cell.cancelled} cancelled`);
  if (cell.unmeasured) notes.push(`${cell.unmeasured} not measured`);
  const parts = [];
  if (cell.mean !== undefined) {
    const mean = digits(number(cell.mean), decimals);
    parts.push(cell.is_best ? h("strong", {}, mean) : mean);
    if (cell.std !== undefined) parts.push(h("span", {class: "quiet"}, ` ± ${digits(number(cell.std), decimals)}`));
    if ((cell.count ?? 0) > 1) parts.push(h("span", {class: "quiet"}, ` n=${cell.count}`));
  } else {
    parts.push(cell.not_run ? h("span", {class: "quiet"}, "not run") : "–");
  }
  if (cell.published_mean !== undefined) {
    const published = digits(number(cell.published_mean), cell.published_decimals ?? decimals);
    const differs = cell.published_differs_in ?? [];
    parts.push(h("div", {class: "quiet", title: differs.length ? `Another setting: ${differs.join(", ")}` : null},
      `paper ${published}${differs.length ? " (other setting)" : ""}`));
  }
  if (notes.length) parts.push(h("div", {class: "warn"}, notes.join(", ")));
  return parts;
}

export function tableElement(table) {
  const headings = table.row_headings ?? [], columns = table.column_headings ?? [];
  const decimals = (k) => (table.decimals ?? [])[k] ?? 3;
  return h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": table.title || "Table"},
    h("table", {class: "paper"},
      h("caption", {}, table.title || "Table"),
      h("thead", {}, h("tr", {}, headings.map((name) => h("th", {scope: "col"}, name)), columns.map((name) => h("th", {scope: "col", class: "number"}, name)))),
      h("tbody", {}, (table.rows ?? []).map((row) => h("tr", {},
        (row.labels ?? []).map((label) => h("th", {scope: "row"}, label)),
        (row.cells ?? []).map((cell, k) => h("td", {class: "number", title: (cell.trials ?? []).join(", ") || null}, cellOf(cell, decimals(k)))))))));
}
