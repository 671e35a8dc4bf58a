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
  split.group = rank / split.parts;
  split.part = rank % split.parts;
  split.part_examples = batch / split.parts;
  return split;
}

}  // namespace inlier
