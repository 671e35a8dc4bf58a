import {isNumber} from "./frame.js";

// Mean and deviation of repeated results, as results/statistics/nested_results.h has them for tables and figures: a training counts once, with the
// mean over its evaluations; the deviation is over trainings, with n - 1, and 0 for one.
export function summarise(results) {
  const trainings = new Map();
  for (const {training, value} of results) {
    const key = training || Symbol("by itself");
    if (!trainings.has(key)) trainings.set(key, []);
    trainings.get(key).push(value);
  }
  const meanOf = (values) => values.reduce((a, b) => a + b, 0) / values.length, means = [...trainings.values()].map(meanOf), mean = meanOf(means);
  const squares = means.reduce((sum, m) => sum + (m - mean) ** 2, 0);
  return {n: means.length, mean, deviation: means.length < 2 ? 0 : Math.sqrt(squares / (means.length - 1))};
}

// Spearman's rank correlation over the pairs of numbers; equal numbers share their mean rank. null: there are fewer than 3 pairs, or all of a side are equal.
export function rankCorrelation(a, b) {
  const pairs = a.map((_, i) => i).filter((i) => isNumber(a[i]) && isNumber(b[i]));
  const ranked = (values) => {
    const order = [...pairs].sort((i, j) => values[i] - values[j]), ranks = new Map();
    for (let from = 0, to; from < order.length; from = to) {
      for (to = from; to < order.length && values[order[to]] === values[order[from]];) ++to;
      for (let k = from; k < to; ++k) ranks.set(order[k], (from + to - 1) / 2 - (order.length - 1) / 2);
    }
    return pairs.map((i) => ranks.get(i));
  };
  const product = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0), x = ranked(a), y = ranked(b), norm = Math.sqrt(product(x, x) * product(y, y));
  return pairs.length < 3 || norm === 0 ? null : product(x, y) / norm;
}
