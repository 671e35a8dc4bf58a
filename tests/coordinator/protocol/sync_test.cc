#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "coordinator/status/status.h"
#include "tests/coordinator/harness.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;

template <typename T>
int CountOf(const ChangeBatch& batch) {
  int count = 0;
  for (const Change& change : batch.changes) count += std::holds_alternative<T>(change) ? 1 : 0;
  return count;
}

using OrchestratorSyncTest = OneWorkerTest;

TEST_F(OrchestratorSyncTest, LeaseCarriesTheAssignmentAndItsRowIsInTheSameBatch) {
  harness.Submit(SmallSweep("s", 1));
  const v1::CoordinatorSync reply = harness.Sync(worker);
  ASSERT_EQ(reply.desired_size(), 1);
  const v1::Assignment& assignment = reply.desired(0);
  EXPECT_EQ(assignment.token(), 1u);
  EXPECT_EQ(assignment.stage_id(), "st-1");
  EXPECT_EQ(assignment.kind(), v1::TRAIN_STAGE);
  EXPECT_EQ(assignment.slot(), 0u);
  EXPECT_EQ(assignment.attempt(), 1u);
  EXPECT_EQ(SpecOf(assignment).training().steps(), 100u);
  EXPECT_FALSE(assignment.has_resume_path());
  EXPECT_EQ(reply.sync_id(), 1u);
  EXPECT_EQ(reply.lease_ttl_ms(), 15000u);
  EXPECT_EQ(reply.next_sync_ms(), 5000u);
  EXPECT_EQ(CountOf<AttemptRow>(harness.last().changes), 1);
  EXPECT_EQ(harness.last().workers, (std::set<std::string>{"w"}));
}

// A database that was restored from a backup gives tokens again that its workers have kept events of.
TEST_F(OrchestratorSyncTest, AnEventOfAnotherStageWithTheTokenIsStale) {
  worker.Emit(Lease(), FailureEvent(v1::CRASHED, "of another stage"));
  v1::WorkerSync sync = worker.Sync();
  sync.mutable_events(0)->set_stage_id("st-77");
  ASSERT_TRUE(harness.TrySync(sync).ok());
  EXPECT_EQ(harness.state().stats.events_stale, 1u);
  EXPECT_EQ(harness.state().attempts.size(), 1u);
}

// A new database in the folder of another one gives its stages and tokens again.
TEST_F(OrchestratorSyncTest, AnEventOfAnotherDatabaseIsStaleAlsoWithTheSameStageAndToken) {
  worker.Emit(Lease(), FailureEvent(v1::CRASHED, "of another database"));
  v1::WorkerSync sync = worker.Sync();
  sync.mutable_events(0)->set_database_id("another");
  ASSERT_TRUE(harness.TrySync(sync).ok());
  EXPECT_EQ(harness.state().stats.events_stale, 1u);
  EXPECT_EQ(harness.state().attempts.size(), 1u);
}

// A shell that completes the names of workers must not find a command among them.
TEST_F(OrchestratorSyncTest, AWorkersNameHasNothingThatAShellReads) {
  for (const char* name : {"gpu-01.lab:7", "Rechner_ä", "a@b/c+d=e%,"}) {
    worker.fields().set_name(name);
    EXPECT_TRUE(harness.TrySync(worker.Sync()).ok()) << name;
  }
  for (const char* name : {"$(touch x)", "`touch x`", "a;b", "a b", "a\nb", "*",         "?",    "[a]",
                           "{a,b}",      "~",         "-x",  "a|b", "a&b",  "a>b",       "a<b",  "a'b",
                           "a\"b",       "a\\b",      "a!b", "a#b", "a\tb", "a\033[2Jb", "a\x7f"}) {
    worker.fields().set_name(name);
    EXPECT_THAT(harness.TrySync(worker.Sync()), StatusIs(absl::StatusCode::kInvalidArgument,
                                                         HasSubstr("a worker's name has letters, digits")))
        << name;
  }
}

TEST_F(OrchestratorSyncTest, FreeSlotAsksForAnEarlySync) {
  EXPECT_EQ(harness.Sync(worker).next_sync_ms(), 200u);
}

TEST_F(OrchestratorSyncTest, DoubledSyncIsAnsweredAgainAndChangesNothing) {
  harness.Submit(SmallSweep("s", 3));
  const v1::WorkerSync sync = worker.Sync();
  const auto first = harness.TrySync(sync);
  const auto second = harness.TrySync(sync);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->SerializeAsString(), second->SerializeAsString());
  EXPECT_TRUE(harness.last().changes.empty());
}

TEST_F(OrchestratorSyncTest, LostReplyIsHealedByTheNextOne) {
  harness.Submit(SmallSweep("s", 1));
  const auto lost = harness.TrySync(worker.Sync());
  EXPECT_EQ(harness.Assigned(worker).token(), lost->desired(0).token());
}

TEST_F(OrchestratorSyncTest, EvaluationFollowsInTheReplyThatAcknowledgesTheTraining) {
  const Token train = Lease(SmallSweep("s", 2));
  worker.Finish(train);
  const v1::CoordinatorSync reply = harness.Sync(worker);
  EXPECT_EQ(reply.acknowledged_sequence(), 2u);
  EXPECT_TRUE(worker.outbox().empty());
  ASSERT_EQ(reply.desired_size(), 1);
  // The trial that can be finished goes before the next training.
  EXPECT_EQ(reply.desired(0).kind(), v1::EVALUATE_STAGE);
  EXPECT_EQ(reply.desired(0).checkpoint_sha256(), std::string(64, 'a'));
  EXPECT_GT(reply.desired(0).token(), train);
  EXPECT_EQ(harness.Status(sweep).train_stages().ended(), 1u);
}

TEST_F(OrchestratorSyncTest, DoubledEventsAreTakenOnce) {
  worker.Emit(Lease(), MeasurementEvent("train_loss", 3.5, false));
  ASSERT_TRUE(harness.TrySync(worker.Sync()).ok());  // Its reply is lost.
  EXPECT_EQ(CountOf<MeasurementRow>(harness.last().changes), 1);
  const v1::CoordinatorSync reply = harness.Sync(worker);
  EXPECT_EQ(CountOf<MeasurementRow>(harness.last().changes), 0);
  EXPECT_EQ(reply.acknowledged_sequence(), 1u);
  EXPECT_EQ(harness.state().stats.events_doubled, 1u);
  EXPECT_EQ(harness.state().stats.measurements, 1u);
}

TEST_F(OrchestratorSyncTest, MeasurementsAloneGoInTheBulkLaneAndAnOutcomeDoesNot) {
  const Token token = Lease();
  harness.Report(worker, token, MeasurementEvent("train_loss", 3.5, false));
  EXPECT_EQ(harness.last().changes.lane, Lane::kBulk);
  harness.Finish(worker, token);
  EXPECT_EQ(harness.last().changes.lane, Lane::kControl);
}

TEST_F(OrchestratorSyncTest, HeldBackEventsAreNeitherTakenNorAcknowledged) {
  worker.Finish(Lease());
  EXPECT_EQ(harness.Sync(worker, {.take_events = false, .grant_leases = false}).acknowledged_sequence(), 0u);
  EXPECT_TRUE(harness.last().changes.empty());
  EXPECT_EQ(harness.Sync(worker).acknowledged_sequence(), 2u);
}

TEST_F(OrchestratorSyncTest, EventsOfAStaleTokenAreDroppedCountedAndAcknowledged) {
  harness.Submit(SmallSweep("s", 1));
  HandWorker slow = harness.Connect("slow");
  const Token stale = OnlyToken(slow);
  harness.TickAfter(seconds(16));
  HandWorker quick = harness.Connect("quick");
  const Token live = OnlyToken(quick);
  EXPECT_GT(live, stale);
  slow.Finish(stale);
  const v1::CoordinatorSync reply = harness.Sync(slow);
  EXPECT_EQ(reply.acknowledged_sequence(), 2u);
  EXPECT_EQ(reply.desired_size(), 0);
  EXPECT_EQ(harness.state().stats.events_stale, 2u);
  EXPECT_THAT(harness.last().log,
              Contains(HasSubstr("result_refused token=1 worker=worker-slow outcome=SUCCEEDED")));
  EXPECT_EQ(CountOf<CheckpointRow>(harness.last().changes) + CountOf<AttemptEnded>(harness.last().changes),
            0);
  harness.Finish(quick, live);
  EXPECT_EQ(harness.state().stats.attempts_ended[0][0], 1u);
}

TEST_F(OrchestratorSyncTest, WorkerThatStillRunsAStaleTokenGetsAStopWithItsReason) {
  harness.Submit(SmallSweep("s", 1));
  HandWorker slow = harness.Connect("slow");
  const Token stale = OnlyToken(slow);
  harness.TickAfter(seconds(16));
  HandWorker quick = harness.Connect("quick");
  const v1::CoordinatorSync reply = harness.Sync(slow);
  ASSERT_EQ(reply.stop_size(), 1);
  EXPECT_EQ(reply.stop(0).token(), stale);
  EXPECT_THAT(reply.stop(0).reason(), HasSubstr("fenced"));
}

TEST_F(OrchestratorSyncTest, TokenOfAnotherWorkerGivesNoRights) {
  harness.Submit(SmallSweep("s", 1));
  HandWorker holder = harness.Connect("holder");
  const Token token = OnlyToken(holder);
  v1::WorkerSync forged = HandWorker("thief", 1).Sync();
  forged.set_sync_id(1);
  v1::NumberedEvent& event = *forged.add_events();
  event.set_sequence(1);
  event.set_token(token);
  *event.mutable_event() = OutcomeEvent(v1::Outcome::DIVERGED);
  forged.add_attempts()->set_token(token);
  EXPECT_EQ(harness.TrySync(forged).value().stop_size(), 1);
  EXPECT_EQ(harness.state().stats.events_stale, 1u);
  EXPECT_EQ(harness.state().leases.size(), 1u);
}

TEST_F(OrchestratorSyncTest, SlotsAreNeverExceededAndAStoppingAttemptKeepsItsSlot) {
  const SweepId first = harness.Submit(SmallSweep("first", 2));
  worker = HandWorker("w", 2);
  const v1::CoordinatorSync reply = harness.Sync(worker);
  ASSERT_EQ(reply.desired_size(), 2);
  EXPECT_NE(reply.desired(0).slot(), reply.desired(1).slot());
  harness.CancelSweep(first);
  v1::SweepSpec other = SmallSweep("other", 2);
  other.mutable_base()->mutable_training()->set_steps(50);
  harness.Submit(other);
  // The children have not ended yet: their slots are taken.
  const auto still = harness.TrySync(worker.Sync()).value();
  EXPECT_EQ(still.desired_size(), 0);
  ASSERT_EQ(still.stop_size(), 2);
  EXPECT_EQ(still.stop(0).reason(), "cancelled");
  worker.Take(still);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 2);
}

TEST_F(OrchestratorSyncTest, MaxParallelIsKeptOverSeveralWorkers) {
  v1::SweepSpec spec = SmallSweep("s", 5);
  spec.set_max_parallel(2);
  harness.Submit(spec);
  HandWorker a("a", 2), b("b", 2);
  EXPECT_EQ(harness.Sync(a).desired_size(), 2);
  EXPECT_EQ(harness.Sync(b).desired_size(), 0);
}

TEST_F(OrchestratorSyncTest, DrainingWorkerGetsNothingNewAndFinishesItsAttempts) {
  Lease(SmallSweep("s", 3));
  worker.fields().set_draining(true);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 1);
  EXPECT_EQ(harness.Finish(worker).desired_size(), 0);
  EXPECT_TRUE(ListWorkers(harness.state()).workers(0).draining());
}

TEST_F(OrchestratorSyncTest, OtherVersionIsRefusedAndBothAreNamed) {
  for (const auto& [version, remedy] : {std::pair("0.9", "upgrade the caller: a coordinator takes"),
                                        std::pair("1.1.0", "upgrade the coordinator first: it takes")}) {
    HandWorker worker("w", 1);
    worker.fields().set_version(version);
    EXPECT_THAT(
        harness.TrySync(worker.Sync()),
        StatusIs(absl::StatusCode::kFailedPrecondition,
                 absl::StrCat("worker worker-w runs inlier ", version, " and this coordinator inlier 1.0; ",
                              remedy, " programs of its own minor release and of the one before")));
  }
  EXPECT_TRUE(harness.state().workers.all().empty());
}

OrchestratorOptions OfRelease(const std::string& version) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.version = version;
  options.spec_form = "form of " + version;
  return options;
}

TEST_F(OrchestratorSyncTest, WorkerOfTheReleaseBeforeThatReadsTheSameTrialsGetsWork) {
  harness.RestartAs(OfRelease("1.1.0"));
  harness.Submit(SmallSweep("s", 1));
  worker.fields().set_version("1.0.3");
  worker.fields().set_spec_form("form of 1.1.0");
  EXPECT_EQ(harness.Sync(worker).desired_size(), 1);
  EXPECT_FALSE(ListWorkers(harness.state()).workers(0).outdated());
}

TEST_F(OrchestratorSyncTest, WorkerOfTheReleaseBeforeThatReadsOtherTrialsEndsWhatItRunsAndGetsNothingNew) {
  harness.RestartAs(OfRelease("1.0.0"));
  harness.Submit(SmallSweep("s", 3));
  worker.fields().set_version("1.0.0");
  ASSERT_EQ(harness.Sync(worker).desired_size(), 1);
  const Token token = OnlyToken(worker);

  harness.RestartAs(OfRelease("1.1.0"));  // The coordinator is upgraded first.
  worker.fields().set_spec_form("form of 1.0.0");
  ASSERT_EQ(harness.Sync(worker).desired_size(), 1);
  EXPECT_EQ(OnlyToken(worker), token);
  const v1::ListWorkersResponse shown = ListWorkers(harness.state());
  EXPECT_TRUE(shown.workers(0).outdated());
  EXPECT_EQ(shown.workers(0).version(), "1.0.0");
  EXPECT_EQ(harness.Finish(worker, token).desired_size(), 0);
  EXPECT_EQ(worker.outbox().size(), 0u);  // Its result is taken.

  // The upgraded one is another process, and gets the rest.
  HandWorker upgraded("w2", 1);
  upgraded.fields().set_version("1.1.0");
  upgraded.fields().set_spec_form("form of 1.1.0");
  EXPECT_EQ(harness.Sync(upgraded).desired_size(), 1);
}

TEST_F(OrchestratorSyncTest, SyncWithoutSenseIsRefused) {
  HandWorker worker("", 1);
  EXPECT_EQ(harness.TrySync(worker.Sync()).status().code(), absl::StatusCode::kInvalidArgument);
  HandWorker doubled("w", 1);
  v1::WorkerSync sync = doubled.Sync();
  sync.add_slots()->set_index(0);
  EXPECT_THAT(harness.TrySync(sync),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("two slots have the same index")));
}

TEST_F(OrchestratorSyncTest, CheckpointPathOutsideTheAttemptsFolderIsRefused) {
  const Token token = Lease();
  for (const char* path : {"../other/x", "/etc/passwd", "a//b", "", "a\nb", "a\x1b[2J"}) {
    v1::TrialEvent event = CheckpointEvent(10, false);
    event.mutable_checkpoint()->set_path(path);
    worker.Emit(token, event);
  }
  harness.Sync(worker);
  EXPECT_EQ(CountOf<CheckpointRow>(harness.last().changes), 0);
  EXPECT_EQ(harness.state().stats.events_invalid, 6u);
}

TEST_F(OrchestratorSyncTest, MeasurementOfAnUnknownNameIsDroppedAndCounted) {
  EXPECT_EQ(harness.Report(worker, Lease(), MeasurementEvent("no_such_measurement", 1, false))
                .acknowledged_sequence(),
            1u);
  EXPECT_EQ(harness.state().stats.events_invalid, 1u);
  EXPECT_EQ(CountOf<MeasurementRow>(harness.last().changes), 0);
}

TEST_F(OrchestratorSyncTest, UpdateReportsProgressShareOfWorkAndTimeLeft) {
  Lease(SmallSweep("s", 2));
  EXPECT_FALSE(harness.Describe(sweep).has_seconds_left());
  worker.SetProgress(OnlyToken(worker), "train", 50);
  const std::uint64_t version = harness.state().sweeps.at(sweep).version;
  harness.Sync(worker);
  EXPECT_GT(harness.state().sweeps.at(sweep).version, version);
  const v1::SweepUpdate update = harness.Describe(sweep);
  ASSERT_EQ(update.running_size(), 1);
  EXPECT_EQ(update.running(0).trial_id(), "t-1");
  EXPECT_EQ(update.running(0).worker(), "worker-w");
  EXPECT_EQ(update.running(0).labels().at("seed"), "1");
  EXPECT_EQ(update.running(0).progress().step(), 50u);
  // Two trainings of 100 steps and two evaluations that weigh 10 each: 50 of 220 is done, at 10 steps a
  // second.
  EXPECT_NEAR(update.work_done(), 50.0 / 220, 1e-9);
  EXPECT_NEAR(update.seconds_left(), (150 + 20) / 10.0, 1e-9);
  EXPECT_EQ(update.status().trials().running(), 1u);
  EXPECT_EQ(update.status().trials().pending(), 1u);
}

// Rows of workers that never ran anything are removed after a time; a worker that ran something can always be
// named.
TEST_F(OrchestratorSyncTest, RowsOfGoneWorkersStayOnlyWhereAnAttemptRefersToThem) {
  sweep = harness.Submit(SmallSweep("s", 1));
  HandWorker used("used", 1), idle("idle", 1);
  RunAll(harness, used);
  harness.Sync(idle);
  EXPECT_EQ(harness.Query("SELECT incarnation, used FROM worker ORDER BY incarnation"), "idle|0\nused|1\n");
  harness.Restart();
  harness.TickAfter(std::chrono::seconds(20));
  harness.TickAfter(std::chrono::hours(2));
  EXPECT_TRUE(harness.state().workers.all().empty());
  EXPECT_EQ(harness.Query("SELECT incarnation, used, name FROM worker"), "used|1|worker-used\n");
  EXPECT_EQ(harness.Query("SELECT DISTINCT worker FROM attempt"), "used\n");
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
  // It may come back, with events of attempts that ended long ago.
  EXPECT_EQ(harness.Report(idle, 1, OutcomeEvent(v1::Outcome::SUCCEEDED)).acknowledged_sequence(), 1u);
  EXPECT_EQ(harness.Query("SELECT incarnation, acknowledged_sequence FROM worker ORDER BY incarnation"),
            "idle|1\nused|4\n");
}

TEST_F(OrchestratorSyncTest, AWorkerBelongsToItsFirstCallerUntilItIsForgotten) {
  const auto sync_as = [&](const std::string& caller) {
    return harness.TrySync(worker.Sync(), {.caller = caller}).status();
  };
  EXPECT_TRUE(sync_as("alice").ok());
  EXPECT_THAT(
      sync_as("mallory"),
      StatusIs(absl::StatusCode::kPermissionDenied,
               "this incarnation of a worker does not belong to mallory; a worker gets a new incarnation at "
               "each start"));
  EXPECT_TRUE(sync_as("alice").ok());
  harness.TickAfter(std::chrono::hours(2));
  harness.Tick();
  harness.TickAfter(std::chrono::hours(2));
  EXPECT_TRUE(harness.state().workers.all().empty());
  EXPECT_TRUE(sync_as("mallory").ok());
}

// Found while the simulation was written: a worker sends on before it has an answer. When the disk was full
// at the first sync and not at the second, acknowledging the second's events acknowledged the first's, which
// the coordinator had not taken.
TEST_F(OrchestratorSyncTest, EventsAfterASyncThatWasNotTakenWaitForIt) {
  const Token token = Lease();
  worker.Emit(token, CheckpointEvent(100, true));
  const v1::WorkerSync first = worker.Sync();
  worker.Emit(token, OutcomeEvent(v1::Outcome::SUCCEEDED));
  v1::WorkerSync second = worker.Sync();
  second.mutable_events()->DeleteSubrange(0, 1);
  second.set_events_after(1);
  ASSERT_TRUE(harness.TrySync(first, {.take_events = false, .grant_leases = false}).ok());
  EXPECT_EQ(harness.TrySync(second).value().acknowledged_sequence(), 0u);
  EXPECT_EQ(harness.Sync(worker).acknowledged_sequence(), 2u);  // All of it again.
}

}  // namespace
}  // namespace inlier
