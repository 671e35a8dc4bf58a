#include "base/version.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

TEST(VersionTest, TheBuildIsTheVersionAndTheCommit) {
  EXPECT_THAT(Version(), ::testing::ContainsRegex("^[0-9]+\\.[0-9]+\\.[0-9]+$"));
  EXPECT_THAT(BuildId(), ::testing::StartsWith(Version() + "+"));
  EXPECT_GT(BuildId().size(), Version().size() + 6);
}

}  // namespace
}  // namespace inlier
