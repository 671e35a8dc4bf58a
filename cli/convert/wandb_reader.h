// Sweeps of Weights & Biases.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_CONVERT_WANDB_READER_H_
#define INLIER_CLI_CONVERT_WANDB_READER_H_

#include "absl/status/statusor.h"
#include "cli/convert/foreign_sweep.h"
#include "spec/schema/yaml_document.h"

namespace inlier {

bool IsWandbSweep(const YamlNode& root);

// Errors name line and column. REQUIRES: IsWandbSweep(root).
absl::StatusOr<ForeignSweep> ReadWandbSweep(const YamlNode& root);

}  // namespace inlier

#endif  // INLIER_CLI_CONVERT_WANDB_READER_H_
