// What is not to be compared in a table, and why, in words.
//
// Thread safety: pure functions.
#ifndef INLIER_RESULTS_TABLES_COMPARISON_NOTES_H_
#define INLIER_RESULTS_TABLES_COMPARISON_NOTES_H_

#include <set>
#include <string>
#include <vector>

#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "results/tables/trial_values.h"

namespace inlier {

// Adds a note of the rows without a baseline's row, with the remedy, and one for each column with cells that have no
// pair. REQUIRES: rows and cells are compared.
void AddComparisonNotes(const v1::TableSpec& spec, v1::Table& table);

// Columns of trials that say which engine trains them on a CPU (spec/trial/unfused_part.h); none where every trial of the
// sweeps has one engine.
std::set<std::string> EngineColumns(const std::vector<v1::SweepSpec>& sweeps);
// Adds a note where some of the trials are trained by REFERENCE and others are not, with what makes the difference.
void AddEngineNote(const std::vector<const TrialValues*>& trials, v1::Table& table);

}  // namespace inlier

#endif  // INLIER_RESULTS_TABLES_COMPARISON_NOTES_H_
