// The log of a run of Weights & Biases (run-ID.wandb): records in the blocks of LevelDB's log, each part with a checksum.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_IMPORT_WANDB_LOG_H_
#define INLIER_CLI_IMPORT_WANDB_LOG_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace inlier {

// As ForEachRecord (event_file.h).
absl::Status ForEachWandbRecord(
    std::string_view bytes, const std::string& file,
    const std::function<absl::Status(std::string_view, const std::string&)>& visit);

}  // namespace inlier

#endif  // INLIER_CLI_IMPORT_WANDB_LOG_H_
