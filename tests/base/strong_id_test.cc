#include "base/strong_id.h"

#include <type_traits>
#include <unordered_set>

#include "gtest/gtest.h"

namespace inlier {
namespace {

struct TrialTag {
  static constexpr std::string_view kPrefix = "t-";
};
struct StageTag {
  static constexpr std::string_view kPrefix = "g-";
};
using Trial = StrongId<TrialTag>;
using Stage = StrongId<StageTag>;

static_assert(!std::is_convertible_v<Trial, Stage> && !std::is_convertible_v<std::int64_t, Trial>,
              "kinds never mix");

TEST(StrongIdTest, ItsTextReadsBack) {
  EXPECT_EQ(Trial(17).ToString(), "t-17");
  EXPECT_EQ(Trial::Parse("t-17"), Trial(17));
  EXPECT_EQ(Trial::Parse("t-9223372036854775807")->value(), INT64_MAX);
}

TEST(StrongIdTest, OtherTextsNameNothing) {
  for (const char* text :
       {"", "t-", "17", "g-17", "t-0", "t--1", "t-1x", "t- 1", "t-9223372036854775808", "T-1"}) {
    EXPECT_EQ(Trial::Parse(text), std::nullopt) << text;
  }
  EXPECT_FALSE(Trial());
  EXPECT_TRUE(Trial(1));
}

TEST(StrongIdTest, IsAKeyOfOrderedAndHashedContainers) {
  EXPECT_LT(Trial(1), Trial(2));
  const std::unordered_set<Trial> trials = {Trial(1), Trial(2), Trial(1)};
  EXPECT_EQ(trials.size(), 2u);
}

}  // namespace
}  // namespace inlier
