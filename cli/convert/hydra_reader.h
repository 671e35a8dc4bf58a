// Configurations of Hydra with a sweep: `hydra.sweeper.params` of the basic sweeper and of Optuna's, and the older `search_space`.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_CONVERT_HYDRA_READER_H_
#define INLIER_CLI_CONVERT_HYDRA_READER_H_

#include "absl/status/statusor.h"
#include "cli/convert/foreign_sweep.h"
#include "spec/schema/yaml_document.h"

namespace inlier {

// Also a file of the group hydra/sweeper.
bool IsHydraConfiguration(const YamlNode& root);

// Errors name line and column. REQUIRES: IsHydraConfiguration(root).
absl::StatusOr<ForeignSweep> ReadHydraSweep(const YamlNode& root);

}  // namespace inlier

#endif  // INLIER_CLI_CONVERT_HYDRA_READER_H_
