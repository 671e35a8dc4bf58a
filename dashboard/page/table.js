// The sweep's table, as BuildTable gives it.
import {h} from "./dom.js";
import {number, shown} from "./format.js";

function digits(value, decimals) {
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e6 || size < 10 ** -(decimals + 2)) ? shown(value) : value.toFixed(decimals);
}

// The number that the column shows: a median or the best has no deviation.
function shownOf(cell, statistic) {
  if (statistic === "MEDIAN") return cell.median;
  return statistic === "BEST" ? cell.best : cell.mean;
}

function countOf(cell) {
  const trainings = cell.trainings ?? cell.count ?? 0;
  if ((cell.evaluations ?? 1) < 2) return trainings > 1 ? `n=${trainings}` : "";
  return cell.count === trainings * cell.evaluations ? `n=${trainings}×${cell.evaluations}` : `n=${trainings}, ${cell.count} evaluations`;
}

// Against the baseline: over pairs of trainings with equal seeds where there are some.
function differenceOf(cell, decimals) {
  const paired = (cell.pairs ?? 0) > 0;
  const [value, low, high] = paired ? [cell.paired_difference, cell.paired_low, cell.paired_high]
    : [cell.difference, cell.difference_low, cell.difference_high];
  const interval = low === undefined ? "" : ` [${digits(number(low), decimals)}, ${digits(number(high), decimals)}]`;
  const pairs = paired ? `, ${cell.pairs} ${cell.pairs === 1 ? "pair" : "pairs"}` : cell.pairs === undefined ? "" : ", not paired";
  return `Δ ${digits(number(value), decimals)}${interval}${pairs}`;
}

function cellOf(cell, decimals, statistic) {
  const notes = [];
  if (cell.diverged) notes.push(`${cell.diverged} diverged`);
  if (cell.failed) notes.push(`${cell.failed} failed`);
  const waiting = (cell.missing ?? 0) - (cell.failed ?? 0) - (cell.cancelled ?? 0) - (cell.unmeasured ?? 0);
  if (waiting > 0) notes.push(`${waiting} missing`);
  if (cell.cancelled) notes.push(`${cell.cancelled} cancelled`);
  if (cell.unmeasured) notes.push(`${cell.unmeasured} not measured`);
  const parts = [];
  const value = shownOf(cell, statistic);
  if (value !== undefined) {
    const text = digits(number(value), decimals);
    parts.push(cell.is_best ? h("strong", {}, text) : text);
    const mean = statistic !== "MEDIAN" && statistic !== "BEST";
    if (mean && cell.std !== undefined) parts.push(h("span", {class: "quiet"}, ` ± ${digits(number(cell.std), decimals)}`));
    if (countOf(cell)) parts.push(h("span", {class: "quiet"}, ` ${countOf(cell)}`));
    if (cell.within_std !== undefined) {
      parts.push(h("div", {class: "quiet", title: "Standard deviation over the evaluations (calibrations) of one training"},
        `within a training ± ${digits(number(cell.within_std), decimals)}`));
    }
    if (cell.chosen) parts.push(h("div", {class: "quiet", title: "The best point of the grid"}, cell.chosen));
    if (cell.difference !== undefined) parts.push(h("div", {class: "quiet", title: "Difference to the baseline"}, differenceOf(cell, decimals)));
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

// Rank correlations, and what is not compared with the baseline.
function notesOf(table) {
  const correlations = (table.correlations ?? []).map((found) => {
    const points = `${found.count ?? 0} ${found.points === "TRAININGS" ? "trainings" : "rows"}`;
    const rho = found.rho === undefined ? "not defined" : number(found.rho).toFixed(3);
    return `Spearman's ρ of ${found.x} and ${found.y} over ${points}: ${rho}${found.p === undefined ? "" : `, p = ${shown(number(found.p))}`}`;
  });
  return [...correlations, ...(table.comparison_notes ?? [])].map((note) => h("p", {class: "quiet"}, note));
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
        (row.cells ?? []).map((cell, k) => h("td", {class: "number", title: (cell.trials ?? []).join(", ") || null}, cellOf(cell, decimals(k), (table.columns ?? [])[k]?.statistic)))))),
    notesOf(table)));
}
