// One parameter of a sweep of Weights & Biases: its values, or the distribution that it is drawn from.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_CONVERT_WANDB_DISTRIBUTION_H_
#define INLIER_CLI_CONVERT_WANDB_DISTRIBUTION_H_

#include "absl/status/status.h"
#include "cli/convert/foreign_sweep.h"
#include "spec/schema/yaml_document.h"

namespace inlier {

// Fills all of `parameter` but its name and place. What cannot be said is told to `sweep`, whose plan
// is known. Errors name line and column.
absl::Status ReadWandbParameter(const YamlNode& node, ForeignParameter* parameter, ForeignSweep* sweep);

}  // namespace inlier

#endif  // INLIER_CLI_CONVERT_WANDB_DISTRIBUTION_H_
