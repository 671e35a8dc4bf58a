// Changes that the schema itself refuses or ignores.
#include <SQLiteCpp/SQLiteCpp.h>

#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class InvariantsTest : public StoreTest {
 protected:
  template <typename... Changes>
  std::string Error(Changes... changes) {
    const absl::StatusOr<ApplyStats> stats = Apply(std::move(changes)...);
    if (stats.ok()) return "OK";
    EXPECT_EQ(stats.status().code(), absl::StatusCode::kInternal);
    return std::string(stats.status().message());
  }
  // Number of changes dropped.
  template <typename... Changes>
  int Fenced(Changes... changes) {
    return static_cast<int>(Apply(std::move(changes)...).value().fenced);
  }
};

TEST_F(InvariantsTest, StageHasAtMostOneLiveAttempt) {
  MustStart();
  EXPECT_THAT(Error(Start(2, 1, 2)), HasSubstr("UNIQUE constraint failed"));
  EXPECT_THAT(Rows("SELECT token FROM attempt"), ElementsAre("1"));
}

TEST_F(InvariantsTest, StageMayRunAgainAfterItsAttemptFailed) {
  MustAddTrial();
  MustApply(Start(1, 1), Fail(1, v1::CRASHED), Start(2, 1, 2));
  EXPECT_THAT(Rows("SELECT token, outcome, failure FROM attempt"),
              ElementsAre("1|FAILED|CRASHED", "2|NULL|NULL"));
}

TEST_F(InvariantsTest, TokensOnlyGrow) {
  MustAddTrial();
  MustApply(Train(3), Start(5, 1));
  EXPECT_THAT(Error(Start(4, 3)), HasSubstr("the token is not above all earlier ones"));
  EXPECT_THAT(Error(Start(5, 3)), HasSubstr("the token is not above all earlier ones"));
  MustApply(Start(6, 3));
}

TEST_F(InvariantsTest, TokensGrowEvenAfterAttemptsWereDeleted) {
  MustAddTrial();
  MustApply(Start(9, 1), Fail(9, v1::LOST));
  database_->connection().exec("DELETE FROM attempt");
  EXPECT_THAT(Error(Start(9, 1)), HasSubstr("the token is not above all earlier ones"));
  EXPECT_EQ(store_->Load()->next_token, 10u);
}

TEST_F(InvariantsTest, StaleTokenWritesNothing) {
  MustAddTrial();
  MustApply(Start(1, 1), Fail(1, v1::LOST), Start(2, 1, 2));
  AttemptInfo info{.token = 1, .started = {}, .at = {}};
  info.started.set_host("zombie");
  EXPECT_EQ(Fenced(Point(1, "train_loss", 5, 1.0), LogRow{1, "still here", {1}}, Checkpoint(1, 200, true),
                   info, End(1, v1::SUCCEEDED)),
            5);
  EXPECT_THAT(Rows("SELECT * FROM measurement"), IsEmpty());
  EXPECT_THAT(Rows("SELECT * FROM log"), IsEmpty());
  EXPECT_THAT(Rows("SELECT * FROM artifact"), IsEmpty());
  EXPECT_THAT(Rows("SELECT state, result_token, checkpoint FROM stage WHERE id = 1"),
              ElementsAre("PENDING|NULL|NULL"));
  EXPECT_THAT(Rows("SELECT token, outcome, host FROM attempt"), ElementsAre("1|FAILED|NULL", "2|NULL|NULL"));
}

TEST_F(InvariantsTest, UnknownTokenWritesNothing) {
  MustAddTrial();
  EXPECT_EQ(Fenced(Point(7, "train_loss", 5, 1.0), End(7, v1::SUCCEEDED)), 2);
  EXPECT_THAT(Rows("SELECT * FROM measurement"), IsEmpty());
}

TEST_F(InvariantsTest, ResultIsGivenOnce) {
  MustTrain();
  EXPECT_EQ(Fenced(End(1, v1::DIVERGED)), 1);
  EXPECT_THAT(Rows("SELECT state, result_token, checkpoint FROM stage WHERE id = 1"),
              ElementsAre("SUCCEEDED|1|" + ModelDigest(1, 200)));
  EXPECT_THAT(Error(Start(2, 1, 2)), HasSubstr("the stage already has its result"));
}

TEST_F(InvariantsTest, StateOfAResultNeverChanges) {
  MustTrain();
  for (const StageState state : {v1::PENDING, v1::RUNNING, v1::DIVERGED, v1::FAILED, v1::CANCELLED}) {
    EXPECT_THAT(Error(StageChange{.id = StageId(1), .state = state, .failures = {}, .message = ""}),
                HasSubstr("stage: a terminal state never changes"));
  }
}

TEST_F(InvariantsTest, FailedStageChangesOnlyByARetry) {
  MustAddTrial();
  MustApply(
      StageChange{.id = StageId(1), .state = v1::FAILED, .failures = {.crashes = 2}, .message = "crashed"});
  EXPECT_THAT(Error(StageChange{.id = StageId(1), .state = v1::CANCELLED, .failures = {}, .message = ""}),
              HasSubstr("never changes"));
  EXPECT_THAT(Error(Start(1, 1)), HasSubstr("never changes"));
  MustApply(StageChange{.id = StageId(1), .state = v1::PENDING, .failures = {}, .message = ""}, Start(1, 1));
}

TEST_F(InvariantsTest, TrialSucceedsOnlyWithItsStages) {
  MustAddTrial();
  const TrialChange succeeded = TrialIs(1, v1::SUCCEEDED);
  EXPECT_THAT(Error(succeeded), HasSubstr("SUCCEEDED although a stage has not succeeded"));
  MustApply(Start(1, 1), Checkpoint(1, 200, true), End(1, v1::SUCCEEDED));
  EXPECT_THAT(Error(succeeded), HasSubstr("SUCCEEDED although a stage has not succeeded"));
  MustApply(Start(2, 2), End(2, v1::SUCCEEDED), succeeded);
  EXPECT_THAT(Error(TrialIs(1, v1::PENDING)), HasSubstr("trial: a terminal state never changes"));
}

TEST_F(InvariantsTest, KnownTrialMayNotClaimAResultThatIsNotThere) {
  MustAddTrial();
  TrialRow trial = Trial(2, 1, 1, 1, 2);
  trial.state = v1::SUCCEEDED;
  EXPECT_THAT(Error(trial), HasSubstr("SUCCEEDED although a stage has not succeeded"));
}

TEST_F(InvariantsTest, EvaluationWaitsForTheCommittedCheckpoint) {
  MustAddTrial();
  EXPECT_THAT(Error(Start(1, 2)), HasSubstr("the checkpoint of the train stage is not committed"));
  MustApply(Start(1, 1), Checkpoint(1, 200, true));
  EXPECT_THAT(Error(Start(2, 2)), HasSubstr("the checkpoint of the train stage is not committed"));
  MustApply(End(1, v1::SUCCEEDED), Start(2, 2));
}

TEST_F(InvariantsTest, TrainingCannotSucceedWithoutACheckpoint) {
  MustAddTrial();
  MustApply(Start(1, 1), Checkpoint(1, 100, false));
  EXPECT_THAT(Error(End(1, v1::SUCCEEDED)), HasSubstr("CHECK constraint failed"));
}

TEST_F(InvariantsTest, PointOfASweepIsOneTrial) {
  MustAddTrial();
  EXPECT_THAT(Error(Trial(2, 1, 0, 1, 2)), HasSubstr("UNIQUE constraint failed: trial.sweep, trial.point"));
}

TEST_F(InvariantsTest, RequestIsStoredOnce) {
  SweepRow sweep = Sweep(1);
  sweep.request_id = "r-1";
  MustApply(sweep);
  sweep.id = SweepId(2);
  EXPECT_THAT(Error(sweep), HasSubstr("UNIQUE constraint failed: sweep.request_id"));
  MustApply(Sweep(3), Sweep(4));  // Without an id as many as one likes.
}

TEST_F(InvariantsTest, RowsOfUnknownThingsAreErrors) {
  EXPECT_THAT(Error(Trial(1, 1, 0, 1, 2)), HasSubstr("FOREIGN KEY constraint failed"));
  EXPECT_THAT(Error(TrialIs(7, v1::FAILED)), HasSubstr("t-7 is not in the database"));
  EXPECT_THAT(Error(StageChange{.id = StageId(7), .state = v1::FAILED, .failures = {}, .message = ""}),
              HasSubstr("st-7 is not in the database"));
  EXPECT_THAT(Error(WorkerAcknowledged{"unknown", 3}), HasSubstr("worker unknown is not in the database"));
}

TEST_F(InvariantsTest, BrokenBatchChangesNothing) {
  MustAddTrial();
  EXPECT_THAT(Error(Start(1, 1), Point(1, "train_loss", 1, 2.0), Start(2, 1, 2)), HasSubstr("UNIQUE"));
  EXPECT_THAT(Rows("SELECT * FROM attempt"), IsEmpty());
  EXPECT_THAT(Rows("SELECT state FROM stage WHERE id = 1"), ElementsAre("PENDING"));
  MustApply(Start(1, 1));
}

TEST_F(InvariantsTest, MeasurementsAreAppendOnly) {
  MustAddTrial();
  MustApply(Start(1, 1), Point(1, "train_loss", 1, 2.0));
  EXPECT_THROW(database_->connection().exec("UPDATE measurement SET value = 0"), SQLite::Exception);
  EXPECT_THROW(database_->connection().exec("DELETE FROM measurement"), SQLite::Exception);
}

TEST_F(InvariantsTest, AcknowledgedSequenceNeverGoesBack) {
  const WorkerRow worker{.incarnation = "w-uuid",
                         .name = "n",
                         .host = "h",
                         .version = "0.1.0",
                         .slots = 1,
                         .devices = {"cpu"},
                         .last_seen = {1}};
  MustApply(worker, WorkerAcknowledged{"w-uuid", 9}, WorkerAcknowledged{"w-uuid", 4}, worker);
  EXPECT_EQ(store_->Load()->workers[0].acknowledged_sequence, 9u);
}

TEST_F(InvariantsTest, RowsOfTheAuditNeverChange) {
  MustApply(
      AuditRow{.at = {1000}, .caller = "alice", .method = "Cancel", .sweep = SweepId(1), .outcome = "OK"});
  for (const char* sql : {"UPDATE audit_entry SET caller = 'bob'", "DELETE FROM audit_entry",
                          "DELETE FROM audit_entry WHERE outcome = 'OK'"}) {
    EXPECT_THROW(database_->connection().exec(sql), SQLite::Exception) << sql;
  }
  EXPECT_THAT(Rows("SELECT who, method, sweep_id, trial, worker, outcome, digest, calls FROM audit"),
              ElementsAre("alice|Cancel|s-1|NULL|NULL|OK|NULL|1"));
}

}  // namespace
}  // namespace inlier
