// The schedule by hand-computed values, and the stretch of the reference's final_lr_fraction.
#include "core/optim/lr_schedule.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

v1::ScheduleSpec Linear(unsigned warmup, double final_fraction) {
  v1::ScheduleSpec spec;
  spec.set_warmup_steps(warmup);
  spec.mutable_linear()->set_final_fraction(final_fraction);
  return spec;
}

TEST(LrScheduleTest, FirstUpdateOfAWarmUpHasRateZeroAndThePeakComesAtItsEnd) {
  const LrSchedule schedule = MakeLrSchedule(Linear(4, 0), 1e-3, 10);
  EXPECT_EQ(schedule.At(0), 0.0);
  EXPECT_DOUBLE_EQ(schedule.At(1), 2.5e-4);
  EXPECT_DOUBLE_EQ(schedule.At(4), 1e-3);
}

TEST(LrScheduleTest, LinearFallsToZeroAtTheLastStepAndStaysThere) {
  const LrSchedule schedule = MakeLrSchedule(Linear(4, 0), 1e-3, 10);
  EXPECT_DOUBLE_EQ(schedule.At(7), 5e-4);
  EXPECT_EQ(schedule.At(10), 0.0);
  EXPECT_EQ(schedule.At(11), 0.0);
}

TEST(LrScheduleTest, WithoutWarmUpTheFirstUpdateHasThePeak) {
  EXPECT_DOUBLE_EQ(MakeLrSchedule(Linear(0, 0), 1e-3, 10).At(0), 1e-3);
}

TEST(LrScheduleTest, ConstantKeepsThePeakAfterTheWarmUp) {
  v1::ScheduleSpec spec;
  spec.set_warmup_steps(2);
  spec.mutable_constant();
  const LrSchedule schedule = MakeLrSchedule(spec, 3e-3, 10);
  EXPECT_DOUBLE_EQ(schedule.At(1), 1.5e-3);
  EXPECT_DOUBLE_EQ(schedule.At(9), 3e-3);
  EXPECT_DOUBLE_EQ(schedule.At(1000000), 3e-3);
}

TEST(LrScheduleTest, FinalFractionStretchesWarmUpAndTotalAsTheReferenceDoes) {
  // w = 5/30, e = 0.3: a = 1 / (1 - 25/30 * 0.3) = 4/3, so 6 and 40.
  const LrSchedule schedule = MakeLrSchedule(Linear(5, 0.3), 2e-3, 30);
  EXPECT_EQ(schedule.warmup, 6);
  EXPECT_EQ(schedule.total, 40);
  EXPECT_DOUBLE_EQ(schedule.At(1), 2e-3 / 6);
  EXPECT_DOUBLE_EQ(schedule.At(30), 2e-3 * 10.0 / 34.0);
}

TEST(LrScheduleTest, TheStretchIsTruncatedToWholeUpdates) {
  // w = 3/10, e = 0.1: a = 1 / 0.93 = 1.075…: int(3.2) = 3, int(10.75) = 10, so nothing changes.
  const LrSchedule schedule = MakeLrSchedule(Linear(3, 0.1), 1.0, 10);
  EXPECT_EQ(schedule.warmup, 3);
  EXPECT_EQ(schedule.total, 10);
}

TEST(LrScheduleTest, FinalFractionOneNeverFalls) {
  const LrSchedule schedule = MakeLrSchedule(Linear(0, 1), 1.0, 10);
  EXPECT_EQ(schedule.At(9), 1.0);
  EXPECT_EQ(schedule.At(10), 1.0);
}

TEST(LrScheduleTest, CosineFallsToItsFinalFractionAtTheLastStep) {
  v1::ScheduleSpec spec;
  spec.set_warmup_steps(4);
  spec.mutable_cosine()->set_final_fraction(0.2);
  const LrSchedule schedule = MakeLrSchedule(spec, 1.0, 12);
  EXPECT_EQ(schedule.At(0), 0.0);
  EXPECT_DOUBLE_EQ(schedule.At(2), 0.5);
  EXPECT_DOUBLE_EQ(schedule.At(4), 1.0);
  EXPECT_DOUBLE_EQ(schedule.At(8), 0.6);  // Half way from 1 to 0.2.
  EXPECT_DOUBLE_EQ(schedule.At(12), 0.2);
  EXPECT_DOUBLE_EQ(schedule.At(16), 0.6);  // The cosine rises again.
}

TEST(LrScheduleTest, CosineWithoutAFinalFractionEndsAtZero) {
  v1::ScheduleSpec spec;
  spec.mutable_cosine();
  EXPECT_DOUBLE_EQ(MakeLrSchedule(spec, 1.0, 10).At(5), 0.5);
  EXPECT_EQ(MakeLrSchedule(spec, 1.0, 10).At(10), 0.0);
}

v1::ScheduleSpec Wsd(v1::WsdScheduleSpec::Form form, double final_fraction) {
  v1::ScheduleSpec spec;
  spec.set_warmup_steps(2);
  spec.mutable_wsd()->set_form(form);
  spec.mutable_wsd()->set_decay_steps(4);
  spec.mutable_wsd()->set_final_fraction(final_fraction);
  return spec;
}

TEST(LrScheduleTest, WsdStaysAtThePeakAndDecaysAtTheEnd) {
  for (const auto form :
       {v1::WsdScheduleSpec::LINEAR, v1::WsdScheduleSpec::ONE_MINUS_SQRT, v1::WsdScheduleSpec::COSINE}) {
    const LrSchedule schedule = MakeLrSchedule(Wsd(form, 0.2), 10.0, 12);
    EXPECT_EQ(schedule.At(0), 0.0);
    EXPECT_DOUBLE_EQ(schedule.At(1), 5.0);
    for (const int k : {2, 5, 8}) EXPECT_DOUBLE_EQ(schedule.At(k), 10.0) << form << k;
    EXPECT_LT(schedule.At(9), 10.0);
    EXPECT_DOUBLE_EQ(schedule.At(12), 2.0);
  }
  EXPECT_DOUBLE_EQ(MakeLrSchedule(Wsd(v1::WsdScheduleSpec::LINEAR, 0), 10.0, 12).At(9), 7.5);
  EXPECT_DOUBLE_EQ(MakeLrSchedule(Wsd(v1::WsdScheduleSpec::ONE_MINUS_SQRT, 0), 10.0, 12).At(9), 5.0);
  EXPECT_DOUBLE_EQ(MakeLrSchedule(Wsd(v1::WsdScheduleSpec::COSINE, 0), 10.0, 12).At(10), 5.0);
}

TEST(LrScheduleTest, WsdWithoutAStablePartIsTheDecayAlone) {
  v1::ScheduleSpec wsd;
  wsd.mutable_wsd()->set_form(v1::WsdScheduleSpec::LINEAR);
  wsd.mutable_wsd()->set_decay_fraction(1);
  for (const int k : {0, 3, 10})
    EXPECT_EQ(MakeLrSchedule(wsd, 1e-3, 10).At(k), MakeLrSchedule(Linear(0, 0), 1e-3, 10).At(k));
  wsd.set_warmup_steps(4);  // Of fewer updates than the decay leaves.
  EXPECT_EQ(MakeLrSchedule(wsd, 1e-3, 10).stable, 0);
}

TEST(LrScheduleTest, ExplicitArgumentsReproduceTheStretchedScheduleOfAccumulationInTheReferencesMlmScript) {
  // The reference multiplies warm-up and total by the accumulation count there, but steps once an update.
  const LrSchedule schedule{LrSchedule::Decay::kLinear, 1.0, 3 * 2, 10 * 2};
  EXPECT_DOUBLE_EQ(schedule.At(3), 0.5);
  EXPECT_DOUBLE_EQ(schedule.At(10), 10.0 / 14.0);
}

}  // namespace
}  // namespace inlier
