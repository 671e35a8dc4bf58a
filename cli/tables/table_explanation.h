// `inlier table --explain`: from a cell to the trials behind it.
#ifndef INLIER_CLI_TABLES_TABLE_EXPLANATION_H_
#define INLIER_CLI_TABLES_TABLE_EXPLANATION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/connection/session.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

// A cell, by places counted from 0.
struct CellPlace {
  int row = 0;
  int column = 0;
};
// Of "ROW,COL": numbers that count from 1, or labels; a row may be named by several labels, "BERT,vanilla,ppl".
// InvalidArgument names the known labels.
absl::StatusOr<CellPlace> FindCell(const v1::Table& table, const std::string& text);

// Prints the trials of the cell, each with its state, value, attempts, build, worker, and the digests of its data and
// checkpoint; as JSON with --json.
absl::Status ExplainCell(Session& session, const v1::Table& table, const CellPlace& place);

}  // namespace inlier

#endif  // INLIER_CLI_TABLES_TABLE_EXPLANATION_H_
