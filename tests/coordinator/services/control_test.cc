// Control over gRPC: pause, drain, edit, why, and a watch that resumes where it was cut.
#include "tests/coordinator/services/fixture.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::HasSubstr;

class ControlTest : public CoordinatorTest {
 protected:
  void Pause(const std::string& sweep) { Call(&Stub::PauseSweep, OfSweep<v1::PauseSweepRequest>(sweep)); }
  void Resume(const std::string& sweep) { Call(&Stub::ResumeSweep, OfSweep<v1::ResumeSweepRequest>(sweep)); }

  // The notices after `from` up to number `until`.
  std::vector<std::string> Watch(const std::string& sweep, std::uint64_t from, std::uint64_t until) {
    auto request = OfSweep<v1::WatchSweepRequest>(sweep);
    request.set_from_sequence(from);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    auto updates = sweeps_->WatchSweep(&context, request);
    std::vector<std::string> notices;
    v1::SweepUpdate update;
    std::uint64_t sequence = from;
    do {
      if (!updates->Read(&update)) {
        ADD_FAILURE() << "the watch ended: " << updates->Finish().error_message();
        return notices;
      }
      EXPECT_EQ(update.sequence(), sequence + static_cast<std::uint64_t>(update.notices_size()));
      sequence = update.sequence();
      notices.insert(notices.end(), update.notices().begin(), update.notices().end());
    } while (sequence < until);
    context.TryCancel();
    updates->Finish();
    return notices;
  }
};

TEST_F(ControlTest, WatchResumesFromItsSequenceAlsoAfterARestartAndBeyondMemory) {
  Submit(SmallSweep("watched", 1));
  // More than the coordinator keeps in memory and than one update takes from the database.
  constexpr int kRounds = 300;
  for (int i = 0; i < kRounds; ++i) {
    Pause("watched");
    Resume("watched");
  }
  const std::vector<std::string> all = Watch("watched", 0, 2 * kRounds);
  ASSERT_EQ(all.size(), 2u * kRounds);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i], i % 2 == 0 ? "the sweep is paused: no new attempts start" : "the sweep is resumed");
  }
  Restart();
  Pause("watched");
  const std::vector<std::string> rest = Watch("watched", 2 * kRounds - 1, 2 * kRounds + 1);
  EXPECT_EQ(rest,
            (std::vector<std::string>{"the sweep is resumed", "the sweep is paused: no new attempts start"}));
}

TEST_F(ControlTest, PausedSweepIsShownAndSurvivesARestart) {
  Submit(SmallSweep("held", 2));
  Pause("held");
  Restart();
  EXPECT_TRUE(GetSweep("held").paused());
  HandWorker worker = MakeWorker("w", 1);
  Sync(worker);
  EXPECT_TRUE(worker.running().empty());
  Resume("held");
  RunAll(worker);
  EXPECT_EQ(GetSweep("held").state(), v1::COMPLETE);
}

TEST_F(ControlTest, RepeatedCancelWithItsRequestIdGivesTheFirstAnswerAfterARestart) {
  Submit(SmallSweep("once", 3));
  auto request = OfSweep<v1::CancelRequest>("once");
  request.set_request_id("c-1");
  EXPECT_EQ(Call(&Stub::Cancel, request).cancelled(), 3u);
  Restart();
  EXPECT_EQ(Call(&Stub::Cancel, request).cancelled(), 3u);
  request.set_sweep("s-1");
  EXPECT_EQ(Try(&Stub::Cancel, request).error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST_F(ControlTest, EditedSweepKeepsItsResultsAndItsTableShowsOnlyTheRest) {
  Submit(SmallSweep("edited", 2, {8, 4}));
  HandWorker worker = MakeWorker("w", 2);
  RunAll(worker);
  auto request = OfSweep<v1::EditSweepRequest>("edited");
  request.set_revision(1);
  *request.mutable_spec() = SmallSweep("edited", 1, {8, 6});
  const v1::EditSweepResponse response = Call(&Stub::EditSweep, request);
  EXPECT_EQ(response.kept(), 1u);
  EXPECT_EQ(response.added(), 1u);
  EXPECT_EQ(response.withdrawn(), 3u);
  // The answer may come before the new point is a trial: that is made in a step of its own.
  while (GetSweep("edited").state() != v1::COMPLETE) RunAll(worker);
  auto table_request = OfSweep<v1::BuildTableRequest>("edited");
  table_request.mutable_table()->add_rows("bits");
  table_request.mutable_table()->add_columns()->set_measurement("perplexity");
  const v1::Table table = Call(&Stub::BuildTable, table_request);
  ASSERT_EQ(table.rows_size(), 2);
  EXPECT_EQ(table.rows(0).cells(0).count(), 1u);
  EXPECT_EQ(Call(&Stub::ListTrials, OfSweep<v1::ListTrialsRequest>("edited")).trials_size(), 2);
  // A value that cannot be is refused with its place.
  *request.mutable_spec() = SmallSweep("edited", 1, {77});
  request.clear_revision();
  EXPECT_THAT(Try(&Stub::EditSweep, request), FailsWith(grpc::StatusCode::INVALID_ARGUMENT, HasSubstr("77")));
}

TEST_F(ControlTest, WhyListsPastAttemptsAndTheCauseOfTheWait) {
  HandWorker worker = Lease(SmallSweep("asked", 1));
  worker.Emit(worker.running().begin()->first, FailureEvent(v1::CRASHED, "signal 11"));
  Sync(worker);
  Pause("asked");
  auto request = OfTrial<v1::ExplainRequest>("t-1");
  const v1::Explanation explanation = Call(&Stub::Explain, request);
  EXPECT_EQ(explanation.state(), "PENDING");
  ASSERT_EQ(explanation.because_size(), 2);
  EXPECT_THAT(explanation.because(0).ShortDebugString(), HasSubstr("it is tried again in"));
  EXPECT_THAT(explanation.because(1).text(), HasSubstr("attempt 1 to train on worker worker-w ended after"));
  EXPECT_THAT(explanation.because(1).text(), HasSubstr("CRASHED: signal 11"));
  request.set_trial("t-9");
  EXPECT_EQ(Try(&Stub::Explain, request).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ControlTest, WhyShowsAnEndedTrialWithItsLabelsAndAStoppedAttemptAsNoFailure) {
  HandWorker worker = Lease(SmallSweep("asked", 1));
  worker.Emit(worker.running().begin()->first, FailureEvent(v1::PREEMPTED, "stopped on request"));
  Sync(worker);
  RunAll(worker);
  auto request = OfTrial<v1::ExplainRequest>("t-1");
  const v1::Explanation explanation = Call(&Stub::Explain, request);
  EXPECT_EQ(explanation.text(), "trial t-1 (seed=1, bits=8)");
  ASSERT_EQ(explanation.because_size(), 4);  // "finished", and three attempts.
  EXPECT_THAT(explanation.because(1).text(), ::testing::EndsWith(": stopped on request"));
  EXPECT_EQ(explanation.because(1).state(), "PREEMPTED");
}

TEST_F(ControlTest, DrainedWorkerIsShownAsSuch) {
  HandWorker worker = MakeWorker("w", 1);
  Sync(worker);
  v1::DrainWorkerRequest request;
  request.set_worker("worker-w");
  EXPECT_EQ(Call(&Stub::DrainWorker, request).incarnation(), "w");
  EXPECT_TRUE(Call(&Stub::ListWorkers, {}).workers(0).held());
}

}  // namespace
}  // namespace inlier
