// Sequences computed on demand against the same texts joined in memory. (The reference's cases:
// packing_golden_test.cc.)
#include "core/text/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random_stream.h"
#include "tests/core/text/pack_texts.h"

namespace inlier {
namespace {

TEST(PackedTextsTest, EqualsJoiningTheTextsWithTheirSpecialTokens) {
  for (uint64_t round = 0; round < 400; ++round) {
    RandomStream stream(1, "packing", round);
    PackedTexts::Options options;
    options.sequence_length = 1 + static_cast<int64_t>(stream.Below(12));
    options.texts_per_group = 1 + static_cast<int64_t>(stream.Below(6));
    options.short_group = stream.Below(2) ? ShortGroup::kKeep : ShortGroup::kDrop;
    options.before_text.assign(stream.Below(3), -1);
    options.after_text.assign(stream.Below(3), -2);

    std::vector<int64_t> joined;
    std::vector<uint64_t> begins = {0};
    std::vector<std::vector<int64_t>> texts;
    for (uint64_t i = stream.Below(20); i > 0; --i) {
      std::vector<int64_t> text = options.before_text;
      for (uint64_t k = stream.Below(2) ? stream.Below(9) : 0; k > 0; --k) {
        joined.push_back(static_cast<int64_t>(joined.size()));
        text.push_back(joined.back());
      }
      text.insert(text.end(), options.after_text.begin(), options.after_text.end());
      texts.push_back(text);
      begins.push_back(joined.size());
    }
    const auto expected =
        PackTexts(texts, options.sequence_length, options.short_group, options.texts_per_group);

    const PackedTexts packed(options, begins, [&joined](uint64_t begin, std::span<int64_t> ids) {
      std::copy_n(joined.begin() + begin, ids.size(), ids.begin());
    });
    ASSERT_EQ(packed.size(), static_cast<int64_t>(expected.size())) << round;
    for (int64_t i = 0; i < packed.size(); ++i) {
      ASSERT_EQ(packed.LengthOf(i), static_cast<int64_t>(expected[i].size()));
      std::vector<int64_t> ids(expected[i].size());
      std::vector<uint8_t> special(ids.size(), 9);
      packed.Read(i, ids, special);
      ASSERT_EQ(ids, expected[i]) << round << " sequence " << i;
      for (size_t k = 0; k < ids.size(); ++k) ASSERT_EQ(special[k], ids[k] < 0);
    }
  }
}

// A head in front of T - 1 ids of the joined texts: the sequences without a head of T - 1, one longer.
TEST(PackedTextsTest, AHeadIsInFrontOfEverySequence) {
  for (uint64_t round = 0; round < 200; ++round) {
    RandomStream stream(2, "packing", round);
    PackedTexts::Options options;
    options.sequence_length = 1 + static_cast<int64_t>(stream.Below(9));
    options.texts_per_group = 1 + static_cast<int64_t>(stream.Below(4));
    options.short_group = stream.Below(2) ? ShortGroup::kKeep : ShortGroup::kDrop;
    options.before_text = {-1};
    std::vector<uint64_t> begins = {0};
    for (uint64_t i = stream.Below(12); i > 0; --i) begins.push_back(begins.back() + stream.Below(9));
    const auto read = [](uint64_t begin, std::span<int64_t> ids) {
      std::iota(ids.begin(), ids.end(), static_cast<int64_t>(begin));
    };
    const PackedTexts plain(options, begins, read);
    options.head = -3;
    ++options.sequence_length;
    const PackedTexts headed(options, begins, read);
    ASSERT_EQ(headed.size(), plain.size());
    for (int64_t i = 0; i < plain.size(); ++i) {
      ASSERT_EQ(headed.LengthOf(i), plain.LengthOf(i) + 1);
      std::vector<int64_t> expected(plain.LengthOf(i) + 1, -3), ids(expected.size());
      std::vector<uint8_t> expected_special(expected.size(), 1), special(expected.size(), 9);
      plain.Read(i, std::span(expected).subspan(1), std::span(expected_special).subspan(1));
      headed.Read(i, ids, special);
      ASSERT_EQ(ids, expected) << round;
      ASSERT_EQ(special, expected_special) << round;
    }
  }
}

TEST(PackTextsTest, AShortGroupIsKeptOrDropped) {
  const std::vector<std::vector<int64_t>> texts = {{1, 2, 3, 4, 5}, {6, 7}};
  using testing::ElementsAre;
  EXPECT_THAT(PackTexts(texts, 3, ShortGroup::kKeep, 1),
              ElementsAre(ElementsAre(1, 2, 3), ElementsAre(6, 7)));
  EXPECT_THAT(PackTexts(texts, 3, ShortGroup::kDrop, 1), ElementsAre(ElementsAre(1, 2, 3)));
  EXPECT_THAT(PackTexts(texts, 3, ShortGroup::kKeep, 2),
              ElementsAre(ElementsAre(1, 2, 3), ElementsAre(4, 5, 6)));
}

}  // namespace
}  // namespace inlier
