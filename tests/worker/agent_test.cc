// The worker against a fake coordinator over real gRPC, with real children (fake_trial).
#include "worker/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "base/digest.h"
#include "base/files/file.h"
#include "base/processes/usable_cpus.h"
#include "tests/worker/agent_fixture.h"
#include "tests/worker/process_state.h"
#include "worker/gpus/device_monitor.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using State = FakeCoordinator::State;

TEST_F(AgentTest, AFinishedTrainingIsInArtifactsBeforeItsOutcomeIsReported) {
  const v1::Outcome outcome = RunOne("", TrainAssignment(7, 5));
  EXPECT_TRUE(Succeeded(outcome));
  const auto events = coordinator_->state().EventsOf(7);
  ASSERT_EQ(events.size(), 9u);
  EXPECT_TRUE(events[0].has_started());
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(events[i].measurement().step(), static_cast<std::uint64_t>(i));
  EXPECT_TRUE(events[6].measurement().final());
  EXPECT_TRUE(events[7].checkpoint().final());
  EXPECT_TRUE(events[8].has_outcome());
  const fs::path artifact = folder_.path() / "artifacts" / (events[7].checkpoint().sha256() + ".safetensors");
  EXPECT_EQ(*Sha256HexOfFile(artifact), events[7].checkpoint().sha256());
  EXPECT_TRUE(fs::exists(folder_.path() / "attempts/train-stage/7/spec.json"));
}

TEST_F(AgentTest, ReadingsOfTheDevicesAreSentOnceEachAndExported) {
  FakeCoordinator::Settings often;
  often.next_sync_ms = 20;
  StartCoordinator(often);
  WorkerRig& rig = StartWorker({});
  const DeviceMonitor monitor(
      {{"GPU-bbbb", "Fake Two", 8192}, {"GPU-aaaa", "Fake One", 81920}},
      [&rig](const DeviceReadings& readings) { rig.agent().ShowDevices(readings); },
      {.period = std::chrono::milliseconds(500), .library = INLIER_FAKE_NVML_LIBRARY});
  EXPECT_TRUE(
      rig.WaitForMetric("inlier_worker_gpu_utilization_ratio{device=\"cuda:1\",model=\"Fake One\"} 0.73"));
  EXPECT_TRUE(rig.WaitForMetric(
      "inlier_worker_gpu_memory_used_bytes{device=\"cuda:0\",model=\"Fake Two\"} 5368709120"));
  const auto with = [](const State& state) {
    return std::count_if(state.syncs.begin(), state.syncs.end(),
                         [](const v1::WorkerSync& sync) { return sync.gpus_size() > 0; });
  };
  ASSERT_TRUE(coordinator_->WaitFor([&](const State& state) { return with(state) >= 3; }));
  const State state = coordinator_->state();
  EXPECT_GT(static_cast<std::ptrdiff_t>(state.syncs.size()), 3 * with(state));
  const auto first = std::find_if(state.syncs.begin(), state.syncs.end(),
                                  [](const v1::WorkerSync& sync) { return sync.gpus_size() > 0; });
  ASSERT_EQ(first->gpus_size(), 2);
  EXPECT_EQ(first->gpus(1).device(), "cuda:1");
  EXPECT_EQ(first->gpus(1).name(), "Fake One");
  EXPECT_EQ(first->machine().device(), "cpu");
  EXPECT_GT(first->machine().memory_total_mib(), first->machine().memory_used_mib());
}

TEST_F(AgentTest, AnEvaluationReadsTheArtifactAndReportsItsResults) {
  RunOne("", TrainAssignment(1, 3));
  const std::string sha = coordinator_->state().CheckpointOf(1);
  EXPECT_TRUE(Succeeded(coordinator_->Run(EvaluateAssignment(2, sha))));
  std::vector<std::string> names;
  for (const auto& event : coordinator_->state().EventsOf(2)) {
    if (event.has_measurement()) names.push_back(event.measurement().name());
  }
  EXPECT_THAT(names, testing::ElementsAre("loss", "perplexity", "max_inf_norm", "avg_kurtosis"));
}

TEST_F(AgentTest, AnEvaluationWithoutItsModelFailsWithTheRemedy) {
  const std::string sha(64, 'a');
  const v1::Outcome outcome = RunOne("", EvaluateAssignment(1, sha));
  EXPECT_EQ(outcome.failure(), v1::CRASHED);
  EXPECT_THAT(
      outcome.message(),
      HasSubstr("artifacts/" + sha + ".safetensors is not there; all workers of one coordinator must share"));
}

TEST_F(AgentTest, AModelThatComesALittleLateIsWaitedFor) {
  const std::string sha = Sha256Hex("weights");
  StartWorker({.artifact_wait = std::chrono::minutes(1)});
  coordinator_->Assign(EvaluateAssignment(1, sha));
  // The attempt is reported as running while it waits.
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return state.last().attempts_size() == 1; }));
  fs::create_directories(folder_.path() / "artifacts");
  ASSERT_TRUE(WriteFileAtomically(folder_.path() / "artifacts" / (sha + ".safetensors"), "weights").ok());
  EXPECT_TRUE(Succeeded(coordinator_->OutcomeOf(1)));
}

TEST_F(AgentTest, TheChildsOwnFailureIsReported) {
  EXPECT_EQ(RunOne("fail").message(), "failed as the test asked");
  EXPECT_EQ(coordinator_->state().outcomes[1].failure(), v1::CRASHED);
}

TEST_F(AgentTest, ADivergedTrainingIsAResult) { EXPECT_EQ(RunOne("diverge").kind(), v1::Outcome::DIVERGED); }

TEST_F(AgentTest, ACrashIsReportedWithTheChildsLastOutput) {
  const v1::Outcome outcome = RunOne("crash");
  EXPECT_EQ(outcome.failure(), v1::CRASHED);
  EXPECT_THAT(outcome.message(), HasSubstr("signal 11 (Segmentation fault)"));
  EXPECT_THAT(outcome.message(), HasSubstr("last words"));
}

TEST_F(AgentTest, AChildWithoutMemoryIsOutOfMemory) {
  EXPECT_EQ(RunOne("bad_alloc").failure(), v1::OUT_OF_MEMORY);
  EXPECT_FALSE(coordinator_->state().outcomes[1].gpu_out_of_memory());
}

TEST_F(AgentTest, EveryOutcomeHasThePeakMemoryOfTheChild) {
  EXPECT_GT(RunOne("diverge").peak_memory_mib(), 0u);
}

TEST_F(AgentTest, AnExitWithoutAnOutcomeIsACrash) {
  EXPECT_THAT(RunOne("silent").message(), HasSubstr("exited with status 0 without an outcome"));
}

TEST_F(AgentTest, AChildThatPrintsOnlyGarbageIsQuoted) {
  const v1::Outcome outcome = RunOne("garbage");
  EXPECT_EQ(outcome.failure(), v1::CRASHED);
  EXPECT_THAT(outcome.message(), HasSubstr("Segmentation violation at \\x01"));
  EXPECT_THAT(outcome.message(), HasSubstr("is trial_program inlier-trial of this version?"));
  EXPECT_THAT(outcome.message(), HasSubstr("this is not the program you are looking for"));
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_garbage_lines_total 4"));
}

TEST_F(AgentTest, GarbageBetweenEventsIsReportedAndSkipped) {
  EXPECT_TRUE(Succeeded(RunOne("mixed")));
  int reported = 0;
  for (const auto& event : coordinator_->state().EventsOf(1)) {
    reported += event.has_log() && event.log().text().find("event descriptor") != std::string::npos;
  }
  EXPECT_EQ(reported, 3);
}

TEST_F(AgentTest, AnEndlessLineIsReadOver) {
  EXPECT_TRUE(Succeeded(RunOne("endless", TrainAssignment(1), {.line_bytes_max = 4096})));
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_garbage_lines_total 1"));
}

TEST_F(AgentTest, ATrainingWithoutAModelIsNoSuccess) {
  EXPECT_THAT(RunOne("no_checkpoint").message(), HasSubstr("reported success without a final checkpoint"));
}

TEST_F(AgentTest, AModelWithAWrongDigestIsNotKept) {
  const v1::Outcome outcome = RunOne("wrong_digest");
  EXPECT_EQ(outcome.kind(), v1::Outcome::FAILED);
  EXPECT_THAT(outcome.message(), HasSubstr("could not be kept"));
  EXPECT_FALSE(fs::exists(folder_.path() / "artifacts"));
  for (const auto& event : coordinator_->state().EventsOf(1)) EXPECT_FALSE(event.has_checkpoint());
}

TEST_F(AgentTest, AGrandchildThatHoldsEveryDescriptorDoesNotHoldTheSlot) {
  EXPECT_TRUE(Succeeded(RunOne("escape")));
  const pid_t grandchild = std::atoi(ReadFile(folder_.path() / "grandchild.pid").value_or("0").c_str());
  ASSERT_GT(grandchild, 1);
  ::kill(grandchild, SIGKILL);
}

TEST_F(AgentTest, ChildrenGetTheirThreadsCpusGroupFolderAndNoStrayDescriptors) {
  EXPECT_TRUE(Succeeded(RunOne("environment")));
  std::vector<double> values;
  for (const auto& event : coordinator_->state().EventsOf(1)) {
    if (event.has_measurement() && values.size() < 5) values.push_back(event.measurement().value());
  }
  const double cpus = static_cast<double>(FindUsableCpus().bound_to.size());
  EXPECT_THAT(values,
              testing::ElementsAre(cpus, cpus, 1, 5, 1));  // 0 to 3, and the folder that is being read.
}

TEST_F(AgentTest, AFloodOfPointsIsThinnedWithACountAndLosesNoResult) {
  StartCoordinator();
  coordinator_->SetCommitting(false);
  StartWorker({.outbox_events_max = 1000}).SetBehaviour("flood");
  coordinator_->Assign(TrainAssignment(1, 5));
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return state.last().attempts_size() == 1; }));
  // The child has ended when nothing runs any more; only then does the coordinator take events.
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return state.last().attempts_size() == 0; }));
  EXPECT_THAT(coordinator_->state().outcomes, IsEmpty());
  coordinator_->SetCommitting(true);
  ASSERT_TRUE(coordinator_->WaitForOutcome(1));
  const State state = coordinator_->state();
  EXPECT_EQ(state.outcomes.at(1).kind(), v1::Outcome::SUCCEEDED);
  const auto events = state.EventsOf(1);
  EXPECT_LE(events.size(), 1000u);
  EXPECT_EQ(events.size() + state.last().events_thinned(), 200000u + 5 + 4);
  int results = 0;
  for (const auto& event : events) results += MustKeep(event);
  EXPECT_EQ(results, 4);  // Started, the final loss, the model, the outcome.
}

TEST_F(AgentTest, ATalkativeChildSendsABoundedNumberOfLogLines) {
  EXPECT_TRUE(Succeeded(RunOne("chatter")));
  int lines = 0;
  for (const auto& event : coordinator_->state().EventsOf(1)) lines += event.has_log();
  EXPECT_EQ(lines, 1001);
  EXPECT_GT(fs::file_size(folder_.path() / "attempts/train-stage/1/log.txt"), 3'000'000u);
}

TEST_F(AgentTest, AnAttemptThatIsNotDesiredIsStoppedWithItsReason) {
  StartWorker().SetBehaviour("hang");
  AssignAndWaitForLog(TrainAssignment(1));
  coordinator_->Withdraw(1, "cancelled by a person");
  EXPECT_EQ(coordinator_->OutcomeOf(1).failure(), v1::PREEMPTED);
  EXPECT_THAT(*ReadFile(folder_.path() / "attempts/train-stage/1/log.txt"),
              HasSubstr("stopping: cancelled by a person"));
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return state.last().attempts_size() == 0; }));
}

TEST_F(AgentTest, AChildThatIgnoresSigtermIsKilledAfterTheGrace) {
  StartWorker({.stop_grace = std::chrono::milliseconds(50)}).SetBehaviour("stubborn");
  AssignAndWaitForLog(TrainAssignment(1));
  coordinator_->Withdraw(1, "cancelled");
  const v1::Outcome outcome = coordinator_->OutcomeOf(1);
  EXPECT_EQ(outcome.failure(), v1::PREEMPTED);
  EXPECT_EQ(outcome.message(), "stopped by its worker: cancelled");
}

TEST_F(AgentTest, OneChildASlotAndTheNextStartsWhenItIsGone) {
  StartWorker().SetBehaviour("hang");
  AssignAndWaitForLog(TrainAssignment(1));
  rig_->SetBehaviour("");
  v1::Assignment next = TrainAssignment(2);
  next.set_stage_id("another");
  coordinator_->Assign(next);
  ASSERT_TRUE(coordinator_->WaitForSyncs(4));
  EXPECT_EQ(coordinator_->state().last().attempts_size(), 1);
  EXPECT_EQ(coordinator_->state().last().attempts(0).token(), 1u);
  coordinator_->Withdraw(1, "a higher priority needs the slot");
  EXPECT_TRUE(Succeeded(coordinator_->OutcomeOf(2)));
}

TEST_F(AgentTest, PushedWorkStartsAtOnceAndAcknowledgesNothing) {
  // Without a push nothing would be heard for a minute.
  StartCoordinator({.ttl_ms = 180'000, .next_sync_ms = 60'000});
  StartWorker();
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return state.last().sync_id() >= 1; }));
  coordinator_->SetCommitting(false);
  coordinator_->Push(TrainAssignment(1));
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return state.last().events_size() > 0; }));
  // It keeps its events until an answer acknowledges them.
  const std::uint64_t first = coordinator_->state().last().events(0).sequence();
  coordinator_->Push(TrainAssignment(1));
  const std::uint64_t syncs = coordinator_->state().last().sync_id();
  ASSERT_TRUE(coordinator_->WaitFor(
      [&](const State& state) { return state.last().sync_id() > syncs && state.last().events_size() > 0; }));
  EXPECT_EQ(coordinator_->state().last().events(0).sequence(), first);
  coordinator_->SetCommitting(true);
  EXPECT_TRUE(Succeeded(coordinator_->OutcomeOf(1)));
  EXPECT_EQ(coordinator_->state().doubled, 0u);
}

TEST_F(AgentTest, ATokenIsNeverRunTwice) {
  // The fake coordinator does not commit, so it still desires the ended attempt.
  StartCoordinator();
  coordinator_->SetCommitting(false);
  StartWorker();
  coordinator_->Assign(TrainAssignment(1, 2));
  // It may start and end between two syncs; its events stay.
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return state.last().events_size() > 0; }));
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return state.last().attempts_size() == 0; }));
  ASSERT_TRUE(coordinator_->WaitForSyncs(4));
  EXPECT_EQ(coordinator_->state().last().attempts_size(), 0);
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_attempts_started_total 1"));
}

TEST_F(AgentTest, TrainingResumesFromTheCheckpointThatTheCoordinatorNames) {
  fs::create_directories(folder_.path() / "attempts/train-stage/1");
  std::ofstream(folder_.path() / "attempts/train-stage/1/checkpoint-4.safetensors") << "fake\nstep 4\n";
  v1::Assignment assignment = TrainAssignment(2, 6);
  assignment.set_resume_path("attempts/train-stage/1/checkpoint-4.safetensors");
  assignment.set_resume_step(4);
  EXPECT_TRUE(Succeeded(RunOne("", assignment)));
  const auto events = coordinator_->state().EventsOf(2);
  EXPECT_EQ(events[0].started().resumed_step(), 4u);
  EXPECT_EQ(events[1].measurement().step(), 5u);
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_train_steps_total 2"));
  // Committed: the old checkpoint goes, its folder's log may stay.
  ASSERT_TRUE(coordinator_->WaitFor([&](const State&) {
    return !fs::exists(folder_.path() / "attempts/train-stage/1/checkpoint-4.safetensors");
  }));
}

TEST_F(AgentTest, AResumePathThatLeavesTheStateFolderIsRefused) {
  v1::Assignment assignment = TrainAssignment(1);
  assignment.set_resume_path("../../etc/passwd");
  const v1::Outcome outcome = RunOne("", assignment);
  EXPECT_EQ(outcome.failure(), v1::INVALID_SPEC);
  EXPECT_THAT(outcome.message(), HasSubstr("does not stay below"));
}

TEST_F(AgentTest, WithoutItsCheckpointTrainingStartsAgainWithAWarning) {
  v1::Assignment assignment = TrainAssignment(2, 3);
  assignment.set_resume_path("attempts/train-stage/1/gone.safetensors");
  assignment.set_resume_step(2);
  EXPECT_TRUE(Succeeded(RunOne("", assignment)));
  const auto events = coordinator_->state().EventsOf(2);
  EXPECT_THAT(events[0].log().text(),
              HasSubstr("gone.safetensors, is not there; training starts from the beginning"));
  EXPECT_EQ(events[1].started().resumed_step(), 0u);
}

TEST_F(AgentTest, WithoutAHoldSilenceForTheLeasesTimeStopsTheChildrenAndTheOutcomeArrivesLater) {
  StartCoordinator({.ttl_ms = 1000, .next_sync_ms = 100});
  StartWorker({.hold = Duration::zero()}).SetBehaviour("stubborn");
  AssignAndWaitForLog(TrainAssignment(1));
  coordinator_->SetSilent(true);
  // The worker keeps trying; its syncs show when the child is gone.
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return state.last().attempts_size() == 0; }));
  coordinator_->SetSilent(false);
  const v1::Outcome outcome = coordinator_->OutcomeOf(1);
  EXPECT_EQ(outcome.failure(), v1::LOST);
  EXPECT_THAT(outcome.message(), HasSubstr("no answer from the coordinator"));
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_leases_lost_total 1"));
  // It takes work again.
  rig_->SetBehaviour("");
  EXPECT_TRUE(Succeeded(coordinator_->Run(TrainAssignment(2, 2))));
}

TEST_F(AgentTest, ACoordinatorThatComesBackWithinTheLeaseFindsTheSameAttemptRunning) {
  StartCoordinator();
  StartWorker().SetBehaviour("hang");
  AssignAndWaitForLog(TrainAssignment(1));
  const std::string address = coordinator_->address();
  coordinator_.reset();
  coordinator_ = std::make_unique<FakeCoordinator>(FakeCoordinator::Settings{}, address);
  coordinator_->Assign(TrainAssignment(1));
  ASSERT_TRUE(coordinator_->WaitFor(
      [](const State& state) { return !state.syncs.empty() && state.last().attempts_size() == 1; }));
  EXPECT_EQ(coordinator_->state().last().attempts(0).token(), 1u);
  EXPECT_FALSE(coordinator_->state().last().attempts(0).stopping());
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_reconnects_total 1"));
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_attempts_started_total 1"));
}

TEST_F(AgentTest, DrainingStopsTheChildrenWithACheckpointAndDeliversEverything) {
  StartWorker().SetBehaviour("hang");
  AssignAndWaitForLog(TrainAssignment(1));
  rig_->Drain();
  EXPECT_EQ(rig_->WaitForEnd(), absl::OkStatus());
  const State state = coordinator_->state();
  EXPECT_TRUE(state.last().draining());
  EXPECT_EQ(state.outcomes.at(1).failure(), v1::PREEMPTED);
  EXPECT_EQ(state.outcomes.at(1).message(), "stopped by a signal");
  EXPECT_EQ(rig_->outbox().size(), 0u);
}

// The kill of a whole job reaches the trial first: its worker says nothing of a crash before it is asked to end too.
TEST_F(AgentTest, AKilledTrialOfAJobIsNotReportedAtOnce) {
  StartWorker({.killed_wait = std::chrono::hours(1)}).SetBehaviour("hang");
  AssignAndWaitForLog(TrainAssignment(1));
  const pid_t trial = ProcessThatCatchesSigterm(folder_.path() / "attempts/train-stage/1/spec.json");
  ASSERT_EQ(::kill(trial, SIGKILL), 0);
  ASSERT_TRUE(ComesTo(trial, "-"));  // The worker knows.
  rig_->Drain();
  EXPECT_EQ(rig_->WaitForEnd(), absl::OkStatus());
  EXPECT_EQ(coordinator_->state().outcomes.at(1).failure(), v1::PREEMPTED);
}

// It is shown as stopped then, not as lost.
TEST_F(AgentTest, AnIdleWorkerEndsWhenTheCoordinatorKnowsThatItDoes) {
  StartCoordinator();
  StartWorker();
  ASSERT_TRUE(rig_->WaitForMetric("inlier_worker_connected 1"));
  rig_->Drain();
  EXPECT_EQ(rig_->WaitForEnd(), absl::OkStatus());
  EXPECT_TRUE(coordinator_->state().last().draining());
}

TEST_F(AgentTest, ADrainWithoutACoordinatorEndsAndKeepsTheResults) {
  StartWorker().SetBehaviour("hang");
  AssignAndWaitForLog(TrainAssignment(1));
  coordinator_.reset();
  rig_->Drain();
  EXPECT_EQ(rig_->WaitForEnd(), absl::OkStatus());
  rig_.reset();
  // The next worker delivers what this one could not.
  StartCoordinator();
  StartWorker({.incarnation = "second"});
  EXPECT_EQ(coordinator_->OutcomeOf(1).failure(), v1::PREEMPTED);
  EXPECT_EQ(coordinator_->state().last().incarnation(), "second");
}

TEST_F(AgentTest, AbortKillsAtOnce) {
  StartWorker().SetBehaviour("stubborn");
  AssignAndWaitForLog(TrainAssignment(1));
  rig_->Abort();
  EXPECT_EQ(rig_->WaitForEnd().code(), absl::StatusCode::kAborted);
}

TEST_F(AgentTest, AWorkerOfAnotherVersionEndsWithBothVersions) {
  StartCoordinator({.version = "9.9.9"});
  StartWorker();
  const absl::Status ended = rig_->WaitForEnd();
  EXPECT_EQ(ended.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(ended.message()),
              HasSubstr("refuses this worker: worker rig is of version 0.1.0, this coordinator of 9.9.9"));
}

TEST_F(AgentTest, EverySyncIdentifiesTheWorkerAndItsSlots) {
  StartWorker({.slots = 2});
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return state.syncs.size() >= 3; }));
  std::uint64_t last = 0;
  for (const v1::WorkerSync& sync : coordinator_->state().syncs) {
    EXPECT_EQ(sync.incarnation(), "rig");
    EXPECT_EQ(sync.slots_size(), 2);
    EXPECT_EQ(sync.slots(1).index(), 1u);
    EXPECT_EQ(sync.slots(1).device(), "cpu");
    EXPECT_GT(sync.sync_id(), last);
    last = sync.sync_id();
  }
}

TEST_F(AgentTest, AStageIdThatIsNoNameIsRefusedAndNothingIsWritten) {
  v1::Assignment assignment = TrainAssignment(1);
  assignment.set_stage_id("../../evil");
  EXPECT_EQ(RunOne("", assignment).failure(), v1::INVALID_SPEC);
  EXPECT_FALSE(fs::exists(folder_.path() / "attempts"));
}

TEST_F(AgentTest, ASpecificationThatCannotBeReadFailsWithTheReason) {
  v1::Assignment assignment = TrainAssignment(1);
  assignment.set_spec("\xff\xff");
  const v1::Outcome outcome = RunOne("", assignment);
  EXPECT_EQ(outcome.kind(), v1::Outcome::FAILED);
  EXPECT_EQ(outcome.failure(), v1::CRASHED);
  EXPECT_EQ(
      outcome.message(),
      "the worker could not start the trial: the coordinator's specification of train-stage cannot be read: "
      "coordinator and worker must be of one version");
}

}  // namespace
}  // namespace inlier
