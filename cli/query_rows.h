// The rows of a query on standard output: a JSON list of objects with --json, else a table.
#ifndef INLIER_CLI_QUERY_ROWS_H_
#define INLIER_CLI_QUERY_ROWS_H_

#include "cli/session.h"

namespace inlier {

void PrintRows(const Session& session, const v1::QueryResponse& response);

}  // namespace inlier

#endif  // INLIER_CLI_QUERY_ROWS_H_
