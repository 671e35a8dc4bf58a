// Findings of the fuzzers of tests/fuzz in the orchestrator and the store, each with its story.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/coordinator/harness.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using OrchestratorBadInputTest = OneWorkerTest;

// The store wrote the devices as JSON, which refuses invalid UTF-8 by an exception: one sync ended the
// process.
TEST_F(OrchestratorBadInputTest, DeviceNameThatIsNoUtf8IsStoredAsWellAsItCan) {
  v1::WorkerSync sync = worker.Sync();
  sync.mutable_slots(0)->set_device("gpu \xff\xfe");
  EXPECT_TRUE(harness.TrySync(sync).ok());
  harness.Restart();
}

// SQLite's integers end at 2^63 - 1: memory remembered a larger number than the store, so a restart forgot
// it.
TEST_F(OrchestratorBadInputTest, EventNumberThatTheStoreCannotHoldIsNotTaken) {
  v1::WorkerSync sync = worker.Sync();
  sync.add_events()->set_sequence(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(harness.TrySync(sync).value().acknowledged_sequence(), 0u);
  EXPECT_EQ(harness.state().stats.events_invalid, 1u);
  harness.Restart();
}

// The store keeps the number of slots alone. A lease on slot 7 of two was one of no slot after a restart.
TEST_F(OrchestratorBadInputTest, SlotsWithGapsAreRefused) {
  worker = HandWorker("w", 2);
  v1::WorkerSync sync = worker.Sync();
  sync.mutable_slots(1)->set_index(7);
  EXPECT_THAT(harness.TrySync(sync), StatusIs(absl::StatusCode::kInvalidArgument,
                                              testing::HasSubstr("numbered from 0 without gaps")));
}

// A worker that gave itself another name kept the old one in the store until a minute had passed.
TEST_F(OrchestratorBadInputTest, WorkerThatTakesAnotherNameIsStoredWithIt) {
  harness.Sync(worker);
  worker.fields().set_name("renamed");
  harness.Sync(worker);
  harness.Restart();
}

// A training that diverges after it wrote its model has no checkpoint to evaluate; the store gave it one.
TEST_F(OrchestratorBadInputTest, DivergedTrainingHasNoCheckpointEvenIfItWroteItsModel) {
  const Token token = Lease(SmallSweep("diverging", 1));
  worker.Emit(token, CheckpointEvent(100, true));
  harness.Report(worker, token, OutcomeEvent(v1::Outcome::DIVERGED));
  harness.Restart();
}

// A trial wrote Latin-1, or its text was cut within a character: a reader of the database in Python got an
// error for the whole table.
TEST_F(OrchestratorBadInputTest, TextsThatAreNoUtf8AreStoredAsWellAsTheyCan) {
  const Token token = Lease(SmallSweep("texts", 1));
  v1::TrialEvent started;
  started.mutable_started()->set_device(
      "gr\xf6\xdf"
      "er");
  worker.Emit(token, started);
  v1::TrialEvent log;
  log.mutable_log()->set_text("caf\xe9");
  worker.Emit(token, log);
  v1::TrialEvent measured;
  measured.mutable_measurement()->set_name("train_loss");
  measured.mutable_measurement()->set_site("\xff");
  worker.Emit(token, measured);
  v1::TrialEvent outcome = OutcomeEvent(v1::Outcome::FAILED);
  outcome.mutable_outcome()->set_message(std::string(4095, 'a') + "ö and more");
  harness.Report(worker, token, outcome);
  EXPECT_EQ(harness.state().stats.events_invalid, 1u);
  harness.Restart();
  EXPECT_EQ(harness.Query("SELECT device FROM attempts"),
            "gr\xef\xbf\xbd\xef\xbf\xbd"
            "er\n");
  EXPECT_EQ(harness.Query("SELECT text FROM logs"), "caf\xef\xbf\xbd\n");
  EXPECT_EQ(harness.Query("SELECT message FROM attempts"), std::string(4095, 'a') + " ...\n");
}

}  // namespace
}  // namespace inlier
