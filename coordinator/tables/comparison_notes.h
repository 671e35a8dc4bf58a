// What a table does not compare with its baseline, and why, in words.
//
// Thread safety: pure functions.
#ifndef INLIER_COORDINATOR_TABLES_COMPARISON_NOTES_H_
#define INLIER_COORDINATOR_TABLES_COMPARISON_NOTES_H_

#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// Adds a note of the rows without a baseline's row, with the remedy, and one for each column with cells that have no
// pair. REQUIRES: rows and cells are compared.
void AddComparisonNotes(const v1::TableSpec& spec, v1::Table& table);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_TABLES_COMPARISON_NOTES_H_
