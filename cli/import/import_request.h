// The sweep that imported runs become: names as inlier has them, types of settings, axes, a table, thinned curves.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_IMPORT_IMPORT_REQUEST_H_
#define INLIER_CLI_IMPORT_IMPORT_REQUEST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/import/foreign_runs.h"
#include "inlier/v1/sweep_import.pb.h"

namespace inlier {

struct MadeImport {
  v1::ImportSweepRequest request;
  std::vector<std::string> remarks;  // How what was read is understood.
};

// InvalidArgument names what the mapping has and the runs have not, and what cannot be told. `name`: of the sweep.
absl::StatusOr<MadeImport> MakeImport(ForeignRuns read, const v1::ImportMapping& mapping,
                                      const v1::ImportSource& source, const std::string& name);

}  // namespace inlier

#endif  // INLIER_CLI_IMPORT_IMPORT_REQUEST_H_
