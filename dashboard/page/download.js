// Files that the page makes: a table as CSV, a picture.
import {h} from "./dom.js";

export function save(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], {type}));
  h("a", {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// A text that a spreadsheet would run as a formula, and that is no number, gets an apostrophe, as in every CSV of inlier (cli/output.h).
function field(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isNaN(value) ? "" : String(value);
  const text = /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text;
}

export function saveCsv(name, columns, rows) {
  save(`${name}.csv`, "text/csv", [columns, ...rows].map((row) => `${row.map(field).join(",")}\n`).join(""));
}
