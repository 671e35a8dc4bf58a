// What the tables do not hold as a column, as SQL: RUNNING, and a trial's whole specification.
//
// Not part of the store's interface: for the .cc files of this folder.
#ifndef INLIER_COORDINATOR_STORE_DERIVED_SQL_H_
#define INLIER_COORDINATOR_STORE_DERIVED_SQL_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/spec/spec_parts.h"

namespace inlier {

// Whether a PENDING trial or stage runs: it does while it, or one of its stages, has a live attempt.
inline constexpr char kTrialRuns[] =
    "EXISTS (SELECT 1 FROM attempt WHERE attempt.ended_ms IS NULL AND attempt.stage IN (trial.train_stage, "
    "trial.evaluate_stage))";
inline constexpr char kStageRuns[] =
    "EXISTS (SELECT 1 FROM attempt WHERE attempt.ended_ms IS NULL AND attempt.stage = stage.id)";

// The trial's value of TrialState.
inline std::string TrialStateSql() {
  return absl::StrCat("iif(trial.state = 'PENDING' AND ", kTrialRuns, ", 'RUNNING', trial.state)");
}

// What has to be joined to trial_spec for the groups of its specification: spec_model, spec_data, …
inline std::string SpecPartsJoin() {
  std::string joins;
  for (const char* group : kSpecGroups) {
    absl::StrAppend(&joins, "\n  LEFT JOIN spec_part AS spec_", group, " ON spec_", group,
                    ".id = trial_spec.", group);
  }
  return joins;
}

// The resolved TrialSpec as JSON, where trial_spec and SpecPartsJoin() are joined.
inline std::string WholeSpecSql() {
  std::string groups;
  for (const char* group : kSpecGroups)
    absl::StrAppend(&groups, " || coalesce(',\"", group, "\":' || spec_", group, ".json, '')");
  return absl::StrCat("'{' || ltrim(substr(trial_spec.spec, 2, length(trial_spec.spec) - 2)", groups,
                      ", ',') || '}'");
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_DERIVED_SQL_H_
