// The input of a table: the trials of a sweep with their labels, columns and measurements.
//
// Thread safety: none.
#ifndef INLIER_RESULTS_TABLES_TRIAL_VALUES_H_
#define INLIER_RESULTS_TABLES_TRIAL_VALUES_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/reader.h"
#include "google/protobuf/struct.pb.h"
#include "inlier/v1/sweep_service.pb.h"
#include "results/statistics/nested_results.h"
#include "spec/trial/measurements.h"

namespace inlier {

struct TrialValues {
  std::string id;
  v1::TrialState state = v1::PENDING;
  std::string train_stage;                    // "st-1"; empty for an invalid trial, as the next.
  std::string evaluate_stage;                 // Trials with the same one have one result.
  std::map<std::string, std::string> labels;  // Axis -> label.
  std::map<std::string, SqlValue> columns;    // The requested ones.
  std::vector<double> measurements;           // In the requested order; NaN: it has none.
  bool started = false;                       // One of its stages had an attempt, or a result before it.
};

// The trials of `sweep` in the order of its grid, with `columns` of the view trials and `measurements` of the view results,
// which must exist. Adds their memory to `bytes`; ResourceExhausted beyond kTrialValuesBytesMax.
inline constexpr std::size_t kTrialValuesBytesMax = std::size_t{256} << 20;
absl::StatusOr<std::vector<TrialValues>> ReadTrials(Reader& reader, SweepId sweep,
                                                    const std::set<std::string>& columns,
                                                    const std::vector<std::string>& measurements,
                                                    std::size_t& bytes);

// The text of a column's value as rows show it: "-0.03", "clipped", "" for NULL.
std::string SqlText(const SqlValue& value);

// True when a label has the written value: numbers compare as numbers, null is "", any item of a list may match.
bool LabelMatches(const std::string& label, const google::protobuf::Value& wanted);

// True when all of `where` hold, for an axis' label if `trial` has the axis, else for a column (null is SQL's NULL), else
// for the empty label of an axis that only other sweeps have.
bool Matches(const TrialValues& trial,
             const google::protobuf::Map<std::string, google::protobuf::Value>& where);

// A measurement of the requested ones.
struct MeasurementChoice {
  std::size_t number = 0;
  bool of_training = false;  // Trials of one training have one result, else those of one evaluation.
  Better better = Better::kNone;
  bool is_perplexity = false;  // Tests of differences are made on its logarithm, the loss.
};

bool HasResult(const TrialValues& trial, const MeasurementChoice& measurement);
const std::string& StageOf(const TrialValues& trial, const MeasurementChoice& measurement);
// Summarises each result once, in the order of the trials, by training.
NestedSummary SummaryOf(const std::vector<const TrialValues*>& trials, const MeasurementChoice& measurement);

// The trial's label of an axis, else its column as text; empty where the axis does not apply.
std::string LabelOf(const TrialValues& trial, const std::string& name);

}  // namespace inlier

#endif  // INLIER_RESULTS_TABLES_TRIAL_VALUES_H_
