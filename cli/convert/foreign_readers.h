// Sweeps of other tools, read from their files: those of Weights & Biases, and configurations of Hydra with
// `hydra.sweeper.params` of the basic sweeper and of Optuna's, or the older `search_space`.
//
// Errors name line and column. Thread safety: pure functions.
#ifndef INLIER_CLI_CONVERT_FOREIGN_READERS_H_
#define INLIER_CLI_CONVERT_FOREIGN_READERS_H_

#include "absl/status/statusor.h"
#include "cli/convert/foreign_sweep.h"
#include "spec/schema/yaml_document.h"

namespace inlier {

bool IsWandbSweep(const YamlNode& root);
// REQUIRES: IsWandbSweep(root).
absl::StatusOr<ForeignSweep> ReadWandbSweep(const YamlNode& root);
// One of its parameters: fills all of `parameter` but its name and place. What cannot be said is told to `sweep`, whose plan
// is known.
absl::Status ReadWandbParameter(const YamlNode& node, ForeignParameter* parameter, ForeignSweep* sweep);

// Also a file of the group hydra/sweeper.
bool IsHydraConfiguration(const YamlNode& root);
// REQUIRES: IsHydraConfiguration(root).
absl::StatusOr<ForeignSweep> ReadHydraSweep(const YamlNode& root);

}  // namespace inlier

#endif  // INLIER_CLI_CONVERT_FOREIGN_READERS_H_
