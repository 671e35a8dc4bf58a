// A sweep's table on standard output, in the session's output mode.
#ifndef INLIER_CLI_TABLES_TABLE_PRINTER_H_
#define INLIER_CLI_TABLES_TABLE_PRINTER_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "cli/session.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// Requests the table (`spec` absent: the sweep's own) and prints it as `format` (text, markdown, csv, latex,
// json); with --json always JSON.
absl::Status PrintTable(Session& session, const std::string& sweep, const std::optional<v1::TableSpec>& spec,
                        const std::string& format);

}  // namespace inlier

#endif  // INLIER_CLI_TABLES_TABLE_PRINTER_H_
