#include "coordinator/removal/removal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/sweep/sweep_reader.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using testing::HasSubstr;

class RemovalTest : public testing::Test {
 protected:
  // A sweep whose trials have their results.
  SweepId Ended(const v1::SweepSpec& spec) {
    const SweepId sweep = harness_.Submit(spec);
    RunAll(harness_, worker_);
    EXPECT_EQ(harness_.Status(sweep).state(), v1::COMPLETE);
    return sweep;
  }
  absl::StatusOr<v1::RemoveSweepResponse> Remove(SweepId sweep, bool cancel = false) {
    auto request = OfSweep<v1::RemoveSweepRequest>(sweep);
    request.set_cancel(cancel);
    return harness_.Ask(&RemoveSweep, request);
  }
  absl::StatusOr<v1::RestoreSweepResponse> Restore(const std::string& sweep) {
    return harness_.Ask(&RestoreSweep, OfSweep<v1::RestoreSweepRequest>(sweep));
  }
  std::set<StageId> TrainingsOf(const Freed& freed) {
    std::set<StageId> trainings;
    for (const StageId id : freed.stages) {
      if (harness_.state().stages.at(id).kind == v1::TRAIN_STAGE) trainings.insert(id);
    }
    return trainings;
  }

  Freed Collect(const std::vector<StageId>& models = {}) {
    Effects effects;
    Freed freed = harness_.orchestrator().OnFree(models, harness_.now(), effects);
    harness_.Commit(std::move(effects));
    return freed;
  }
  // Until the freed stages are empty.
  void Empty() {
    for (int i = 0; i < 50 && !harness_.state().models.freed.empty(); ++i)
      harness_.TickAfter(std::chrono::milliseconds(20));
    EXPECT_TRUE(harness_.state().models.freed.empty());
  }
  std::string Count(const std::string& what) { return harness_.Query("SELECT count(*) FROM " + what); }
  StageId Training(int trial) { return harness_.state().trials.at(TrialId(trial)).train; }

  Harness harness_;
  HandWorker worker_{"w", 1};
};

TEST_F(RemovalTest, ARemovedSweepIsNowhereAndComesBackAsItWas) {
  const SweepId older = Ended(SmallSweep("s", 1));
  const SweepId sweep = Ended(SmallSweep("s", 2));
  const std::string before = DurableState(harness_.state());
  const v1::RemoveSweepResponse answer = Remove(sweep).value();
  EXPECT_EQ(answer.trials(), 2u);
  EXPECT_EQ(answer.results(), 2u);
  EXPECT_EQ(answer.trainings(), 1u);  // Seed 1 is also the older one's.
  EXPECT_EQ(answer.shared(), 1u);
  harness_.Restart();
  EXPECT_EQ(FindSweep(harness_.state(), "s", "").value(), older);
  const std::string why(FindSweep(harness_.state(), "s-2", "").status().message());
  EXPECT_EQ(why, "sweep s-2 was removed; `inlier restore s-2` brings it back");
  EXPECT_THAT(std::string(FindTrial(harness_.state(), "t-3").status().message()),
              HasSubstr("t-3 is of sweep s-2, which was removed"));
  EXPECT_EQ(ListSweeps(harness_.state(), {}, harness_.now().at)->sweeps_size(), 1);
  v1::ListSweepsRequest removed;
  removed.set_removed(true);
  EXPECT_EQ(ListSweeps(harness_.state(), removed, harness_.now().at)->sweeps(0).sweep_id(), "s-2");
  for (const absl::Status& refused :
       {harness_.Ask(&Retry, OfSweep<v1::RetryRequest>(sweep)).status(),
        harness_.Ask(&Cancel, OfTrial<v1::CancelRequest>("t-2")).status(), Remove(sweep).status()})
    EXPECT_EQ(refused.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Restore("s")->changed());  // The removed one of the name, though another has it.
  EXPECT_FALSE(Restore("s-2")->changed());
  EXPECT_EQ(FindSweep(harness_.state(), "s", "").value(), sweep);
  // Only the notices about it are new.
  EXPECT_EQ(harness_.Status(sweep).trials().succeeded(), 2u);
  EXPECT_EQ(before.size(), DurableState(harness_.state()).size());
}

TEST_F(RemovalTest, OfSeveralRemovedOnesOfANameTheNewestComesBackFirst) {
  Remove(Ended(SmallSweep("s", 1))).value();
  Remove(Ended(SmallSweep("s", 2))).value();
  EXPECT_EQ(Restore("s")->sweep_id(), "s-2");
  EXPECT_EQ(Restore("s")->sweep_id(), "s-1");
}

TEST_F(RemovalTest, ASweepThatRunsIsCancelledFirst) {
  const SweepId sweep = harness_.Submit(SmallSweep("s", 3));
  harness_.Sync(worker_);
  EXPECT_EQ(
      std::string(Remove(sweep).status().message()),
      "sweep s-1 (s) has not ended: 3 of its trials run or wait; cancel it first, or `inlier remove s-1 "
      "--cancel`");
  EXPECT_EQ(Remove(sweep, /*cancel=*/true)->open(), 3u);
  EXPECT_TRUE(harness_.state().attempts.empty());
  harness_.Restart();
}

TEST_F(RemovalTest, WhatOtherSweepsNeedStaysWhenItIsFreed) {
  const SweepId kept = Ended(SmallSweep("kept", 1));
  const SweepId gone = Ended(SmallSweep("gone", 3, {8, 6}));
  const std::string results = harness_.Query("SELECT * FROM results WHERE sweep = 'kept'");
  Remove(gone).value();
  EXPECT_EQ(Count("results"), "1\n");
  const Freed freed = Collect();
  EXPECT_EQ(freed.sweeps, std::set<SweepId>{gone});
  EXPECT_EQ(TrainingsOf(freed), (std::set<StageId>{Training(4), Training(6)}));  // Seeds 2 and 3.
  EXPECT_EQ(Count("measurement"), "6\n");
  harness_.Restart();  // The rest of the rows goes after it.
  Empty();
  harness_.Restart();
  EXPECT_EQ(Count("measurement"), "3\n");  // Of kept, W6 of the training that it has, and the latest row.
  EXPECT_EQ(harness_.Query("SELECT * FROM results WHERE sweep = 'kept'"), results);
  EXPECT_THAT(std::string(Restore("gone").status().message()),
              HasSubstr("cannot be restored: `inlier gc` has freed it for good; submit it again"));
  EXPECT_EQ(Collect().sweeps, std::set<SweepId>());
  EXPECT_EQ(harness_.Status(kept).trials().succeeded(), 1u);
}

TEST_F(RemovalTest, AFreedSweepThatIsSubmittedAgainRunsAgain) {
  const SweepId gone = Ended(SmallSweep("s", 2));
  Remove(gone).value();
  Collect();
  Empty();
  const auto again = harness_.TrySubmit(SmallSweep("s", 2)).value();
  EXPECT_EQ(again.sweep_id(), "s-2");  // An id is never given again.
  EXPECT_EQ(again.trials_known(), 0u);
  EXPECT_EQ(RunAll(harness_, worker_), 4u);
  EXPECT_EQ(Count("results"), "2\n");
  EXPECT_EQ(harness_.Query("SELECT previous FROM stage WHERE id = 5"), "1\n");
  harness_.Restart();
}

TEST_F(RemovalTest, ARemovedSweepThatIsSubmittedAgainHasItsResultsAndKeepsThem) {
  Remove(Ended(SmallSweep("s", 1))).value();
  harness_.Submit(SmallSweep("s", 1));
  EXPECT_EQ(RunAll(harness_, worker_), 0u);
  EXPECT_TRUE(Collect().stages.empty());
  EXPECT_EQ(Count("results"), "1\n");
}

TEST_F(RemovalTest, TheTrainingThatOthersStartFromStays) {
  const SweepId base = Ended(SmallSweep("base", 1));
  v1::SweepSpec tuned = SmallSweep("tuned", 1);
  tuned.mutable_base()->mutable_training()->mutable_start_from()->set_trial("t-1");
  tuned.mutable_base()->mutable_training()->set_steps(110);
  const SweepId after = Ended(tuned);
  Remove(base).value();
  EXPECT_TRUE(Collect().stages.empty());
  Remove(after).value();
  EXPECT_EQ(TrainingsOf(Collect()), (std::set<StageId>{Training(1), Training(2)}));
  tuned.set_name("third");
  EXPECT_THAT(std::string(harness_.TrySubmit(tuned).status().message()),
              HasSubstr("the model of t-1 was removed by `inlier gc`"));
}

TEST_F(RemovalTest, TheTrainingsThatTrialsStillToBeMadeStartFromStay) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.expand_ahead = 1;
  harness_.RestartAs(options);
  const SweepId base = Ended(SmallSweep("base", 2));
  const SweepId tuned = harness_.Submit(
      ReadSweepText(
          "name: tuned\n"
          "base: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, "
          "training: {steps: 110}}\n"
          "axes:\n"
          "  - {name: start, variants: [{label: a, set: {training: {start_from: {trial: t-1}}}},\n"
          "                             {label: b, set: {training: {start_from: {trial: t-2}}}}]}\n",
          "s.yaml")
          .value());
  ASSERT_EQ(harness_.state().sweeps.at(tuned).trials.size(), 1u);
  EXPECT_TRUE(Collect({Training(2)}).models.empty());
  Remove(base).value();
  harness_.Restart();
  EXPECT_TRUE(Collect().stages.empty());
  RunAll(harness_, worker_);
  EXPECT_EQ(harness_.Status(tuned).trials().succeeded(), 2u);
}

TEST_F(RemovalTest, AModelThatIsLetGoKeepsItsResultsAndIsTrainedAgainForOthers) {
  const SweepId sweep = Ended(SmallSweep("s", 2));
  EXPECT_EQ(Collect({Training(1)}).models, std::set<StageId>{Training(1)});
  harness_.Restart();
  EXPECT_EQ(harness_.Status(sweep).trials().succeeded(), 2u);
  harness_.Submit(SmallSweep("same", 2));
  EXPECT_EQ(RunAll(harness_, worker_), 0u);  // It has the results.
  harness_.Submit(SmallSweep("more", 2, {6}));
  EXPECT_EQ(RunAll(harness_, worker_), 3u);  // Seed 1 is trained again.
}

TEST_F(RemovalTest, AModelStaysWhileAnEvaluationOfItHasNoResult) {
  harness_.Submit(SmallSweep("s", 1, {8, 6}));
  harness_.Sync(worker_);
  harness_.Finish(worker_);  // The training.
  EXPECT_TRUE(Collect({Training(1)}).models.empty());
  harness_.Finish(worker_);
  harness_.CancelTrial(2);
  EXPECT_TRUE(Collect({Training(1)}).models.empty());  // It may be retried.
}

TEST_F(RemovalTest, OnlyItsOwnerAndAdminsRemoveAndRestore) {
  const SweepId hers = harness_.SubmitAs(Harness::Named("alice"), SmallSweep("s", 1));
  RunAll(harness_, worker_);
  harness_.SetCaller(Harness::Named("bob"));
  EXPECT_EQ(Remove(hers).status().code(), absl::StatusCode::kPermissionDenied);
  harness_.SetCaller(Harness::Named("alice"));
  EXPECT_THAT(Remove(hers), IsOk());
  harness_.SetCaller(Harness::Named("bob"));
  EXPECT_EQ(Restore("s-1").status().code(), absl::StatusCode::kPermissionDenied);
  harness_.SetCaller(Harness::Named("root", /*admin=*/true));
  EXPECT_THAT(Restore("s-1"), IsOk());
}

TEST_F(RemovalTest, ByNameEachRestoresTheirOwn) {
  harness_.SubmitAs(Harness::Named("alice"), SmallSweep("s", 1));
  const SweepId his = harness_.SubmitAs(Harness::Named("bob"), SmallSweep("s", 1));
  RunAll(harness_, worker_);
  harness_.SetCaller(Harness::Named("bob"));
  EXPECT_THAT(Remove(his), IsOk());
  EXPECT_EQ(Restore("s")->sweep_id(), his.ToString());  // Though alice has one that is not removed.
}

TEST_F(RemovalTest, TheDatabaseHoldsWhatMustNotBeDeleted) {
  Ended(SmallSweep("s", 1));
  EXPECT_ANY_THROW(harness_.Query("DELETE FROM measurement"));
  EXPECT_ANY_THROW(harness_.Query("UPDATE sweep SET freed = 1"));
}

}  // namespace
}  // namespace inlier
