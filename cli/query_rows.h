// Rows of SQL from the coordinator.
#ifndef INLIER_CLI_QUERY_ROWS_H_
#define INLIER_CLI_QUERY_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/connection/session.h"
#include "nlohmann/json.hpp"

namespace inlier {

// Waits longer than for other calls. max_rows: 0 for the coordinator's own limit.
absl::StatusOr<v1::QueryResponse> QueryRows(Session& session, const std::string& sql,
                                            std::uint32_t max_rows = 0);

// An integer or text as it is, a number with all its digits; empty for NULL.
std::string ExactText(const v1::QueryValue& value);

// A list of objects; null for NULL.
nlohmann::ordered_json RowsJson(const v1::QueryResponse& response);

// On standard output: a JSON list of objects with --json, CSV (RFC 4180, numbers in full, NULL empty) with `csv`, else a
// table.
void PrintRows(const Session& session, const v1::QueryResponse& response, bool csv = false);

// A text as SQL has it, in quotes; and several, with commas between them.
std::string SqlText(const std::string& text);
std::string SqlList(const std::vector<std::string>& texts);

}  // namespace inlier

#endif  // INLIER_CLI_QUERY_ROWS_H_
