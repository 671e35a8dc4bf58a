// The rows of a query on standard output: a JSON list of objects with --json, CSV (RFC 4180, numbers in full, NULL
// empty) with `csv`, else a table.
#ifndef INLIER_CLI_QUERY_ROWS_H_
#define INLIER_CLI_QUERY_ROWS_H_

#include <string>

#include "cli/session.h"

namespace inlier {

void PrintRows(const Session& session, const v1::QueryResponse& response, bool csv = false);

// A text as SQL has it, in quotes.
std::string SqlText(const std::string& text);

}  // namespace inlier

#endif  // INLIER_CLI_QUERY_ROWS_H_
