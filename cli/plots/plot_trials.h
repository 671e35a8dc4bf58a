// The trials of a sweep with the numbers of a figure, and their curves, by the Query RPC alone: also of a folder
// without a coordinator.
//
// Thread safety: none.
#ifndef INLIER_CLI_PLOTS_PLOT_TRIALS_H_
#define INLIER_CLI_PLOTS_PLOT_TRIALS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/struct.pb.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

struct PlotTrial {
  std::string id;
  std::string state;
  std::string train_stage;                     // Empty for an invalid trial. The same for the next.
  std::string evaluate_stage;                  // Trials with the same one have one result.
  std::map<std::string, std::string> labels;   // Axis -> label.
  std::map<std::string, std::string> columns;  // The requested ones, as text; "" for NULL.
  std::vector<double> measurements;            // In the requested order; NaN: it has none.
};

// Runs one statement; its answer may be truncated.
using RunQuery = std::function<absl::StatusOr<v1::QueryResponse>(const std::string& sql)>;

// Trials of `sweep_id` ("s-1") that no edit has withdrawn, in the order of its grid. All of them: answers that are
// truncated are continued. REQUIRES: `columns` are of the view trials, `measurements` of the view results.
absl::StatusOr<std::vector<PlotTrial>> ReadPlotTrials(const RunQuery& query, const std::string& sweep_id,
                                                      const std::set<std::string>& columns,
                                                      const std::vector<std::string>& measurements);

// Step and value, by growing step; without values that are no numbers.
using Curve = std::vector<std::pair<double, double>>;

// The curve of `measurement` over the training of each of `trials` ("t-3"). All points, as above.
absl::StatusOr<std::map<std::string, Curve>> ReadCurves(const RunQuery& query,
                                                        const std::vector<std::string>& trials,
                                                        const std::string& measurement);

// A measurement of single modules by layer, counted from 1, of each of `trials`. `site` is the module below its layer, such as
// "output.dense", or "layer" for the layer itself; empty: the only one. InvalidArgument: the measurement has other modules,
// or several without `site`; it names them.
absl::StatusOr<std::map<std::string, Curve>> ReadLayers(const RunQuery& query,
                                                        const std::vector<std::string>& trials,
                                                        const std::string& measurement,
                                                        const std::string& site);

// The trial's label where it has that axis, else its column; "" where it has neither.
const std::string& TextOf(const PlotTrial& trial, const std::string& name);

// True when all of `where` hold, as in tables: numbers are compared as numbers, null is a label or column that is
// empty, of a list any may match.
bool Matches(const PlotTrial& trial,
             const google::protobuf::Map<std::string, google::protobuf::Value>& where);

}  // namespace inlier

#endif  // INLIER_CLI_PLOTS_PLOT_TRIALS_H_
