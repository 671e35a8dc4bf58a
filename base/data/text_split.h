// Which texts are kept for validation, by a hash of each: a fair sample even of a sorted file, independent of
// the other texts, with equal texts on one side.
//
// Thread safety: pure functions.
#ifndef INLIER_BASE_DATA_TEXT_SPLIT_H_
#define INLIER_BASE_DATA_TEXT_SPLIT_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace inlier {

// Uniform in [0, 1).
double HashOfText(std::string_view text);

struct TextSplit {
  std::vector<std::uint64_t> order;  // All texts: those for training in their order, then the others.
  std::uint64_t train = 0;           // The first of them.
};

// Validation has the texts whose hash is below `validation_fraction`, in the order of their hashes, so that the
// first of them are a fair sample too. A part may be empty.
TextSplit SplitByHash(const std::vector<double>& hashes, double validation_fraction);

// The fraction closest to `validation_fraction` that leaves a text on each side. REQUIRES: two hashes differ.
double FractionWithBothParts(const std::vector<double>& hashes, double validation_fraction);

}  // namespace inlier

#endif  // INLIER_BASE_DATA_TEXT_SPLIT_H_
