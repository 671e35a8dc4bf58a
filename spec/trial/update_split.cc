#include "spec/trial/update_split.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace inlier {

absl::StatusOr<UpdateSplit> SplitUpdate(const v1::TrainingSpec& spec, std::uint64_t rank,
                                        std::uint64_t processes) {
  INLIER_CHECK(rank < processes);
  const std::uint64_t accumulation = spec.gradient_accumulation(), batch = spec.batch_size();
  UpdateSplit split;
  split.groups = std::gcd(accumulation, processes);
  split.parts = processes / split.groups;
  if (batch % split.parts != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.batch_size: ", batch, " examples times ", accumulation,
        " of training.gradient_accumulation do not split evenly over ", processes,
        " processes: with that accumulation the batch size must be a multiple of ", split.parts,
        "; change one of the two, or `resources` of the sweep"));
  }
  if (spec.has_low_precision() && split.parts > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.low_precision: a scale may cover a whole micro-batch, and ", processes,
        " processes would share each of the ", accumulation,
        " of training.gradient_accumulation: give it a multiple of the processes, or fewer `resources` of the sweep"));
  }
  if (spec.low_precision().learned_scales() && processes > 1) {
    return absl::InvalidArgumentError(
        "training.low_precision.learned_scales: scales begin with the first micro-batch of a process, and so are "
        "of one process: give `resources` of the sweep one device");
  }
  split.group = rank / split.parts;
  split.part = rank % split.parts;
  split.part_examples = batch / split.parts;
  return split;
}

}  // namespace inlier
