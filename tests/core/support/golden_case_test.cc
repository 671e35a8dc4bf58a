// The finder itself: no case is dropped silently.
#include "tests/core/support/golden_case.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstdlib>
#include <string>

#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

class GoldenCaseTest : public ::testing::Test {
 protected:
  GoldenCaseTest() {
    std::filesystem::create_directory(folder_ / "group");
    ::setenv("INLIER_GOLDEN_DIR", folder_.path().c_str(), 1);
  }
  ~GoldenCaseTest() override { ::unsetenv("INLIER_GOLDEN_DIR"); }
  void Write(const std::string& name, const std::string& json) {
    folder_.Write("group/" + name + ".json", json);
  }

  const TemporaryFolder folder_;
};

TEST_F(GoldenCaseTest, EveryFileIsFoundAndAFieldThatIsKnownToBeMissingIsNamed) {
  Write("b_known", R"({"spec": {"attention": {"softmax": {"clipped": {"gamma": -0.5}}}}})");
  Write("a_unknown", R"({"spec": {"attention": {"softmax": {"from_the_future": {"beta": 1}}}}})");
  Write("c_top", R"({"spec": {"new_part": 1}})");
  Write("e_function", R"({"expected": 3})");
  const std::vector<GoldenCase> cases =
      FindGoldenCases("group", {"attention.softmax.from_the_future", "new_part"});
  ASSERT_EQ(cases.size(), 4);
  EXPECT_EQ(cases[0].name, "a_unknown");
  EXPECT_FALSE(cases[0].spec.has_value());
  EXPECT_EQ(cases[0].needs, "attention.softmax.from_the_future");
  ASSERT_TRUE(cases[1].spec.has_value());
  EXPECT_EQ(cases[1].spec->attention().softmax().clipped().gamma(), -0.5);
  EXPECT_EQ(cases[1].needs, "");
  EXPECT_EQ(cases[2].needs, "new_part");
  EXPECT_FALSE(cases[3].spec.has_value());
  EXPECT_EQ(cases[3].needs, "");
  EXPECT_EQ(cases[3].json["expected"], 3);

  GoldenReport report("group");
  EXPECT_TRUE(report.SkipWhatIsNotSupported(cases[0]));
  EXPECT_FALSE(report.SkipWhatIsNotSupported(cases[1]));
}

TEST_F(GoldenCaseTest, ASpecificationThatCannotBeReadFailsTheTest) {
  Write("case", R"({"spec": {"attention": {"softmax": {"from_the_future": {"beta": 1}}}}})");
  EXPECT_NONFATAL_FAILURE(FindGoldenCases("group"), "name it in MissingFields()");
  Write("case", R"({"spec": {"norm": "NORM_OF_THE_FUTURE"}})");
  EXPECT_NONFATAL_FAILURE(FindGoldenCases("group", {"norm"}), "NORM_OF_THE_FUTURE");
}

TEST_F(GoldenCaseTest, ADamagedCaseAndAnEmptyGroupFailTheTest) {
  Write("broken", "{");
  EXPECT_NONFATAL_FAILURE(FindGoldenCases("group"), "not JSON");
  EXPECT_NONFATAL_FAILURE(GoldenReport("group").Finish(), "no golden case was compared in");
}

TEST_F(GoldenCaseTest, AGroupOfWhichNothingIsSupportedFailsTheTest) {
  Write("case", R"({"spec": {"new_part": 1}})");
  GoldenReport report("group");
  EXPECT_TRUE(report.SkipWhatIsNotSupported(FindGoldenCases("group", {"new_part"}).at(0)));
  EXPECT_NONFATAL_FAILURE(report.Finish(), "1 need other parts");
}

TEST_F(GoldenCaseTest, AnErrorOverItsToleranceFailsTheTest) {
  Write("case", "{}");
  GoldenCase golden = FindGoldenCases("group").at(0);
  golden.tensors["x"] = torch::tensor({1.0, 10.0});
  const auto compare = [&](double second, Tolerance tolerance) {
    GoldenReport report("group");
    GoldenComparison comparison(report, golden, at::kDouble);
    comparison.Tensor("x", torch::tensor({1.0, second}, at::kDouble), tolerance);
  };
  compare(10.09, {.relative = 0.01});
  compare(10.09, {.absolute = 0.01, .per_magnitude = true});
  EXPECT_NONFATAL_FAILURE(compare(10.09, {.absolute = 0.01}), "x is off by 0.0899");
  EXPECT_NONFATAL_FAILURE(compare(std::nan(""), {.absolute = 0.01}), "x is off by");
  EXPECT_NONFATAL_FAILURE(compare(10.11, {.relative = 0.01}), "x is off by");
}

}  // namespace
}  // namespace inlier
