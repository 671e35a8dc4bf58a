// A table of sweeps on standard output or in a file, in the session's output mode.
#ifndef INLIER_CLI_TABLES_TABLE_PRINTER_H_
#define INLIER_CLI_TABLES_TABLE_PRINTER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/connection/session.h"
#include "cli/tables/table_flags.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

struct TableOrder {
  std::vector<std::string> sweeps;    // Ids, names, or files of which the name is taken.
  std::optional<v1::TableSpec> spec;  // In place of the own one of the first sweep.
  TableFlags flags;
  std::string format;  // Empty: by the suffix of `output`, else text.
  std::string output;  // A file; empty: standard output.
  bool force = false;  // Replaces a file.
  bool differences = false;
  std::string explain;  // A cell: its trials in place of the table.
};

// Requests the table and prints it; with --json as JSON. AlreadyExists without `force` where there is a file.
absl::Status PrintTable(Session& session, const TableOrder& order);

}  // namespace inlier

#endif  // INLIER_CLI_TABLES_TABLE_PRINTER_H_
