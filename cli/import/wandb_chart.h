// The CSV that a chart of Weights & Biases exports: an x axis, and of each run the columns "RUN - METRIC", "RUN - METRIC__MIN" and
// "RUN - METRIC__MAX".
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_IMPORT_WANDB_CHART_H_
#define INLIER_CLI_IMPORT_WANDB_CHART_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/import/csv_table.h"
#include "cli/import/foreign_runs.h"

namespace inlier {

bool IsWandbChart(const CsvTable& table);

// The runs with their curves, and without settings, for a chart has none. InvalidArgument "file:line: …" where the x axis is not the
// step, and for cells that are no numbers.
absl::StatusOr<ForeignRuns> RunsOfWandbChart(const CsvTable& table, const std::string& file);

}  // namespace inlier

#endif  // INLIER_CLI_IMPORT_WANDB_CHART_H_
