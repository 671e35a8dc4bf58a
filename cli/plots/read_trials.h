// The trials of a sweep with the numbers of a figure, and their curves, by the Query RPC alone: also of a folder
// without a coordinator.
//
// Thread safety: none.
#ifndef INLIER_CLI_PLOTS_READ_TRIALS_H_
#define INLIER_CLI_PLOTS_READ_TRIALS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/sweep_service.pb.h"
#include "results/figures/plot_trial.h"

namespace inlier {

// Runs one statement; its answer may be truncated.
using RunQuery = std::function<absl::StatusOr<v1::QueryResponse>(const std::string& sql)>;

// Trials of `sweep_id` ("s-1") that no edit has withdrawn, in the order of its grid. All of them: answers that are
// truncated are continued. REQUIRES: `columns` are of the view trials, `measurements` of the view results.
absl::StatusOr<std::vector<PlotTrial>> ReadPlotTrials(const RunQuery& query, const std::string& sweep_id,
                                                      const std::set<std::string>& columns,
                                                      const std::vector<std::string>& measurements);

// The curve of `measurement` over the training of each of `trials` ("t-3"). All points, as above.
absl::StatusOr<std::map<std::string, Curve>> ReadCurves(const RunQuery& query,
                                                        const std::vector<std::string>& trials,
                                                        const std::string& measurement);

// A measurement of single modules by layer, counted from 1, of each of `trials`. `site` is the module below its layer, such as
// "output.dense", or "layer" for the layer itself; empty: the only one. InvalidArgument names the modules otherwise.
absl::StatusOr<std::map<std::string, Curve>> ReadLayers(const RunQuery& query,
                                                        const std::vector<std::string>& trials,
                                                        const std::string& measurement,
                                                        const std::string& site);

}  // namespace inlier

#endif  // INLIER_CLI_PLOTS_READ_TRIALS_H_
