// The programs of one's own whose sweeps a database has: their parameters and measurements are columns of its views.
#ifndef INLIER_COORDINATOR_STORE_VIEWS_PROGRAM_LIST_H_
#define INLIER_COORDINATOR_STORE_VIEWS_PROGRAM_LIST_H_

#include <sqlite3.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/program.pb.h"

namespace inlier {

// The descriptions, each once, in the order of their first sweeps. What a foreign file has in their place is left out.
absl::StatusOr<std::vector<v1::ProgramDescription>> ReadPrograms(sqlite3* connection);

// Of SQLite's message on an unknown column: why there is none, where a program's parameter has it; else "".
std::string WhyNoColumn(sqlite3* connection, const std::string& message);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_VIEWS_PROGRAM_LIST_H_
