#include "spec/trial/measurements.h"

#include <fstream>
#include <set>
#include <sstream>

#include "gtest/gtest.h"
#include "tests/spec/measurements_page.h"

namespace inlier {
namespace {

TEST(MeasurementsTest, NamesAreUniqueAndEveryOneIsExplained) {
  std::set<std::string> names;
  for (const MeasurementInfo& info : Measurements()) {
    EXPECT_TRUE(names.insert(std::string(info.name)).second) << info.name;
    EXPECT_FALSE(info.formula.empty()) << info.name;
    EXPECT_FALSE(info.unit.empty()) << info.name;
    EXPECT_TRUE(info.source == "train" || info.source == "evaluate") << info.name;
    EXPECT_TRUE(info.axis.empty() || info.axis == "step" || info.axis == "site") << info.name;
    EXPECT_TRUE(info.final || info.curve) << info.name;
    EXPECT_TRUE(info.curve || info.axis != "step") << info.name;
    EXPECT_FALSE(info.curve && info.axis == "site") << info.name << ": single layers are results only";
  }
}

TEST(MeasurementsTest, BetterDirectionIsKnownWhereThereIsOne) {
  EXPECT_EQ(FindMeasurement("perplexity")->better, Better::kLower);
  EXPECT_EQ(FindMeasurement("max_inf_norm")->better, Better::kLower);
  EXPECT_EQ(FindMeasurement("accuracy")->better, Better::kHigher);
  EXPECT_EQ(FindMeasurement("tokens_per_second")->better, Better::kHigher);
  EXPECT_EQ(FindMeasurement("gate_mean")->better, Better::kNone);
}

TEST(MeasurementsTest, FindsByName) {
  ASSERT_NE(FindMeasurement("perplexity"), nullptr);
  EXPECT_EQ(FindMeasurement("perplexity")->formula, "exp(loss)");
  EXPECT_EQ(FindMeasurement("ppl"), nullptr);
}

TEST(MeasurementsTest, ThePageIsUpToDate) {
  std::ifstream file(INLIER_SOURCE_DIR "/docs/reference/measurements.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_TRUE(page.str() == MeasurementsMarkdown()) << "run: ninja -C <build> update_reference";
}

}  // namespace
}  // namespace inlier
