// Notes on results of a table that cannot be compared.
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

// True for a row with the labels of the baseline, of any group.
bool IsBaseline(const v1::TableSpec& spec, const v1::TableRow& row);

// Adds notes on rows without a baseline's row, with the remedy, and on columns with unpaired cells of a compared table.
void AddComparisonNotes(const v1::TableSpec& spec, v1::Table& table);

// The columns of trials that decide their engine on a CPU (spec/trial/unfused_part.h), and whether their quantization could be
// deployed; none for sweeps in which all are alike.
std::set<std::string> NoteColumns(const std::vector<v1::SweepSpec>& sweeps);
// Adds a note, with the columns, where REFERENCE trained only some of the trials, and one where a quantization is not deployable.
void AddTrialNotes(const std::vector<const TrialValues*>& trials, v1::Table& table);

}  // namespace inlier

#endif  // INLIER_RESULTS_TABLES_COMPARISON_NOTES_H_
