// Load() gives back all that was applied, also after the file was closed and opened again.
#include <SQLiteCpp/SQLiteCpp.h>

#include <cmath>

#include "spec/trial/canonical.h"
#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SnapshotTest : public StoreTest {
 protected:
  Snapshot Load() {
    Reopen();
    return store_->Load().value();
  }
};

TEST_F(SnapshotTest, NewDatabaseIsEmptyAndCountsFromOne) {
  const Snapshot snapshot = Load();
  EXPECT_THAT(snapshot.sweeps, IsEmpty());
  EXPECT_THAT(snapshot.stages, IsEmpty());
  EXPECT_EQ(snapshot.next_token, 1u);
}

TEST_F(SnapshotTest, SweepComesBackWithItsSpecAndRequest) {
  SweepRow sweep = Sweep(1);
  sweep.points = 0x7fffffffffffffffu;
  sweep.request_id = "r-1";
  sweep.request_digest = "d-1";
  sweep.trials_known = 2;
  v1::Axis* axis = sweep.spec.add_axes();
  axis->set_field("attention.softmax.clipped.gamma");
  axis->add_values()->set_number_value(-0.003);
  MustApply(sweep, SweepChange{.id = SweepId(1), .state = {}, .next_point = 17, .at = {}});
  const Snapshot snapshot = Load();
  ASSERT_EQ(snapshot.sweeps.size(), 1u);
  const SweepRow& record = snapshot.sweeps[0];
  EXPECT_EQ(record.spec.SerializeAsString(), sweep.spec.SerializeAsString());
  EXPECT_EQ(record.state, v1::ACTIVE);
  EXPECT_EQ(record.points, 0x7fffffffffffffffu);
  EXPECT_EQ(record.trials, 4u);
  EXPECT_EQ(record.trials_known, 2u);
  EXPECT_EQ(record.next_point, 17u);
  EXPECT_EQ(record.request_id, "r-1");
  EXPECT_EQ(record.request_digest, "d-1");
  EXPECT_EQ(record.submitted_at, WallTime{1000});
  EXPECT_FALSE(record.ended_at.has_value());
}

TEST_F(SnapshotTest, EndOfASweepIsSetAndTakenBack) {
  MustApply(Sweep(1),
            SweepChange{.id = SweepId(1), .state = v1::STOPPED_BY_FAILURES, .next_point = {}, .at = {7000}});
  Snapshot snapshot = Load();
  EXPECT_EQ(snapshot.sweeps[0].state, v1::STOPPED_BY_FAILURES);
  EXPECT_EQ(snapshot.sweeps[0].ended_at, WallTime{7000});
  MustApply(SweepChange{.id = SweepId(1), .state = v1::ACTIVE, .next_point = {}, .at = {8000}});
  snapshot = Load();
  EXPECT_EQ(snapshot.sweeps[0].state, v1::ACTIVE);
  EXPECT_FALSE(snapshot.sweeps[0].ended_at.has_value());
}

TEST_F(SnapshotTest, LiveAttemptComesBackWithItsToken) {
  MustAddTrial();
  MustApply(
      Start(41, 1), Fail(41, v1::OUT_OF_MEMORY),
      StageChange{.id = StageId(1), .state = v1::PENDING, .failures = {.out_of_memory = 1}, .message = ""},
      Start(42, 1, 2, 100));
  const Snapshot snapshot = Load();
  ASSERT_EQ(snapshot.live_attempts.size(), 1u);
  const AttemptRow& live = snapshot.live_attempts[0];
  EXPECT_EQ(live.token, 42u);
  EXPECT_EQ(live.stage, StageId(1));
  EXPECT_EQ(live.number, 2u);
  EXPECT_EQ(live.worker, "w-uuid");
  EXPECT_EQ(live.resume_step, 100u);
  EXPECT_EQ(snapshot.next_token, 43u);
  ASSERT_EQ(snapshot.stages.size(), 2u);
  EXPECT_EQ(snapshot.stages[0].state, v1::RUNNING);
  const StageRow& train = snapshot.stages[0];
  EXPECT_EQ(train.id, StageId(1));
  EXPECT_EQ(train.attempts, 2u);
  EXPECT_EQ(train.failures, (StageFailures{.out_of_memory = 1}));
  EXPECT_EQ(train.spec_json, Train(1).spec_json);
  EXPECT_EQ(snapshot.stages[1].spec_json, Evaluate(2, 1).spec_json);
  EXPECT_EQ(snapshot.stages[1].kind, v1::EVALUATE_STAGE);
  EXPECT_EQ(snapshot.stages[1].train_stage, StageId(1));
  EXPECT_EQ(HexOf(snapshot.stages[1].fingerprint), Sha256Hex("f2"));
}

TEST_F(SnapshotTest, TrialsComeBackAndEndedOnesWithoutTheirTexts) {
  MustTrain();
  MustApply(Start(2, 2), End(2, v1::SUCCEEDED), TrialIs(1, v1::SUCCEEDED), Trial(2, 1, 1, 1, 2),
            TrialIs(2, v1::FAILED, "no memory"));
  const Snapshot snapshot = Load();
  ASSERT_EQ(snapshot.trials.size(), 2u);
  EXPECT_EQ(snapshot.trials[0].state, v1::SUCCEEDED);
  EXPECT_EQ(snapshot.trials[1].state, v1::FAILED);
  EXPECT_EQ(snapshot.trials[0].labels_json, "");
  EXPECT_EQ(snapshot.trials[1].message, "no memory");
  EXPECT_EQ(snapshot.trials[1].labels_json, R"({"gamma":"-0.03","seed":"1"})");
  EXPECT_EQ(snapshot.trials[1].point, 1u);
  EXPECT_EQ(snapshot.trials[1].train_stage, StageId(1));
  ASSERT_EQ(snapshot.stages.size(), 2u);
  EXPECT_EQ(HexOf(snapshot.stages[0].checkpoint.value()), ModelDigest(1, 200));
  EXPECT_FALSE(snapshot.stages[1].checkpoint.has_value());
}

TEST_F(SnapshotTest, LatestCheckpointIsTheOneToResumeFrom) {
  MustAddTrial();
  MustApply(Start(1, 1), Checkpoint(1, 100, false), Checkpoint(1, 200, false), Fail(1, v1::LOST),
            Start(2, 1, 2, 100), Checkpoint(2, 150, false));
  const Snapshot snapshot = Load();
  ASSERT_EQ(snapshot.checkpoints.size(), 3u);
  EXPECT_EQ(snapshot.checkpoints[0].stage, StageId(1));
  EXPECT_EQ(snapshot.checkpoints[0].token, 1u);
  EXPECT_EQ(snapshot.checkpoints[0].step, 200u);
  EXPECT_EQ(snapshot.checkpoints[0].path, "attempts/1/200.safetensors");
  // To be tried where that one cannot be used.
  EXPECT_EQ(snapshot.checkpoints[1].step, 150u);
  EXPECT_EQ(snapshot.checkpoints[2].step, 100u);
}

TEST_F(SnapshotTest, ACheckpointThatALaterAttemptCouldNotUseIsNotTriedAgain) {
  MustAddTrial();
  AttemptInfo began{.token = 2, .started = {}, .at = {}};
  began.started.set_resumed_step(100);
  MustApply(Start(1, 1), Checkpoint(1, 100, false), Checkpoint(1, 200, false), Fail(1, v1::LOST),
            Start(2, 1, 2, 200), began, Checkpoint(2, 150, false));
  const Snapshot snapshot = Load();
  ASSERT_EQ(snapshot.checkpoints.size(), 2u);
  EXPECT_EQ(snapshot.checkpoints[0].step, 150u);
  EXPECT_EQ(snapshot.checkpoints[1].step, 100u);
}

TEST_F(SnapshotTest, OfEqualStepsTheLaterCheckpointCounts) {
  MustAddTrial();
  MustApply(Start(1, 1), Checkpoint(1, 100, false), Fail(1, v1::LOST), Start(2, 1, 2),
            Checkpoint(2, 100, false));
  EXPECT_EQ(Load().checkpoints[0].token, 2u);
}

// A coordinator that died between the final checkpoint and the outcome must not resume from a file without
// optimizer state.
TEST_F(SnapshotTest, AFinalCheckpointWithoutAResultIsNotResumedFrom) {
  MustAddTrial();
  MustApply(Start(1, 1), Checkpoint(1, 150, false), Checkpoint(1, 200, true));
  const Snapshot snapshot = Load();
  ASSERT_EQ(snapshot.checkpoints.size(), 1u);
  EXPECT_EQ(snapshot.checkpoints[0].step, 150u);
}

TEST_F(SnapshotTest, AStageWithAResultComesBackWithItsStepsAndItsModel) {
  StageRow train = Train(1), evaluate = Evaluate(2, 1);
  train.steps = 900;
  evaluate.steps = 900;
  MustApply(Sweep(1), train, evaluate, Trial(1, 1, 0, 1, 2));
  MustApply(Start(1, 1), Checkpoint(1, 900, false), Fail(1, v1::LOST), Start(2, 1, 2),
            Checkpoint(2, 200, true), End(2, v1::SUCCEEDED));
  const Snapshot snapshot = Load();
  EXPECT_TRUE(snapshot.checkpoints.empty());
  ASSERT_EQ(snapshot.stages.size(), 2u);
  EXPECT_EQ(snapshot.stages[0].steps, 900u);
  EXPECT_EQ(snapshot.stages[1].steps, 900u);
  EXPECT_EQ(HexOf(snapshot.stages[0].checkpoint.value()), ModelDigest(2, 200));
  EXPECT_EQ(snapshot.stages[1].state, v1::PENDING);
}

TEST_F(SnapshotTest, ATrainingKeepsItsSpecificationWhileAnEvaluationOfItHasNoResult) {
  MustTrain();
  EXPECT_EQ(Load().stages[0].spec_json, Train(1).spec_json);
  MustApply(Start(2, 2), End(2, v1::SUCCEEDED));
  for (const StageRow& stage : Load().stages) EXPECT_EQ(stage.spec_json, "");
}

TEST_F(SnapshotTest, OfManyStagesEverythingComesBackToo) {
  MustTrain();
  MustApply(Sweep(2, "more"), Train(3), Evaluate(4, 3), Trial(2, 2, 0, 3, 4));
  MustApply(Start(2, 3), Checkpoint(2, 50, false), Fail(2, v1::LOST), Start(3, 3, 2, 50));
  MustApply(WorkerRow{.incarnation = "w-uuid",
                      .name = "here",
                      .host = "h",
                      .version = "1",
                      .slots = 1,
                      .devices = {"cpu"},
                      .draining = false,
                      .connected = true,
                      .last_seen = {7}});
  const Snapshot snapshot = Load();
  ASSERT_EQ(snapshot.sweeps.size(), 2u);
  EXPECT_EQ(snapshot.sweeps[1].spec.name(), "more");
  ASSERT_EQ(snapshot.stages.size(), 4u);
  EXPECT_EQ(snapshot.stages[0].state, v1::SUCCEEDED);
  EXPECT_EQ(snapshot.stages[2].id, StageId(3));
  EXPECT_EQ(snapshot.stages[2].state, v1::RUNNING);
  EXPECT_EQ(HexOf(snapshot.stages[3].fingerprint), Sha256Hex("f4"));
  EXPECT_EQ(HexOf(snapshot.stages[0].checkpoint.value()), ModelDigest(1, 200));
  EXPECT_EQ(snapshot.stages[2].attempts, 2u);
  EXPECT_EQ(snapshot.stages[3].attempts, 0u);
  ASSERT_EQ(snapshot.trials.size(), 2u);
  EXPECT_EQ(snapshot.trials[1].state, v1::RUNNING);
  ASSERT_EQ(snapshot.live_attempts.size(), 1u);
  EXPECT_EQ(snapshot.live_attempts[0].token, 3u);
  ASSERT_EQ(snapshot.checkpoints.size(), 1u);
  EXPECT_EQ(snapshot.checkpoints[0].step, 50u);
  EXPECT_EQ(snapshot.workers.size(), 1u);
  EXPECT_EQ(snapshot.next_token, 4u);
}

TEST_F(SnapshotTest, ARowThatCannotBeReadIsDataLoss) {
  MustApply(Sweep(1), Train(1));
  database_->connection().exec("UPDATE sweep SET spec = '{\"axes\": 7}'");
  EXPECT_EQ(store_->Load().status().code(), absl::StatusCode::kDataLoss);
  database_->connection().exec("UPDATE sweep SET spec = '{\"name\": \"a\"}'");
  EXPECT_TRUE(store_->Load().ok());
  database_->connection().exec("UPDATE stage SET fingerprint = X'00'");
  EXPECT_EQ(store_->Load().status().code(), absl::StatusCode::kDataLoss);
  database_->connection().exec("UPDATE stage SET fingerprint = zeroblob(32)");
  EXPECT_TRUE(store_->Load().ok());
  database_->connection().exec("ALTER TABLE trial RENAME TO elsewhere");
  EXPECT_NE(std::string(store_->Load().status().message()).find("no such table: trial"), std::string::npos);
}

TEST_F(SnapshotTest, AxesOfEveryFormComeBackAsTheyWere) {
  SweepRow sweep = Sweep(1);
  const auto axis = [&sweep](const char* field) {
    sweep.spec.add_axes()->set_field(field);
    return sweep.spec.mutable_axes(sweep.spec.axes_size() - 1);
  };
  v1::Axis* numbers = axis("seed");
  for (const double value :
       {1.0, -0.003, 1e-300, 4294967295.0, 9007199254740992.0, 1e22, 0.30000000000000004})
    numbers->add_values()->set_number_value(value);
  v1::Axis* words = axis("norm");
  words->add_values()->set_string_value("LAYER_NORM");
  words->add_values()->set_number_value(2);
  words->add_values()->set_bool_value(true);
  axis("training.steps");
  v1::Axis* zip = sweep.spec.add_axes();
  zip->add_zip("seed");
  zip->add_values()->mutable_list_value()->add_values()->set_number_value(7);
  sweep.spec.add_axes()->add_variants()->set_label("plain \"\xc3\xa9\"");
  axis("seed")->mutable_range()->set_max(1e-5);
  MustApply(sweep);
  const Snapshot snapshot = Load();
  ASSERT_EQ(snapshot.sweeps.size(), 1u);
  EXPECT_EQ(snapshot.sweeps[0].spec.SerializeAsString(), sweep.spec.SerializeAsString());
}

TEST_F(SnapshotTest, WorkersComeBackWithTheirAcknowledgedSequence) {
  MustApply(WorkerRow{.incarnation = "w-1",
                      .name = "left",
                      .host = "h",
                      .version = "0.1.0",
                      .slots = 2,
                      .devices = {"cpu", "cuda:0"},
                      .draining = true,
                      .connected = false,
                      .last_seen = {77},
                      .memory_mib = 900,
                      .device_memory_mib = {0, 80}},
            WorkerAcknowledged{"w-1", 12});
  const Snapshot snapshot = Load();
  ASSERT_EQ(snapshot.workers.size(), 1u);
  const WorkerRow& worker = snapshot.workers[0];
  EXPECT_EQ(worker.name, "left");
  EXPECT_THAT(worker.devices, ElementsAre("cpu", "cuda:0"));
  EXPECT_TRUE(worker.draining);
  EXPECT_FALSE(worker.connected);
  EXPECT_EQ(worker.last_seen, WallTime{77});
  EXPECT_EQ(worker.acknowledged_sequence, 12u);
  EXPECT_EQ(worker.memory_mib, 900u);
  EXPECT_THAT(worker.device_memory_mib, ElementsAre(0, 80));
}

PruningDecision Decision(Token token, std::uint64_t rung, double value, bool prune) {
  return {.sweep = SweepId(1),
          .stage = StageId(1),
          .token = token,
          .rung = rung,
          .step = rung + 1,
          .value = value,
          .prune = prune,
          .others = 3,
          .threshold = 2.5,
          .at = {50}};
}

TEST_F(SnapshotTest, PruningComesBackInOrderAndOnlyOfLiveAttempts) {
  MustAddTrial();
  MustApply(Start(1, 1), Decision(1, 20, 1.25, false), Decision(1, 10, NAN, true), Fail(1, v1::LOST));
  EXPECT_EQ(Apply(Decision(1, 30, 1, true)).value().fenced, 1u);
  MustApply(TrialPruning{.id = TrialId(1), .state = TrialPruningState::kPruned});
  EXPECT_EQ(reader_->GetSweep(SweepId(1)).value().trials().pruned(), 1u);
  EXPECT_THAT(Rows("SELECT sweep_id, stage, token, rung, step, value, verdict, others, threshold FROM "
                   "pruning_decisions ORDER BY number"),
              ElementsAre("s-1|st-1|1|20|21|1.25|CONTINUE|3|2.5", "s-1|st-1|1|10|11|NULL|PRUNE|3|2.5"));
  MustApply(TrialPruning{.id = TrialId(1), .state = TrialPruningState::kKept});
  const Snapshot snapshot = Load();
  ASSERT_EQ(snapshot.pruning_decisions.size(), 2u);
  EXPECT_EQ(snapshot.pruning_decisions[0].rung, 20u);
  EXPECT_EQ(snapshot.pruning_decisions[0].threshold, 2.5);
  EXPECT_EQ(snapshot.pruning_decisions[0].at, WallTime{50});
  EXPECT_TRUE(std::isnan(snapshot.pruning_decisions[1].value));
  EXPECT_TRUE(snapshot.pruning_decisions[1].prune);
  ASSERT_EQ(snapshot.trial_prunings.size(), 1u);
  EXPECT_EQ(snapshot.trial_prunings[0].state, TrialPruningState::kKept);
  EXPECT_EQ(reader_->GetSweep(SweepId(1))->trials().pruned(), 0u);
}

}  // namespace
}  // namespace inlier
