// The programs of one's own whose sweeps a database has: their parameters and measurements are columns of its views.
#ifndef INLIER_COORDINATOR_STORE_VIEWS_PROGRAM_LIST_H_
#define INLIER_COORDINATOR_STORE_VIEWS_PROGRAM_LIST_H_

#include <sqlite3.h>

#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/program.pb.h"

namespace inlier {

// The descriptions, each once, in the order of their first sweeps. What a foreign file has in their place is left out.
absl::StatusOr<std::vector<v1::ProgramDescription>> ReadPrograms(sqlite3* connection);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_VIEWS_PROGRAM_LIST_H_
