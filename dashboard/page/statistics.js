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
