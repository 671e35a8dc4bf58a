#include "coordinator/metrics/live_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// "s-1 one RUNNING = 2" for each series of the family.
std::vector<std::string> Lines(Harness& harness, const std::string& family, std::size_t sweeps_max = 20,
                               const std::map<SweepId, std::vector<SweepValue>>& stored = {}) {
  std::vector<std::string> lines;
  const State& state = harness.state();
  const auto series = LiveSeries(state, LatestSweeps(state, sweeps_max), stored);
  for (const GaugeSample& sample : series.at(family)) {
    std::ostringstream value;
    value << sample.value;
    lines.push_back(absl::StrJoin(sample.labels, " ") + " = " + value.str());
  }
  return lines;
}

using LiveMetricsTest = OneWorkerTest;

TEST_F(LiveMetricsTest, AnActiveSweepHasSeriesUntilItEnds) {
  Lease(SmallSweep("one", 3), HandWorker("w", 2));
  EXPECT_THAT(Lines(harness, "inlier_sweep_trials"),
              ElementsAre("s-1 one PENDING = 1", "s-1 one RUNNING = 2", "s-1 one SUCCEEDED = 0",
                          "s-1 one DIVERGED = 0", "s-1 one FAILED = 0", "s-1 one CANCELLED = 0"));
  EXPECT_THAT(Lines(harness, "inlier_sweep_work_done_ratio"), ElementsAre("s-1 one = 0"));
  EXPECT_THAT(Lines(harness, "inlier_sweep_left_seconds"), IsEmpty());  // Nothing has a rate yet.
  for (const auto& [token, assignment] : worker.running()) worker.SetProgress(token, "train", 50);
  const Token token = worker.running().begin()->first;
  harness.Report(worker, token, MeasurementEvent("loss", 4.5, false));
  EXPECT_THAT(Lines(harness, "inlier_sweep_left_seconds"), SizeIs(1));
  EXPECT_THAT(Lines(harness, "inlier_sweep_best"), ElementsAre("s-1 one loss FLOAT = 4.5"));
  harness.CancelSweep(sweep);
  for (const MetricSpec& spec : LiveMetricTable())
    EXPECT_THAT(Lines(harness, spec.name), IsEmpty()) << spec.name;
}

TEST_F(LiveMetricsTest, ALiveAttemptHasSeriesUntilItEnds) {
  const Token token = Lease(SmallSweep("one", 1));
  worker.SetProgress(token, "train", 30);
  harness.Report(worker, token, MeasurementEvent("max_inf_norm", 21, false));
  const std::string labels = "s-1 t-1 TRAIN worker-w seed=1, bits=8";
  EXPECT_THAT(Lines(harness, "inlier_attempt_step"), ElementsAre(labels + " = 30"));
  EXPECT_THAT(Lines(harness, "inlier_attempt_steps_per_second"), ElementsAre(labels + " = 10"));
  EXPECT_THAT(Lines(harness, "inlier_attempt_loss"), IsEmpty());  // It reports none.
  EXPECT_THAT(Lines(harness, "inlier_attempt_latest"), ElementsAre(labels + " max_inf_norm = 21"));
  harness.Finish(worker, token);
  EXPECT_THAT(Lines(harness, "inlier_attempt_latest"), IsEmpty());
}

TEST_F(LiveMetricsTest, TheBestIsThatOfStoredAndLiveNumbers) {
  Lease(SmallSweep("one", 1));
  harness.Report(worker, MeasurementEvent("loss", 4.5, false));
  const auto stored = [&](const char* name, const char* setting, double best) {
    return std::map<SweepId, std::vector<SweepValue>>{{sweep,
                                                       {{.name = name,
                                                         .better = FindMeasurement(name)->better,
                                                         .setting = setting,
                                                         .best = best,
                                                         .latest = std::nullopt}}}};
  };
  const auto best = [&](const auto& of) { return Lines(harness, "inlier_sweep_best", 20, of); };
  EXPECT_THAT(best(stored("loss", "FLOAT", 4)), ElementsAre("s-1 one loss FLOAT = 4"));
  EXPECT_THAT(best(stored("loss", "FLOAT", 5)), ElementsAre("s-1 one loss FLOAT = 4.5"));
  const auto of_another = stored("perplexity", "W8A8", 40);
  EXPECT_THAT(best(of_another), ElementsAre("s-1 one loss FLOAT = 4.5", "s-1 one perplexity W8A8 = 40"));
  EXPECT_THAT(Lines(harness, "inlier_sweep_latest", 20, of_another), ElementsAre("s-1 one loss FLOAT = 4.5"));
}

TEST_F(LiveMetricsTest, OnlyTheLatestSweepsAndTheirAttemptsHaveSeries) {
  for (const char* name : {"one", "two", "three"}) {
    v1::SweepSpec sweep = SmallSweep(name, 1);
    sweep.mutable_base()->mutable_training()->set_steps(100 + name[1]);  // No stage in common.
    harness.Submit(sweep);
  }
  worker = harness.Connect("w", 3);
  EXPECT_THAT(Lines(harness, "inlier_sweep_paused", 2), ElementsAre("s-2 two = 0", "s-3 three = 0"));
  EXPECT_THAT(Lines(harness, "inlier_attempt_step", 2), SizeIs(2));
  EXPECT_THAT(Lines(harness, "inlier_attempt_step", 20), SizeIs(3));
  EXPECT_THAT(Lines(harness, "inlier_sweep_paused", 0), IsEmpty());
  EXPECT_THAT(Lines(harness, "inlier_attempt_step", 0), IsEmpty());
}

TEST_F(LiveMetricsTest, TheSeriesOfAttemptsAreBounded) {
  harness.SkipInvariants();
  harness.Submit(SmallSweep("many", 1200));
  worker = HandWorker("w", 1200);
  for (int i = 0; i < 10; ++i) {
    harness.Tick();
    harness.Sync(worker);
  }
  ASSERT_GT(worker.running().size(), kAttemptsWithMetricsMax);
  EXPECT_THAT(Lines(harness, "inlier_attempt_step"), SizeIs(kAttemptsWithMetricsMax));
}

}  // namespace
}  // namespace inlier
