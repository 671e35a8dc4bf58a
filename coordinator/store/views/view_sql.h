// Expressions of the views. For the .cc files of this folder.
#ifndef INLIER_COORDINATOR_STORE_VIEWS_VIEW_SQL_H_
#define INLIER_COORDINATOR_STORE_VIEWS_VIEW_SQL_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/store/views/param_view.h"

namespace inlier {

// "2026-11-25T01:30:00.000Z" of a column of milliseconds.
inline std::string Utc(const std::string& milliseconds) {
  return absl::StrCat("strftime('%Y-%m-%dT%H:%M:%fZ', ", milliseconds, " / 1000.0, 'unixepoch')");
}

// "t-17" of a column of numbers.
inline std::string Id(const std::string& prefix, const std::string& column) {
  return absl::StrCat("'", prefix, "' || ", column);
}

// Columns and sources that several views of trials share.
inline const ViewColumn kTrial = {"trial", Id("t-", "trial.id"), "Id of the trial, t-<number>."};
inline const ViewColumn kSweep = {"sweep", "sweep.name", "Name of its sweep."};
inline const ViewColumn kSweepId = {"sweep_id", Id("s-", "sweep.id"),
                                    "Id of its sweep, s-<number>; sweeps may share a name."};
// True for a sweep whose numbers are from elsewhere.
inline constexpr char kIsImported[] = "EXISTS (SELECT 1 FROM import WHERE import.sweep = sweep.id)";
inline const ViewColumn kOrigin = {
    "origin", absl::StrCat("iif(", kIsImported, ", 'imported', NULL)"),
    "imported: from elsewhere, by `inlier import`; NULL: of this coordinator."};
inline const ViewColumn kLabel = {
    "label", "(SELECT group_concat(value, ', ') FROM json_each(trial.labels) WHERE value <> '')",
    "Labels of its point on all axes."};
inline const ViewColumn kLabels = {"labels", "trial.labels",
                                   "The same as a JSON object, axis -> label: `labels->>'method'`."};
inline const ViewColumn kKind = {
    "kind", "CASE stage.kind WHEN 'TRAIN_STAGE' THEN 'TRAIN' ELSE 'EVALUATE' END", "TRAIN or EVALUATE."};

inline std::vector<ViewColumn> Joined(std::vector<ViewColumn> columns, const std::vector<ViewColumn>& more) {
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

// The columns that name a trial, and `more`.
inline std::vector<ViewColumn> TrialColumns(const std::vector<ViewColumn>& more) {
  return Joined({kTrial, kSweep, kSweepId, kLabel, kLabels}, more);
}

// FROM of trials with their sweeps, without those that were removed.
inline constexpr char kTrials[] =
    "trial\n  JOIN sweep ON sweep.id = trial.sweep AND sweep.removed_ms IS NULL";

// FROM of trials with their sweeps, stages and attempts. CROSS JOIN only fixes the order: from the trials down.
inline std::string AttemptsOfTrials() {
  return absl::StrCat(kTrials,
                      "\n  CROSS JOIN stage ON stage.id IN (trial.train_stage, trial.evaluate_stage)",
                      "\n  CROSS JOIN attempt ON attempt.stage = stage.id");
}

// The digest of the data of the training in the table `stage`.
inline std::string DigestOf(const std::string& stage) {
  return absl::StrCat("(SELECT digest FROM data WHERE data.id = ", stage, ".data)");
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_VIEWS_VIEW_SQL_H_
