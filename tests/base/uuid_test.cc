#include "base/uuid.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

TEST(UuidTest, IsOfVersionFourAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string uuid = RandomUuid();
    ASSERT_EQ(uuid.size(), 36u);
    ASSERT_EQ(uuid[14], '4') << uuid;
    ASSERT_NE(std::string("89ab").find(uuid[19]), std::string::npos) << uuid;
    for (std::size_t j = 0; j < uuid.size(); ++j) {
      const bool dash = j == 8 || j == 13 || j == 18 || j == 23;
      ASSERT_EQ(uuid[j] == '-', dash) << uuid;
      if (!dash) {
        ASSERT_NE(std::string("0123456789abcdef").find(uuid[j]), std::string::npos) << uuid;
      }
    }
    ASSERT_TRUE(seen.insert(uuid).second);
  }
}

}  // namespace
}  // namespace inlier
