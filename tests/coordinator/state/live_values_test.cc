#include "coordinator/state/live_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace inlier {
namespace {

using testing::SizeIs;

const MeasurementInfo& Info(const char* name) { return *FindMeasurement(name); }

TEST(LatestPointsTest, EachCurveHasItsLatestPointInTheOrderOfTheTable) {
  LatestPoints points;
  points.Take(Info("train_loss"), 10, 3);
  points.Take(Info("loss"), 10, 4);
  points.Take(Info("max_inf_norm"), 10, 20);
  points.Take(Info("loss"), 20, 3.5);
  points.Take(Info("train_loss"), 20, 2);
  ASSERT_THAT(points.all(), SizeIs(3));
  EXPECT_EQ(points.all()[0].info->name, "loss");
  EXPECT_EQ(points.all()[0].step, 20u);
  EXPECT_EQ(points.all()[0].value, 3.5);
  EXPECT_EQ(points.all()[1].info->name, "max_inf_norm");
  EXPECT_EQ(points.all()[2].info->name, "train_loss");
  EXPECT_EQ(points.all()[2].value, 2);
}

TEST(LatestPointsTest, NeverMorePointsThanMeasurements) {
  LatestPoints points;
  for (int round = 0; round < 3; ++round) {
    for (const MeasurementInfo& info : Measurements()) points.Take(info, 1, round);
  }
  EXPECT_THAT(points.all(), SizeIs(Measurements().size()));
}

TEST(SweepValuesTest, TheBestIsTheLowestButForAccuracy) {
  SweepValues values;
  for (const double value : {3.0, 2.0, 5.0}) {
    values.Take(Info("perplexity"), "W8A8", value);
    values.Take(Info("accuracy"), "W8A8", value);
  }
  ASSERT_THAT(values.all(), SizeIs(2));
  EXPECT_EQ(values.all()[0].best, 2);
  EXPECT_EQ(values.all()[0].latest, 5);
  EXPECT_EQ(values.all()[1].best, 5);
}

TEST(SweepValuesTest, SettingsAreApart) {
  SweepValues values;
  values.Take(Info("perplexity"), "FLOAT", 10);
  values.Take(Info("perplexity"), "W8A8", 40);
  ASSERT_THAT(values.all(), SizeIs(2));
  EXPECT_EQ(values.all()[0].setting, "FLOAT");
  EXPECT_EQ(values.all()[0].best, 10);
  EXPECT_EQ(values.all()[1].best, 40);
}

TEST(SweepValuesTest, NotANumberIsNeverTheBest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  SweepValues values;
  values.Take(Info("loss"), "FLOAT", nan);
  EXPECT_TRUE(std::isnan(values.all()[0].best));
  values.Take(Info("loss"), "FLOAT", 4);
  values.Take(Info("loss"), "FLOAT", nan);
  EXPECT_EQ(values.all()[0].best, 4);
  EXPECT_TRUE(std::isnan(*values.all()[0].latest));
}

TEST(SweepValuesTest, SettingsAreBounded) {
  SweepValues values;
  for (int bits = 0; bits < 1000; ++bits) values.Take(Info("loss"), "W" + std::to_string(bits), 1);
  EXPECT_LE(values.all().size(), 100u);
}

TEST(SweepValuesTest, ASettingIsNamedByItsBits) {
  EXPECT_EQ(SettingText(8, 8), "W8A8");
  EXPECT_EQ(SettingText(4, 0), "W4");
  EXPECT_EQ(SettingText(0, 8), "A8");
  EXPECT_EQ(SettingText(0, 0), "FLOAT");
}

TEST(SweepValuesTest, OnlyTheMeasurementsThatPeopleWatch) {
  EXPECT_TRUE(SweepValues::Has(Info("avg_kurtosis")));
  EXPECT_FALSE(SweepValues::Has(Info("gradient_norm")));
}

}  // namespace
}  // namespace inlier
