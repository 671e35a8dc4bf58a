// SQL of what no column holds: the state RUNNING, and a trial's whole specification. For this folder.
#ifndef INLIER_COORDINATOR_STORE_VIEWS_DERIVED_SQL_H_
#define INLIER_COORDINATOR_STORE_VIEWS_DERIVED_SQL_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "inlier/v1/attempt.pb.h"
#include "spec/trial/measurements.h"

namespace inlier {

// True when a PENDING trial or stage runs: while it, or one of its stages, has a live attempt.
inline constexpr char kTrialRuns[] =
    "EXISTS (SELECT 1 FROM attempt WHERE attempt.ended_ms IS NULL "
    "AND attempt.stage IN (trial.train_stage, trial.evaluate_stage))";
inline constexpr char kStageRuns[] =
    "EXISTS (SELECT 1 FROM attempt WHERE attempt.ended_ms IS NULL AND attempt.stage = stage.id)";

// The trial's value of TrialState.
inline std::string TrialStateSql() {
  return absl::StrCat("iif(trial.state = 'PENDING' AND ", kTrialRuns, ", 'RUNNING', trial.state)");
}

// The stages of a trial, whose rows hold its specification.
inline constexpr char kStagesOfTrialJoin[] =
    "\n  LEFT JOIN stage AS trained ON trained.id = trial.train_stage"
    "\n  LEFT JOIN stage AS evaluated ON evaluated.id = trial.evaluate_stage";

// The JSON of the part of a trial's specification that a stage of this kind has; of an invalid trial all of
// it. With kStagesOfTrialJoin.
inline std::string SpecPartSql(v1::StageKind kind) {
  return absl::StrCat("coalesce(", kind == v1::TRAIN_STAGE ? "trained" : "evaluated", ".spec, trial.spec)");
}

// The whole specification: its parts, in the order of the fields. With kStagesOfTrialJoin.
inline constexpr char kWholeSpecSql[] =
    "coalesce(trial.spec, substr(trained.spec, 1, length(trained.spec) - 1) || "
    "iif(trained.spec = '{}' OR evaluated.spec = '{}', '', ',') || substr(evaluated.spec, 2))";

// The final value of a measurement of the whole model in a trial's result; `name`: SQL of its name. With
// kStagesOfTrialJoin.
inline std::string FinalValueSql(const MeasurementInfo& measurement, const std::string& name) {
  return absl::StrCat("(SELECT value FROM measurement WHERE token = ",
                      measurement.source == "train" ? "trained" : "evaluated",
                      ".result_token AND name = ", name,
                      " AND final = 1 AND site = '' ORDER BY id DESC LIMIT 1)");
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_VIEWS_DERIVED_SQL_H_
