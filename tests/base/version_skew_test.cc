// Neighbouring minor releases work together in one direction; every refusal names both versions and the side to upgrade.
#include "base/version_skew.h"

#include <string>
#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;

TEST(VersionSkewTest, TheSameMinorReleaseAndTheOneBeforeAreTaken) {
  for (const auto& [caller, coordinator] : {std::pair("0.3.1", "0.3.1"),
                                            {"0.3.9", "0.3.1"},
                                            {"0.3.0", "0.3.1"},
                                            {"0.2.7", "0.3.1"},
                                            {"1.0.0", "1.1.0"},
                                            {"1.9.3", "1.10.0"},
                                            {"0.9", "0.10"},
                                            {"odd", "odd"}})
    EXPECT_TRUE(CheckVersionSkew("the caller is", caller, coordinator).ok()) << caller << " " << coordinator;
}

TEST(VersionSkewTest, OthersAreRefusedWithTheSideToUpgrade) {
  constexpr char kCoordinator[] = "upgrade the coordinator first";
  constexpr char kCaller[] = "upgrade the caller";
  constexpr char kBoth[] = "install the same version on both";
  for (const auto& [caller, coordinator, remedy] : {std::tuple("0.4.0", "0.3.1", kCoordinator),
                                                    {"1.0.0", "0.3.1", kCoordinator},
                                                    {"0.1.9", "0.3.0", kCaller},
                                                    {"0.9.0", "1.0.0", kCaller},
                                                    {"1.2.0", "1.10.0", kCaller},
                                                    {"", "0.3.0", kBoth},
                                                    {"0", "0.3.0", kBoth},
                                                    {"0.3x", "0.3.0", kBoth},
                                                    {"-1.3.0", "0.3.0", kBoth},
                                                    {"0.99999999999.0", "0.3.0", kBoth}}) {
    EXPECT_THAT(CheckVersionSkew("worker w runs", caller, coordinator),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr(std::string("worker w runs inlier ") + caller +
                                   " and this coordinator inlier " + coordinator + "; " + remedy)))
        << caller << " " << coordinator;
  }
}

TEST(VersionSkewTest, AnEndlessVersionIsNotQuotedWhole) {
  const absl::Status status = CheckVersionSkew("the caller is", std::string(5000, '7'), "0.3.0");
  EXPECT_LT(status.message().size(), 300u);
}

}  // namespace
}  // namespace inlier
