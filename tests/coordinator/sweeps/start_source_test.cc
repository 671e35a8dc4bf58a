// Trainings that start from another training of this coordinator: they wait for it, get its model, and end with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/scheduling/sources.h"
#include "spec/sweep/sweep_reader.h"
#include "tests/coordinator/harness.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kThen[] = "{label: then, set: {training: {steps: 110, start_from: {point: \"phase=first\"}}}}";

// `seeds` pre-trainings, each with the fine-tuning that starts from it: t-1 and t-2, t-3 and t-4, ...
v1::SweepSpec Phases(const std::string& seeds = "[1]", const std::string& more = "",
                     const std::string& then = kThen) {
  return ReadSweepText(
             "name: phases\n"
             "base: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 100}}\n"
             "axes:\n  - {field: seed, values: " +
                 seeds +
                 "}\n"
                 "  - {name: phase, variants: [{label: first, set: {}}, " +
                 then + "]}\n" + more,
             "s.yaml")
      .value();
}

// One training that starts from a trial.
v1::SweepSpec From(const std::string& trial, const std::string& name = "tuned") {
  v1::SweepSpec sweep = SmallSweep(name, 1);
  sweep.mutable_base()->mutable_training()->mutable_start_from()->set_trial(trial);
  return sweep;
}

const Trial& TrialOf(Harness& harness, int id) { return harness.state().trials.at(TrialId(id)); }
const Stage& TrainingOf(Harness& harness, int id) {
  return harness.state().stages.at(TrialOf(harness, id).train);
}

// The only attempt that runs.
const v1::Assignment& Running(const HandWorker& worker) {
  EXPECT_EQ(worker.running().size(), 1u);
  return worker.running().begin()->second;
}

using StartSourceTest = OneWorkerTest;

TEST_F(StartSourceTest, AFineTuningWaitsForItsSourceAndGetsItsModel) {
  Lease(Phases("[1, 2]"), HandWorker("w", 4));
  ASSERT_EQ(worker.running().size(), 2u);  // The two pre-trainings; nothing else may start.
  EXPECT_THAT(harness.Why("t-2"), HasSubstr("it waits for the training of t-1, which its start_from names"));
  EXPECT_EQ(TrialOf(harness, 2).state, v1::PENDING);
  harness.Restart(worker);

  std::vector<Token> tokens;
  for (const auto& [token, assignment] : worker.running()) {
    EXPECT_FALSE(assignment.has_checkpoint_sha256());
    tokens.push_back(token);
  }
  worker.Emit(tokens[0], CheckpointEvent(100, true, 'b'));
  harness.Report(worker, tokens[0], OutcomeEvent(v1::Outcome::SUCCEEDED));
  harness.Sync(worker);
  bool found = false;
  for (const auto& [token, assignment] : worker.running()) {
    if (assignment.kind() != v1::TRAIN_STAGE || token == tokens[1]) continue;
    found = true;
    EXPECT_EQ(assignment.stage_id(), TrainingOf(harness, 2).id.ToString());
    EXPECT_EQ(assignment.checkpoint_sha256(), std::string(64, 'b'));
  }
  EXPECT_TRUE(found);
  harness.Restart();  // A live attempt keeps its model.
  for (const auto& [token, attempt] : harness.state().attempts) {
    if (attempt.stage == TrainingOf(harness, 2).id) {
      EXPECT_EQ(attempt.assignment.checkpoint_sha256(), std::string(64, 'b'));
    }
  }
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(SweepId(1)).state(), v1::COMPLETE);
  EXPECT_EQ(
      harness.Query("SELECT trial, start_from, start_stage, start_checkpoint FROM results ORDER BY trial"),
      "t-1|||\nt-2|training|st-1|" + std::string(64, 'b') + "\nt-3|||\nt-4|training|st-5|" +
          std::string(64, 'a') + "\n");
  harness.Restart();
}

TEST_F(StartSourceTest, TheIdentityOfAFineTuningHasThatOfItsSource) {
  Lease(Phases(), HandWorker("w", 4));
  harness.Finish(worker, Running(worker).token());
  harness.Sync(worker);
  for (const auto& [token, assignment] : worker.running()) {
    if (assignment.kind() != v1::TRAIN_STAGE) continue;
    EXPECT_EQ(SpecOf(assignment).training().start_from().training(),
              HexOf(TrainingOf(harness, 1).fingerprint));
  }
  // Its data are those of the pre-training: the model is no file.
  EXPECT_EQ(TrainingOf(harness, 1).data,
            harness.state().data.FindVersion(
                harness.state().data.FindSource(harness.state().data.at(TrainingOf(harness, 2).data).names),
                Digest{}));
}

TEST_F(StartSourceTest, AFailedSourceEndsThoseThatWaitAndARetryOfThemRetriesIt) {
  Lease(Phases(), HandWorker("w", 4));
  harness.Report(worker, Running(worker).token(), FailureEvent(v1::INVALID_SPEC, "no such corpus"));
  EXPECT_EQ(TrialOf(harness, 2).state, v1::FAILED);
  EXPECT_THAT(
      TrialOf(harness, 2).message(),
      StartsWith("the training of t-1, which its start_from names, FAILED: INVALID_SPEC: no such corpus"));
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  harness.Restart();
  EXPECT_EQ(harness.RetryTrial(2), 1u);
  harness.Restart(worker);
  EXPECT_EQ(Running(worker).stage_id(), TrainingOf(harness, 1).id.ToString());
  RunAll(harness, worker);
  EXPECT_EQ(TrialOf(harness, 2).state, v1::SUCCEEDED);
  EXPECT_EQ(TrialOf(harness, 1).state, v1::FAILED);  // It was not asked for.
  EXPECT_EQ(harness.RetryTrial(1), 1u);
  RunAll(harness, worker);
  EXPECT_EQ(TrialOf(harness, 1).state, v1::SUCCEEDED);
}

TEST_F(StartSourceTest, ADivergedSourceIsTheResultOfThoseThatWait) {
  Lease(
      Phases("[1]", "",
             std::string(kThen) + ", {label: last, set: {training: {start_from: {point: \"phase=then\"}}}}"),
      HandWorker("w", 4));
  harness.Report(worker, Running(worker).token(), OutcomeEvent(v1::Outcome::DIVERGED));
  for (const int trial : {1, 2, 3}) EXPECT_EQ(TrialOf(harness, trial).state, v1::DIVERGED) << trial;
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  EXPECT_THAT(harness.Query("SELECT message FROM trial WHERE id = 3"),
              StartsWith("the training of t-1, which its start_from names, has DIVERGED"));
  harness.Restart();
  EXPECT_THAT(harness.Why("t-2"), HasSubstr("the training of t-1, which its start_from names, has DIVERGED"));
  // The same for one that comes later.
  harness.Submit(From("t-1"));
  EXPECT_EQ(TrialOf(harness, 4).state, v1::DIVERGED);
  harness.Submit(From("t-1", "again"));
  EXPECT_EQ(TrialOf(harness, 5).state, v1::DIVERGED);
  harness.Restart();
}

TEST_F(StartSourceTest, ACancelledTrialsTrainingGoesOnForThoseThatStartFromIt) {
  Lease(Phases(), HandWorker("w", 4));
  harness.CancelTrial(1);
  harness.Restart(worker);
  EXPECT_EQ(Running(worker).stage_id(), TrainingOf(harness, 1).id.ToString());
  harness.CancelTrial(2);
  harness.Sync(worker);
  EXPECT_TRUE(worker.running().empty());
  EXPECT_EQ(TrainingOf(harness, 1).state, v1::CANCELLED);
  EXPECT_EQ(harness.RetryTrial(2), 1u);  // It needs the training once more.
  RunAll(harness, worker);
  EXPECT_EQ(TrialOf(harness, 2).state, v1::SUCCEEDED);
  EXPECT_EQ(TrialOf(harness, 1).state, v1::CANCELLED);
}

TEST_F(StartSourceTest, ATrialOfAnotherSweepIsWaitedForAndKeptWhenItsSweepDropsIt) {
  worker = HandWorker("w", 4);
  const SweepId first = harness.Submit(SmallSweep("first", 2));
  const SweepId second = harness.Submit(From("t-2"));
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 2u);
  ASSERT_TRUE(harness.EditSweep(first, SmallSweep("first", 1)).ok());
  EXPECT_TRUE(TrialOf(harness, 2).withdrawn);
  harness.Restart(worker);
  EXPECT_EQ(worker.running().size(), 2u);
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(first).state(), v1::COMPLETE);
  EXPECT_EQ(harness.Status(second).state(), v1::COMPLETE);
  EXPECT_EQ(TrialOf(harness, 3).state, v1::SUCCEEDED);
  EXPECT_EQ(TrainingOf(harness, 3).start, TrialOf(harness, 2).train);
}

TEST_F(StartSourceTest, AKnownSourceWorksAtOnceAndTheSameFineTuningIsKnown) {
  worker = HandWorker("w", 4);
  harness.Submit(SmallSweep("first", 1));
  EXPECT_EQ(RunAll(harness, worker), 2u);
  const SweepId second = harness.Submit(From("t-1"));
  harness.Sync(worker);
  EXPECT_EQ(Running(worker).checkpoint_sha256(), std::string(64, 'a'));
  EXPECT_EQ(RunAll(harness, worker), 2u);
  EXPECT_EQ(harness.Status(second).state(), v1::COMPLETE);
  harness.Submit(From("t-1", "third"));
  CheckData(harness, worker);
  EXPECT_EQ(RunAll(harness, worker), 0u);
  EXPECT_EQ(TrialOf(harness, 3).state, v1::SUCCEEDED);
  // The fingerprint of the training is another way to name it.
  v1::SweepSpec fourth = From("t-1", "fourth");
  fourth.mutable_base()->mutable_training()->mutable_start_from()->set_training(
      HexOf(TrainingOf(harness, 1).fingerprint));
  harness.Submit(fourth);
  CheckData(harness, worker);
  EXPECT_EQ(TrialOf(harness, 4).train, TrialOf(harness, 2).train);
}

TEST_F(StartSourceTest, AFineTuningOfATrainingOnOtherDataIsAnother) {
  worker = HandWorker("w", 4);
  std::string digest(64, '1');
  worker.CheckData([&](const v1::DataCheck&, v1::DataChecked& answer) { answer.set_digest(digest); });
  const auto run = [&] {
    for (int round = 0; round < 20; ++round) {
      harness.Tick();
      harness.Sync(worker);
      const std::vector<Token> tokens = worker.tokens();
      for (const Token token : tokens) {
        worker.Emit(token, StartedEvent(digest));
        worker.Finish(token);
      }
    }
  };
  harness.Submit(Phases());
  run();
  digest = std::string(64, '2');
  harness.Submit(Phases("[1]", "description: once more\n"));
  run();
  EXPECT_EQ(TrialOf(harness, 4).state, v1::SUCCEEDED);
  EXPECT_NE(TrialOf(harness, 3).train, TrialOf(harness, 1).train);
  EXPECT_NE(TrialOf(harness, 4).train, TrialOf(harness, 2).train);
  EXPECT_EQ(TrainingOf(harness, 4).start, TrialOf(harness, 3).train);
  digest = std::string(64, '1');  // The old files are back: so are both results.
  harness.Submit(Phases("[1]", "description: a third time\n"));
  run();
  EXPECT_EQ(TrialOf(harness, 5).train, TrialOf(harness, 1).train);
  EXPECT_EQ(TrialOf(harness, 6).train, TrialOf(harness, 2).train);
  harness.Restart();
}

TEST_F(StartSourceTest, WhatIsNotThereIsRefusedAtSubmission) {
  harness.Submit(SmallSweep("first", 1));
  const auto error = [&](const v1::SweepSpec& sweep) {
    return std::string(harness.TrySubmit(sweep).status().message());
  };
  EXPECT_THAT(error(From("t-17")), HasSubstr("base.training.start_from: "));
  EXPECT_THAT(error(From("t-17")), HasSubstr("t-17"));
  v1::SweepSpec unknown = From("t-1");
  unknown.mutable_base()->mutable_training()->mutable_start_from()->set_training(std::string(64, 'e'));
  EXPECT_THAT(error(unknown), HasSubstr("this coordinator has no training with fingerprint eeee"));
  EXPECT_EQ(harness.state().sweeps.size(), 1u);
  v1::EditSweepRequest edit;
  edit.set_sweep("s-1");
  *edit.mutable_spec() = SmallSweep("first", 2);
  v1::Axis& axis = *edit.mutable_spec()->mutable_axes(0);
  axis.Clear();
  axis.set_name("seed");
  v1::Variant& variant = *axis.add_variants();
  variant.set_label("1");
  auto& training = *(*variant.mutable_set()->mutable_fields())["training"].mutable_struct_value();
  (*(*training.mutable_fields())["start_from"].mutable_struct_value()->mutable_fields())["trial"]
      .set_string_value("t-9");
  edit.set_max_trials(100);
  EXPECT_THAT(std::string(harness.Ask(&EditSweep, edit).status().message()),
              HasSubstr("axes[0].variants[0]: "));
}

TEST_F(StartSourceTest, ARowOfTrainingsAcrossSweepsHasAnEnd) {
  worker = HandWorker("w", 4);
  harness.Submit(SmallSweep("first", 1));
  for (int i = 1; i < Limits::kStartsMax; ++i)
    harness.Submit(From(TrialId(i).ToString(), "s" + std::to_string(i)));
  EXPECT_EQ(OpenSources(harness.state(), TrainingOf(harness, Limits::kStartsMax)).size(),
            static_cast<std::size_t>(Limits::kStartsMax) - 1);
  harness.Submit(From(TrialId(Limits::kStartsMax).ToString(), "last"));
  EXPECT_EQ(TrialOf(harness, Limits::kStartsMax + 1).state, v1::FAILED);
  EXPECT_THAT(TrialOf(harness, Limits::kStartsMax + 1).message(),
              HasSubstr("the last of more than 16 trainings in a row"));
  harness.Restart();
  RunAll(harness, worker);
  EXPECT_EQ(TrialOf(harness, Limits::kStartsMax).state, v1::SUCCEEDED);
}

TEST_F(StartSourceTest, ATrainingInTheMiddleOfARowRunsForTheLastOneAlone) {
  worker = HandWorker("w", 4);
  harness.Submit(SmallSweep("first", 1));
  harness.Submit(From("t-1", "second"));
  const SweepId third = harness.Submit(From("t-2", "third"));
  harness.CancelTrial(1);
  harness.CancelTrial(2);
  harness.Restart();
  EXPECT_EQ(RunAll(harness, worker), 4u);  // Three trainings and the last one's evaluation.
  EXPECT_EQ(harness.Status(third).state(), v1::COMPLETE);
  EXPECT_EQ(TrialOf(harness, 3).state, v1::SUCCEEDED);
}

TEST_F(StartSourceTest, ResumedFineTuningsResumeFromTheirOwnCheckpoint) {
  harness.Submit(SmallSweep("first", 1));
  RunAll(harness, worker);
  Lease(From("t-1"));
  const Token token = Running(worker).token();
  worker.Emit(token, CheckpointEvent(40, false, 'c'));
  harness.Report(worker, token, FailureEvent(v1::CRASHED, "gone"));
  harness.TickAfter(std::chrono::hours(1));
  harness.Sync(worker);
  EXPECT_EQ(Running(worker).resume_step(), 40u);
  EXPECT_EQ(Running(worker).checkpoint_sha256(), std::string(64, 'a'));  // Where the other is lost.
}

TEST_F(StartSourceTest, WhatStartsFromAPrunedTrainingIsPrunedWithIt) {
  Lease(Phases("[1, 2]", "pruning: {measurement: train_loss, median: {interval: 10, min_trials: 1}}\n"),
        HandWorker("w", 4));
  const auto point = [](double value) {
    v1::TrialEvent event = MeasurementEvent("train_loss", value, false);
    event.mutable_measurement()->set_step(10);
    return event;
  };
  worker.Emit(1, point(1));
  harness.Report(worker, 2, point(2));
  EXPECT_EQ(TrialOf(harness, 3).state, v1::CANCELLED);
  EXPECT_EQ(TrialOf(harness, 4).state, v1::CANCELLED);
  EXPECT_THAT(TrialOf(harness, 4).message(),
              StartsWith("the training of t-3, which its start_from names: pruned: train_loss 2"));
  harness.Restart();
  // A person wants it: then its source is not pruned again.
  EXPECT_EQ(harness.RetryTrial(4), 1u);
  RunAll(harness, worker);
  EXPECT_EQ(TrialOf(harness, 4).state, v1::SUCCEEDED);
  EXPECT_EQ(TrialOf(harness, 3).state, v1::CANCELLED);
  harness.Restart();
}

TEST_F(StartSourceTest, ASourceWithATrialThatCanNeverRunIsNamed) {
  // The first phase has no point of its own that is valid: two heads do not divide 33.
  v1::SweepSpec sweep = Phases();
  auto& fields = *sweep.mutable_axes(1)->mutable_variants(0)->mutable_set()->mutable_fields();
  auto& bert = *(*(*fields["model"].mutable_struct_value()->mutable_fields())["bert"].mutable_struct_value())
                    .mutable_fields();
  bert["hidden_size"].set_number_value(33);
  harness.Submit(sweep);
  EXPECT_EQ(TrialOf(harness, 1).state, v1::FAILED);
  EXPECT_EQ(TrialOf(harness, 2).state, v1::FAILED);
  EXPECT_THAT(TrialOf(harness, 2).message(),
              HasSubstr("INVALID_SPEC: training.start_from: t-1 can never run (INVALID_SPEC: "));
  harness.Restart();
}

}  // namespace
}  // namespace inlier
