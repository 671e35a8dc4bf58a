// How the processes of a gang share the examples of an update.
//
// An update is gradient_accumulation micro-batches of batch_size examples. With g the greatest common divisor of the
// accumulation and the number of processes, micro-batch i belongs to group i mod g, and the processes / g ranks of a
// group hold equal, consecutive parts of each of its micro-batches. So an example has the same place in the same
// micro-batch, and the same mask and dropout, with any number of processes. Rounded operands (training.low_precision) have
// scales over a whole micro-batch, which is then of one rank.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_TRIAL_UPDATE_SPLIT_H_
#define INLIER_SPEC_TRIAL_UPDATE_SPLIT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "inlier/v1/training_spec.pb.h"

namespace inlier {

// The share of one rank.
struct UpdateSplit {
  std::uint64_t groups = 1;
  std::uint64_t group = 0;  // Its micro-batches: group, group + groups, …
  std::uint64_t parts = 1;  // Ranks of the group.
  std::uint64_t part = 0;   // Its examples of each: [part * part_examples, (part + 1) * part_examples).
  std::uint64_t part_examples = 0;  // batch_size / parts.
};

// InvalidArgument, with the remedy, where the shares cannot be equal or a part of a micro-batch would be rounded otherwise. REQUIRES: `spec` is resolved; rank < processes.
absl::StatusOr<UpdateSplit> SplitUpdate(const v1::TrainingSpec& spec, std::uint64_t rank,
                                        std::uint64_t processes);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_UPDATE_SPLIT_H_
