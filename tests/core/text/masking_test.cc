// The masking contract, statistically. (The recorded draws of the reference: packing_golden_test.cc.)
#include "core/text/masking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace inlier {
namespace {

constexpr int64_t kVocabulary = 50;
constexpr int64_t kMask = 5;

TEST(MaskingTest, ChoosesReplacesAndKeepsAtTheStatedRates) {
  const int sequences = 2000, length = 100;
  int64_t candidates = 0, selected = 0, masked = 0, kept = 0, random = 0;
  std::vector<int> random_ids(kVocabulary, 0);
  std::vector<int> by_place(length, 0);
  for (int s = 0; s < sequences; ++s) {
    RandomStream text(1, "text", s), stream(2, "mask", s);
    std::vector<int64_t> ids(length), labels(length);
    std::vector<uint8_t> special(length, 0);
    for (int i = 0; i < length; ++i) {
      ids[i] =
          10;  // One id, so that a random replacement differs from a kept token, except for one in kVocabulary.
      special[i] = text.Below(10) == 0;
    }
    const std::vector<int64_t> original = ids;
    DrawMask({.probability = 0.15, .mask_id = kMask, .vocab_size = kVocabulary}, special, stream, ids,
             labels);
    for (int i = 0; i < length; ++i) {
      candidates += !special[i];
      if (special[i]) {
        ASSERT_EQ(labels[i], kNoTarget);
        ASSERT_EQ(ids[i], original[i]);
      } else if (labels[i] == kNoTarget) {
        ASSERT_EQ(ids[i], original[i]);
      } else {
        ASSERT_EQ(labels[i], original[i]);
        ++selected;
        ++by_place[i];
        if (ids[i] == kMask) {
          ++masked;  // With the few random replacements that hit the mask's id.
        } else if (ids[i] == original[i]) {
          ++kept;
        } else {
          ++random;
          ++random_ids[ids[i]];
        }
      }
    }
  }
  const auto near = [](double seen, double p, double n) {
    EXPECT_NEAR(seen / n, p, 5 * std::sqrt(p * (1 - p) / n));
  };
  near(selected, 0.15, candidates);
  near(masked, 0.8 + 0.1 / kVocabulary, selected);
  near(kept, 0.1 + 0.1 / kVocabulary, selected);
  near(random, 0.1 * (kVocabulary - 2) / kVocabulary, selected);
  // Random ids are of the whole vocabulary, special ids included.
  double chi = 0;
  for (int64_t id = 0; id < kVocabulary; ++id) {
    if (id == kMask || id == 10) continue;
    const double expected = random / double(kVocabulary - 2);
    chi += std::pow(random_ids[id] - expected, 2) / expected;
  }
  EXPECT_LT(chi, 47 + 5 * std::sqrt(2.0 * 47)) << "chi-squared with 47 degrees of freedom";
  // Every place is equal.
  for (int i = 0; i < length; ++i) near(by_place[i], 0.15, candidates / double(length));
}

TEST(MaskingTest, TokensAreChosenIndependently) {
  const int sequences = 4000;
  int both = 0;
  for (int s = 0; s < sequences; ++s) {
    RandomStream stream(3, "mask", s);
    std::vector<int64_t> ids(2, 10), labels(2);
    DrawMask({.probability = 0.5, .mask_id = kMask, .vocab_size = kVocabulary}, std::vector<uint8_t>(2, 0),
             stream, ids, labels);
    both += labels[0] != kNoTarget && labels[1] != kNoTarget;
  }
  EXPECT_NEAR(both / double(sequences), 0.25, 5 * std::sqrt(0.25 * 0.75 / sequences));
}

TEST(MaskingTest, ProbabilityOneChoosesAllButSpecialTokens) {
  RandomStream stream(3, "mask", 0);
  std::vector<int64_t> ids = {3, 11, 12, 4}, labels(4);
  DrawMask({.probability = 1, .mask_id = kMask, .vocab_size = kVocabulary}, std::vector<uint8_t>{1, 0, 0, 1},
           stream, ids, labels);
  EXPECT_THAT(labels, testing::ElementsAre(kNoTarget, 11, 12, kNoTarget));
  EXPECT_EQ(ids[0], 3);
  EXPECT_EQ(ids[3], 4);
}

}  // namespace
}  // namespace inlier
