#include "core/text/masking.h"

#include <vector>

#include "base/check.h"

namespace inlier {

void ApplyMask(const MaskDraws& draws, int64_t mask_id, std::span<int64_t> ids, std::span<int64_t> labels) {
  INLIER_CHECK(labels.size() == ids.size() && draws.selected.size() == ids.size());
  INLIER_CHECK(draws.to_mask.size() == ids.size() && draws.to_random.size() == ids.size());
  INLIER_CHECK(draws.random_ids.size() == ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    labels[i] = draws.selected[i] ? ids[i] : kNoTarget;
    if (!draws.selected[i]) continue;
    if (draws.to_mask[i]) {
      ids[i] = mask_id;
    } else if (draws.to_random[i]) {
      ids[i] = draws.random_ids[i];
    }
  }
}

void DrawMask(const MaskOptions& options, std::span<const uint8_t> special, RandomStream& stream,
              std::span<int64_t> ids, std::span<int64_t> labels) {
  INLIER_CHECK(special.size() == ids.size());
  const size_t length = ids.size();
  std::vector<uint8_t> selected(length), to_mask(length), to_random(length);
  std::vector<int64_t> random_ids(length);
  for (size_t i = 0; i < length; ++i) {
    // Always four draws a token, so that a token's draws depend on its place only.
    const double choose = stream.Uniform();
    to_mask[i] = stream.Uniform() < 0.8;
    to_random[i] = stream.Uniform() < 0.5;
    random_ids[i] = static_cast<int64_t>(stream.Below(options.vocab_size));
    selected[i] = !special[i] && choose < options.probability;
  }
  ApplyMask({selected, to_mask, to_random, random_ids}, options.mask_id, ids, labels);
}

}  // namespace inlier
