#include "cli/terminal/sweep_model.h"

#include <algorithm>
#include <cmath>

#include "cli/terminal/time_left.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/parse.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

Timestamp AtSecond(double seconds) { return {FromSeconds(seconds)}; }

TEST(TimeLeftTest, JumpingEstimatesMoveTheShownTimeLittle) {
  TimeLeft left;
  left.Observe(600, AtSecond(0));
  double before = 600;
  for (int second = 1; second <= 60; ++second) {
    left.Observe(second % 2 == 0 ? 300 : 900, AtSecond(second));  // The momentary speed doubles and halves.
    const double now = *left.Seconds(AtSecond(second));
    EXPECT_LT(std::abs(now - before), 15) << second;
    before = now;
  }
  EXPECT_NEAR(before, 600, 100);
}

TEST(TimeLeftTest, ANewTruthIsTakenOverAndTimePasses) {
  TimeLeft left;
  left.Observe(600, AtSecond(0));
  EXPECT_DOUBLE_EQ(*left.Seconds(AtSecond(100)), 500);
  for (int second = 1; second <= 600; ++second) left.Observe(3600, AtSecond(second));
  EXPECT_NEAR(*left.Seconds(AtSecond(600)), 3600, 400);
  left.Observe(std::nullopt, AtSecond(601));
  EXPECT_EQ(left.Text(AtSecond(601)), "");
  EXPECT_FALSE(left.Seconds(AtSecond(601)).has_value());
}

TEST(TimeLeftTest, APoorFirstEstimateIsForgottenWithinAMinute) {
  TimeLeft left;
  left.Observe(2400, AtSecond(0));
  for (int second = 1; second <= 60; ++second) left.Observe(100 - second, AtSecond(second));
  EXPECT_LT(*left.Seconds(AtSecond(60)), 360);
}

TEST(TimeLeftTest, IsShownAsCoarselyAsItIsKnown) {
  EXPECT_EQ(RoundedDuration(42), "less than a minute");
  EXPECT_EQ(RoundedDuration(204), "3 min");
  EXPECT_EQ(RoundedDuration(47 * 60), "45 min");
  EXPECT_EQ(RoundedDuration(3600 * 2 + 540), "2 h 10 min");
  EXPECT_EQ(RoundedDuration(3600 * 11 + 540), "11 h");
  EXPECT_EQ(RoundedDuration(86400 * 1.5), "1 day 12 h");
  EXPECT_EQ(RoundedDuration(86400 * 20.2), "20 days");
  TimeLeft left;
  left.Observe(700, AtSecond(0));
  EXPECT_EQ(left.Text(AtSecond(0)), "about 12 min left");
  EXPECT_EQ(left.Text(AtSecond(680)), "less than a minute left");
}

v1::SweepUpdate Progress(std::uint64_t step, double loss) {
  auto update = Parse<v1::SweepUpdate>("running { stage_id: 'st-1' attempt: 1 progress { phase: 'train' } }");
  update.mutable_running(0)->mutable_progress()->set_step(step);
  update.mutable_running(0)->mutable_progress()->set_loss(loss);
  return update;
}

TEST(SweepModelTest, LossesOfAnAttemptAreKeptOnceAStep) {
  SweepModel model;
  model.Take(Progress(1, 5), AtSecond(0));
  model.Take(Progress(1, 5), AtSecond(1));
  model.Take(Progress(2, 4), AtSecond(2));
  EXPECT_THAT(model.LossesOf(model.latest().running(0)), ElementsAre(5, 4));
  v1::SweepUpdate second = Progress(3, 9);
  second.mutable_running(0)->set_attempt(2);  // Another attempt has a curve of its own.
  model.Take(second, AtSecond(3));
  EXPECT_THAT(model.LossesOf(model.latest().running(0)), ElementsAre(9));
}

TEST(SweepModelTest, ALongCurveIsAveragedAndBounded) {
  SweepModel model;
  for (std::uint64_t step = 1; step <= 5000; ++step)
    model.Take(Progress(step, static_cast<double>(step)), AtSecond(0));
  const std::deque<double>& losses = model.LossesOf(model.latest().running(0));
  EXPECT_LE(losses.size(), SweepModel::kLossesMax);
  EXPECT_GE(losses.size(), SweepModel::kLossesMax / 2);
  EXPECT_TRUE(std::is_sorted(losses.begin(), losses.end()));
  EXPECT_LT(losses.front(), 50);
  EXPECT_GT(losses.back(), 4900);
}

TEST(SweepModelTest, ReasonsAreBounded) {
  SweepModel model;
  for (int i = 0; i < 500; ++i) {
    v1::SweepUpdate update;
    update.add_notices("FAILED, CRASHED: reason " + std::to_string(i));
    model.Take(update, AtSecond(0));
  }
  EXPECT_THAT(model.notices().Failures(), SizeIs(SweepModel::kReasonsMax));
  EXPECT_EQ(model.notices().Failures().back(), "FAILED, CRASHED: reason 499");
}

}  // namespace
}  // namespace inlier
