// Several processes of inlier-trial train one trial: one stream of events, one checkpoint, and the end of all with the
// first that dies.

#include "tests/core/trial/trial_program.h"

namespace inlier {
namespace {

using testing::HasSubstr;

class TrialGangTest : public TrialProgramTest {
 protected:
  using Children = std::vector<std::unique_ptr<TrialChild>>;

  // Every rank of a training in folder_/<name>.
  Children StartGang(const v1::AttemptSpec& attempt, std::uint32_t processes, const std::string& name) {
    Children ranks;
    for (std::uint32_t rank = 0; rank < processes; ++rank) {
      v1::AttemptSpec own = attempt;
      own.mutable_gang()->set_rank(rank);
      own.mutable_gang()->set_processes(processes);
      own.mutable_gang()->set_meeting(folder_ / ("meeting-" + name));
      ranks.push_back(StartWith({WriteSpec(own, name + "-" + std::to_string(rank) + ".json")}));
    }
    return ranks;
  }
  // Until rank 0 has done an update.
  static void AwaitTraining(TrialChild& first) {
    while (const std::optional<v1::TrialEvent> event = first.Next()) {
      if (event->progress().phase() == "train" && event->progress().step() > 0) return;
    }
    ADD_FAILURE() << "it does not train";
  }

  const std::string long_training_ =
      "training { steps: 1000000 checkpoint_every: 1000000 measure_every: 1000 }";
};

TEST_F(TrialGangTest, RankZeroReportsForAll) {
  const Children ranks = StartGang(Attempt(v1::TRAIN_STAGE, "train"), 2, "train");
  const Ended first = Finish(*ranks[0]), second = Finish(*ranks[1]);
  EXPECT_EQ(first.outcome.kind(), v1::Outcome::SUCCEEDED) << first.outcome.message() << Log();
  EXPECT_EQ(second.outcome.kind(), v1::Outcome::SUCCEEDED) << second.outcome.message();
  ASSERT_TRUE(StartedOf(first.events));
  EXPECT_EQ(StartedOf(first.events)->processes(), 2u);
  EXPECT_EQ(Checkpoints(first.events).size(), 3u);
  EXPECT_EQ(second.events.size(), 1u) << "the outcome alone";

  const Ended alone = RunToEnd(Attempt(v1::TRAIN_STAGE, "alone"));
  const double one = FinalMeasurements(alone.events)["train_loss"];
  EXPECT_NEAR(FinalMeasurements(first.events)["train_loss"], one, 1e-4 * one);
}

TEST_F(TrialGangTest, ADeadRankEndsTheOthers) {
  const Children ranks = StartGang(Attempt(v1::TRAIN_STAGE, "train", long_training_), 4, "train");
  AwaitTraining(*ranks[0]);
  ranks[1]->Signal(SIGKILL);
  for (const int rank : {0, 2, 3}) {
    const Ended ended = Finish(*ranks[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(ended.exit_code, 1) << rank;
    EXPECT_EQ(ended.outcome.failure(), v1::CRASHED) << rank;
    EXPECT_TRUE(ended.outcome.lost_a_rank()) << rank << ": " << ended.outcome.message();
  }
}

TEST_F(TrialGangTest, ASignalToOneRankStopsAllWithOneCheckpointForAnyNumberOfRanks) {
  const v1::AttemptSpec attempt = Attempt(v1::TRAIN_STAGE, "train", long_training_);
  std::uint64_t step = 0;
  std::string checkpoint;
  for (const std::uint32_t processes : {4u, 2u, 1u}) {
    v1::AttemptSpec resumed = attempt;
    if (!checkpoint.empty()) resumed.set_resume_from(folder_ / "train" / checkpoint);
    const Children ranks = StartGang(resumed, processes, "with-" + std::to_string(processes));
    AwaitTraining(*ranks[0]);
    ranks.back()->Signal(SIGTERM);
    std::vector<v1::CheckpointSaved> saved;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const Ended ended = Finish(*ranks[rank]);
      EXPECT_EQ(ended.exit_code, 75) << ended.outcome.message() << Log();
      EXPECT_EQ(ended.outcome.failure(), v1::PREEMPTED) << rank;
      if (rank == 0) saved = Checkpoints(ended.events);
    }
    ASSERT_EQ(saved.size(), 1u);
    EXPECT_GT(saved[0].step(), step);
    step = saved[0].step();
    checkpoint = saved[0].path();
  }
}

TEST_F(TrialGangTest, WhatCannotBeAGangIsRefused) {
  v1::AttemptSpec attempt = Attempt(v1::TRAIN_STAGE, "train");
  attempt.mutable_gang()->set_processes(3);
  attempt.mutable_gang()->set_meeting(folder_ / "meeting");
  EXPECT_THAT(FailureOf(attempt, v1::INVALID_SPEC), HasSubstr("a multiple of 3"));
  attempt.mutable_gang()->set_processes(2);
  attempt.mutable_gang()->clear_meeting();
  EXPECT_THAT(FailureOf(attempt, v1::INVALID_SPEC), HasSubstr("gang.meeting is not given"));
  attempt.mutable_gang()->set_rank(2);
  EXPECT_THAT(FailureOf(attempt, v1::INVALID_SPEC), HasSubstr("ranks are counted from 0"));
}

}  // namespace
}  // namespace inlier
