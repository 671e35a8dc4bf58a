// Where workers keep their artifacts apart, a stage waits a little for the one that has its checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/state/feature.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// `holder` trains and is then busy with another training; the evaluation is ready.
class LocalityTest : public testing::Test {
 protected:
  void Begin(bool keeps_artifacts, OrchestratorOptions options = Harness::DefaultOptions()) {
    harness_ = std::make_unique<Harness>(options);
    harness_->Submit(SmallSweep("s", 1));
    holder_.fields().set_keeps_artifacts(keeps_artifacts);
    other_.fields().set_keeps_artifacts(keeps_artifacts);
    harness_->Sync(holder_);
    harness_->Sync(other_);
    ASSERT_TRUE(other_.running().empty());
    holder_.Finish(1);
    // Its outcome is taken while the store has no space for leases: another worker may come first.
    harness_->Sync(holder_, {.grant_leases = false});
  }

  std::unique_ptr<Harness> harness_;
  HandWorker holder_{"holder", 1}, other_{"other", 1};
};

TEST_F(LocalityTest, AnEvaluationWaitsForTheWorkerThatTrained) {
  Begin(/*keeps_artifacts=*/true);
  EXPECT_EQ(harness_->Sync(other_).desired_size(), 0);
  EXPECT_EQ(harness_->Sync(holder_).desired_size(), 1);
  // Nothing is left to wait for.
  harness_->TickAfter(seconds(3));
  EXPECT_EQ(harness_->Sync(other_).desired_size(), 0);
}

TEST_F(LocalityTest, NoLongerThanTheTimeThatIsConfigured) {
  Begin(/*keeps_artifacts=*/true);
  EXPECT_EQ(*NextDeadline(harness_->state()), harness_->now().at + seconds(2));
  harness_->TickAfter(milliseconds(1999));
  EXPECT_EQ(harness_->Sync(other_).desired_size(), 0);
  harness_->TickAfter(milliseconds(1));
  EXPECT_EQ(harness_->Sync(other_).desired_size(), 1);
}

TEST_F(LocalityTest, NoEvaluationWaitsWhereArtifactsAreShared) {
  Begin(/*keeps_artifacts=*/false);
  EXPECT_EQ(harness_->Sync(other_).desired_size(), 1);
}

TEST_F(LocalityTest, NoEvaluationWaitsWithoutAConfiguredTime) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.locality_wait = Duration::zero();
  Begin(/*keeps_artifacts=*/true, options);
  EXPECT_EQ(harness_->Sync(other_).desired_size(), 1);
}

TEST_F(LocalityTest, NoEvaluationWaitsAfterARestart) {
  Begin(/*keeps_artifacts=*/true);
  harness_->Restart();
  EXPECT_EQ(harness_->Sync(other_).desired_size(), 1);
}

TEST_F(LocalityTest, AListeningWorkerIsPushedTheEvaluationThatWaitsForIt) {
  Begin(/*keeps_artifacts=*/true);
  harness_->orchestrator().SetListening("holder", true);
  Effects effects;
  harness_->orchestrator().Offer(harness_->now(), /*grant_leases=*/true, effects);
  ASSERT_EQ(effects.pushes.size(), 1u);
  EXPECT_EQ(effects.pushes.at("holder").desired_size(), 1);
  harness_->Commit(std::move(effects));
}

using LocalityOfTrainingTest = OneWorkerTest;

TEST_F(LocalityOfTrainingTest, APreemptedTrainingResumesWhereItsCheckpointIs) {
  sweep = harness.Submit(SmallSweep("s", 1));
  HandWorker holder("holder", 1), other("other", 1);
  holder.fields().set_keeps_artifacts(true);
  harness.Sync(holder);
  ASSERT_TRUE(harness.PauseSweep(sweep, /*now=*/true).ok());
  holder.Emit(1, CheckpointEvent(40, false));
  harness.Report(holder, 1, FailureEvent(v1::PREEMPTED, "stopped"));
  ASSERT_TRUE(harness.ResumeSweep(sweep));
  EXPECT_EQ(harness.Sync(other).desired_size(), 0);
  EXPECT_EQ(harness.Sync(holder).desired_size(), 1);
}

TEST_F(LocalityOfTrainingTest, ACrashedTrainingResumesOnAnyWorker) {
  harness.Submit(SmallSweep("s", 1));
  HandWorker holder("holder", 1), other("other", 1);
  holder.fields().set_keeps_artifacts(true);
  harness.Sync(holder);
  holder.Emit(1, CheckpointEvent(40, false));
  harness.Report(holder, 1, FailureEvent(v1::CRASHED, "signal 11"));
  // A crash waits a little in any case.
  harness.TickAfter(seconds(2));
  EXPECT_EQ(harness.Sync(other).desired_size(), 1);
}

}  // namespace
}  // namespace inlier
