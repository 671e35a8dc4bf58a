#include "base/data/text_split.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/random_stream.h"

namespace inlier {

double HashOfText(std::string_view text) { return RandomStream(/*seed=*/0, text).Uniform(); }

TextSplit SplitByHash(const std::vector<double>& hashes, double validation_fraction) {
  TextSplit split;
  std::vector<std::uint64_t> validation;
  for (std::uint64_t i = 0; i < hashes.size(); ++i)
    (hashes[i] < validation_fraction ? validation : split.order).push_back(i);
  std::ranges::stable_sort(validation,
                           [&hashes](std::uint64_t a, std::uint64_t b) { return hashes[a] < hashes[b]; });
  split.train = split.order.size();
  split.order.insert(split.order.end(), validation.begin(), validation.end());
  return split;
}

double FractionWithBothParts(const std::vector<double>& hashes, double validation_fraction) {
  const auto [smallest, largest] = std::minmax_element(hashes.begin(), hashes.end());
  INLIER_CHECK(smallest != hashes.end() && *smallest < *largest);
  return std::clamp(validation_fraction, std::nextafter(*smallest, 1), *largest);
}

}  // namespace inlier
