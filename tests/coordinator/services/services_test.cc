// The real server on a free port, the real store, and clients that speak the protocol by hand.
#include <thread>

#include "coordinator/services/listeners.h"
#include "tests/coordinator/services/fixture.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::HasSubstr;

class ServicesTest : public CoordinatorTest {};

TEST_F(ServicesTest, SweepGoesFromSubmissionToItsTableOverASession) {
  const v1::SubmitSweepResponse submitted = Submit(SmallSweep("whole", 2, {8, 4}));
  EXPECT_EQ(submitted.sweep_id(), "s-1");
  EXPECT_EQ(submitted.trials(), 4u);

  grpc::ClientContext watch_context;
  auto updates = sweeps_->WatchSweep(&watch_context, OfSweep<v1::WatchSweepRequest>("whole"));
  v1::SweepUpdate update;
  ASSERT_TRUE(updates->Read(&update));  // The present state at once.
  EXPECT_EQ(update.status().trials().pending(), 4u);

  HandWorker worker = MakeWorker("w", 2);
  grpc::ClientContext session_context;
  auto session = workers_->Session(&session_context);
  for (int round = 0; round < 100; ++round) {
    ASSERT_TRUE(session->Write(worker.Sync()));
    v1::CoordinatorSync reply;
    ASSERT_TRUE(session->Read(&reply));
    worker.Take(reply);
    if (worker.running().empty() && worker.outbox().empty()) break;
    for (const Token token : worker.tokens()) {
      v1::TrialEvent log;
      log.mutable_log()->set_text("line of token " + std::to_string(token));
      worker.Emit(token, log);
      worker.Finish(token);
    }
  }
  EXPECT_TRUE(session->WritesDone());
  EXPECT_TRUE(session->Finish().ok());

  while (updates->Read(&update)) {
  }
  EXPECT_TRUE(updates->Finish().ok());  // The watch ends by itself.
  EXPECT_EQ(update.status().state(), v1::COMPLETE);
  EXPECT_EQ(update.status().trials().succeeded(), 4u);
  EXPECT_EQ(update.work_done(), 1.0);

  auto table_request = OfSweep<v1::BuildTableRequest>("whole");
  v1::TableSpec& table_spec = *table_request.mutable_table();
  table_spec.add_rows("bits");
  table_spec.add_columns()->set_measurement("perplexity");
  const v1::Table table = Call(&Stub::BuildTable, table_request);
  ASSERT_EQ(table.rows_size(), 2);
  EXPECT_EQ(table.rows(0).cells(0).mean(), 12.5);
  EXPECT_EQ(table.rows(0).cells(0).count(), 2u);
  table_request.add_more_sweeps("whole");
  const v1::Table twice = Call(&Stub::BuildTable, table_request);
  EXPECT_EQ(twice.rows(0).cells(0).count(), 2u);
  EXPECT_EQ(twice.sweeps_size(), 1);
  for (int i = 0; i < 99; ++i) table_request.add_more_sweeps("whole");
  EXPECT_EQ(Try(&Stub::BuildTable, table_request).error_message(),
            "more_sweeps: a table is of at most 100 sweeps");

  const v1::GetLogsResponse logs = Call(&Stub::GetLogs, OfTrial<v1::GetLogsRequest>("t-1"));
  ASSERT_EQ(logs.lines_size(), 2);  // One of its training, one of its evaluation.
  EXPECT_EQ(logs.lines(0).text(), "line of token 1");

  v1::QueryRequest query;
  query.set_sql("SELECT count(*) FROM results");
  EXPECT_EQ(Call(&Stub::Query, query).rows(0).values(0).integer(), 4);
}

TEST_F(ServicesTest, AcknowledgedResultSurvivesARestartAndTheWorkerContinues) {
  HandWorker worker = Lease(SmallSweep("restart", 1));
  ASSERT_EQ(worker.running().size(), 1u);
  const Token token = worker.running().begin()->first;
  Restart();
  const v1::CoordinatorSync adopted = Sync(worker);
  ASSERT_EQ(adopted.desired_size(), 1);
  EXPECT_EQ(adopted.desired(0).token(), token);
  EXPECT_EQ(adopted.stop_size(), 0);
  worker.Finish(token);
  EXPECT_EQ(Sync(worker).acknowledged_sequence(), 2u);
  Restart();
  EXPECT_EQ(GetSweep("restart").train_stages().ended(), 1u);
  RunAll(worker);
  EXPECT_EQ(GetSweep("restart").state(), v1::COMPLETE);
}

TEST_F(ServicesTest, SubmissionRepeatedWithItsRequestIdMakesOneSweep) {
  const v1::SubmitSweepResponse first = Submit(SmallSweep("once", 2), "id-1");
  const v1::SubmitSweepResponse again = Submit(SmallSweep("once", 2), "id-1");
  EXPECT_EQ(first.SerializeAsString(), again.SerializeAsString());
  EXPECT_EQ(Call(&Stub::ListSweeps, {}).sweeps_size(), 1);
  v1::SubmitSweepRequest other;
  other.set_request_id("id-1");
  *other.mutable_sweep() = SmallSweep("other", 1);
  EXPECT_EQ(Try(&Stub::SubmitSweep, other).error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST_F(ServicesTest, BadSubmissionsAreRefusedWithThePlaceAndTheRemedy) {
  const auto refusal = [&](const v1::SweepSpec& sweep, std::uint64_t max_trials) {
    v1::SubmitSweepRequest request;
    *request.mutable_sweep() = sweep;
    request.set_max_trials(max_trials);
    return Try(&Stub::SubmitSweep, request);
  };
  const grpc::Status large = refusal(SmallSweep("large", 20, {8, 6}), 10);
  EXPECT_THAT(large, FailsWith(grpc::StatusCode::FAILED_PRECONDITION,
                               HasSubstr("has 40 trials, more than the limit of 10")));
  EXPECT_THAT(large.error_message(), HasSubstr("--yes"));
  EXPECT_THAT(refusal(SmallSweep("", 1), 10),
              FailsWith(grpc::StatusCode::INVALID_ARGUMENT, HasSubstr("name")));
  v1::SweepSpec unknown = SmallSweep("unknown", 1);
  unknown.mutable_axes(1)->set_field("quantization.weights.bit");
  EXPECT_THAT(refusal(unknown, 10), FailsWith(grpc::StatusCode::INVALID_ARGUMENT, HasSubstr("did you mean")));
  v1::SweepSpec out_of_range = SmallSweep("range", 1, {8, 77});
  EXPECT_THAT(refusal(out_of_range, 10), FailsWith(grpc::StatusCode::INVALID_ARGUMENT, HasSubstr("77")));
  EXPECT_EQ(Call(&Stub::ListSweeps, {}).sweeps_size(), 0);
}

TEST_F(ServicesTest, SweepsAreListedInPagesAndUnfinishedOnesApart) {
  for (int i = 1; i <= 230; ++i) Submit(SmallSweep("s" + std::to_string(i), 1));
  for (int i = 1; i <= 230; ++i) {
    if (i == 7 || i == 120) continue;
    Call(&Stub::Cancel, OfSweep<v1::CancelRequest>("s-" + std::to_string(i)));
  }
  const auto all = [&](v1::ListSweepsRequest request) {
    std::vector<int> sizes;
    std::vector<std::string> names;
    do {
      const v1::ListSweepsResponse page = Call(&Stub::ListSweeps, request);
      sizes.push_back(page.sweeps_size());
      for (const v1::SweepStatus& sweep : page.sweeps()) names.push_back(sweep.name());
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return std::pair(sizes, names);
  };
  const auto [sizes, names] = all({});
  EXPECT_EQ(sizes, (std::vector{100, 100, 30}));
  ASSERT_EQ(names.size(), 230u);
  for (int i = 0; i < 230; ++i) EXPECT_EQ(names[static_cast<std::size_t>(i)], "s" + std::to_string(230 - i));
  v1::ListSweepsRequest request;
  request.set_active(true);
  EXPECT_EQ(all(request).second, (std::vector<std::string>{"s120", "s7"}));
  request.set_page_size(1);
  EXPECT_EQ(all(request), std::pair(std::vector{1, 1}, std::vector<std::string>{"s120", "s7"}));
  request.set_page_size(1'000'000);
  request.set_active(false);
  EXPECT_EQ(all(request).first[0], 100);

  request.set_page_token("what");
  EXPECT_THAT(Try(&Stub::ListSweeps, request),
              FailsWith(grpc::StatusCode::INVALID_ARGUMENT,
                        "page_token: not one of an earlier page of sweeps; start without one"));
  request.clear_page_token();
  request.set_page_size(0);
  EXPECT_EQ(Try(&Stub::ListSweeps, request).error_message(), "page_size: must be at least 1");
}

TEST_F(ServicesTest, RequestsThatCarryTooMuchAreRefusedWithTheLimitAndTheRemedy) {
  v1::SubmitSweepRequest submit;
  *submit.mutable_sweep() = SmallSweep("s", 1);
  submit.mutable_sweep()->set_group(std::string(300, 'g'));
  EXPECT_THAT(
      Try(&Stub::SubmitSweep, submit),
      FailsWith(grpc::StatusCode::INVALID_ARGUMENT, "group: 300 bytes; at most 256 are taken; shorten it"));

  const auto pause = OfSweep<v1::PauseSweepRequest>(std::string(1 << 20, 's'));
  EXPECT_THAT(Try(&Stub::PauseSweep, pause).error_message(), HasSubstr("sweep: 1048576 bytes; at most 1024"));

  HandWorker worker = MakeWorker("w", 1);
  v1::WorkerSync sync = worker.Sync();
  sync.add_attempts()->mutable_progress()->set_phase(std::string(1 << 20, 'p'));
  v1::CoordinatorSync answer;
  EXPECT_THAT(Sync(sync, answer),
              FailsWith(grpc::StatusCode::INVALID_ARGUMENT,
                        HasSubstr("attempts.progress.phase: 1048576 bytes; at most 256")));
  EXPECT_EQ(Call(&Stub::ListWorkers, {}).workers_size(), 0);  // Nothing of it is kept.
}

TEST_F(ServicesTest, CancelStopsTheAttemptAndRetryStartsAnother) {
  HandWorker worker = Lease(SmallSweep("stop", 2));
  const v1::WorkerSync running = worker.Sync();
  EXPECT_EQ(Call(&Stub::Cancel, OfSweep<v1::CancelRequest>("stop")).cancelled(), 2u);
  v1::CoordinatorSync reply;
  ASSERT_TRUE(Sync(running, reply).ok());
  ASSERT_EQ(reply.stop_size(), 1);
  EXPECT_EQ(reply.stop(0).reason(), "cancelled");
  worker.Take(reply);
  EXPECT_EQ(Call(&Stub::Retry, OfSweep<v1::RetryRequest>("stop")).retried(), 2u);
  RunAll(worker);
  EXPECT_EQ(GetSweep("stop").trials().succeeded(), 2u);
}

TEST_F(ServicesTest, WorkerOfAnotherVersionIsRefusedOnBothTransports) {
  HandWorker worker("old", 1);
  worker.fields().set_version("9.0.0");
  v1::CoordinatorSync reply;
  const grpc::Status unary = Sync(worker.Sync(), reply);
  EXPECT_THAT(unary, FailsWith(grpc::StatusCode::FAILED_PRECONDITION,
                               HasSubstr("runs inlier 9.0.0 and this coordinator inlier " + Version())));
  grpc::ClientContext context;
  auto session = workers_->Session(&context);
  session->Write(worker.Sync());
  EXPECT_FALSE(session->Read(&reply));
  EXPECT_EQ(session->Finish().error_message(), unary.error_message());
}

TEST_F(ServicesTest, ASweepIsPushedToASessionThatWaitsAndSoIsItsEnd) {
  HandWorker worker = MakeWorker("w", 1);
  grpc::ClientContext context;
  auto session = workers_->Session(&context);
  ASSERT_TRUE(session->Write(worker.Sync()));
  v1::CoordinatorSync reply, push;
  ASSERT_TRUE(session->Read(&reply));
  EXPECT_EQ(reply.desired_size(), 0);
  EXPECT_FALSE(reply.pushed());
  Submit(SmallSweep("pushed", 1));
  ASSERT_TRUE(session->Read(&push));  // Nothing was asked.
  EXPECT_TRUE(push.pushed());
  ASSERT_EQ(push.desired_size(), 1);
  EXPECT_EQ(GetSweep("pushed").train_stages().running(), 1u);
  const v1::CancelResponse cancelled = Call(&Stub::Cancel, OfSweep<v1::CancelRequest>("pushed"));
  ASSERT_TRUE(session->Read(&push));
  EXPECT_EQ(push.desired_size(), 0);
  EXPECT_EQ(push.stop(0).reason(), "cancelled");
  EXPECT_TRUE(session->WritesDone());
  EXPECT_TRUE(session->Finish().ok());
}

TEST(ListenersTest, OnlyTheStreamThatListensEndsIt) {
  struct Stream final : Listener {
    void Push(std::uint64_t heard, v1::CoordinatorSync) override { pushes.push_back(heard); }
    std::vector<std::uint64_t> pushes;
  };
  Listeners listeners;
  const auto first = std::make_shared<Stream>(), second = std::make_shared<Stream>();
  listeners.Add("w", {first, 7});
  const Listeners::Place before = *listeners.Find("w");
  listeners.Add("w", {second, 1});  // The worker has connected again.
  EXPECT_FALSE(listeners.Remove("w", first.get()));
  listeners.Find("w")->Push({});
  EXPECT_THAT(second->pushes, ::testing::ElementsAre(1));
  before.Push({});  // Decided earlier: the stream knows what it has heard since.
  EXPECT_THAT(first->pushes, ::testing::ElementsAre(7));
  EXPECT_TRUE(listeners.Remove("w", second.get()));
  EXPECT_FALSE(listeners.Remove("w", second.get()));
  EXPECT_EQ(listeners.Find("w"), nullptr);
}

TEST_F(ServicesTest, StaleTokenIsAcknowledgedStoppedAndChangesNothing) {
  HandWorker worker = Lease(SmallSweep("stale", 1));
  const Token token = worker.running().begin()->first;
  const v1::CancelResponse cancelled = Call(&Stub::Cancel, OfTrial<v1::CancelRequest>("t-1"));
  worker.Finish(token);
  EXPECT_EQ(Sync(worker).acknowledged_sequence(), 2u);
  EXPECT_EQ(GetSweep("stale").trials().cancelled(), 1u);
  EXPECT_EQ(GetSweep("stale").train_stages().running(), 0u);
}

TEST_F(ServicesTest, WatchOfAnUnknownSweepIsNotFound) {
  grpc::ClientContext context;
  auto updates = sweeps_->WatchSweep(&context, OfSweep<v1::WatchSweepRequest>("nothing"));
  v1::SweepUpdate update;
  EXPECT_FALSE(updates->Read(&update));
  EXPECT_EQ(updates->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServicesTest, WatcherThatLeavesAndOneThatStaysBothLetTheCoordinatorStop) {
  Submit(SmallSweep("watched", 1));
  auto watch = OfSweep<v1::WatchSweepRequest>("watched");
  v1::SweepUpdate update;
  grpc::ClientContext leaving;
  auto left = sweeps_->WatchSweep(&leaving, watch);
  ASSERT_TRUE(left->Read(&update));
  leaving.TryCancel();
  EXPECT_EQ(left->Finish().error_code(), grpc::StatusCode::CANCELLED);
  grpc::ClientContext staying;
  auto stays = sweeps_->WatchSweep(&staying, watch);
  ASSERT_TRUE(stays->Read(&update));
  coordinator_.reset();
  while (stays->Read(&update)) {
  }
  EXPECT_EQ(stays->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ServicesTest, OpenSessionLetsTheCoordinatorStop) {
  HandWorker worker = MakeWorker("w", 1);
  grpc::ClientContext context;
  auto session = workers_->Session(&context);
  ASSERT_TRUE(session->Write(worker.Sync()));
  v1::CoordinatorSync reply;
  ASSERT_TRUE(session->Read(&reply));
  coordinator_.reset();
  EXPECT_FALSE(session->Read(&reply));
  EXPECT_FALSE(session->Finish().ok());
}

TEST_F(ServicesTest, ListsShowTrialsWithTheirLabelsAndWorkers) {
  HandWorker worker = Lease(SmallSweep("lists", 2));
  const v1::ListTrialsResponse trials = Call(&Stub::ListTrials, OfSweep<v1::ListTrialsRequest>("lists"));
  ASSERT_EQ(trials.trials_size(), 2);
  EXPECT_EQ(trials.trials(0).state(), v1::RUNNING);
  EXPECT_EQ(trials.trials(1).labels().at("seed"), "2");
  const v1::ListWorkersResponse workers = Call(&Stub::ListWorkers, {});
  ASSERT_EQ(workers.workers_size(), 1);
  EXPECT_EQ(workers.workers(0).busy(), 1u);
  EXPECT_TRUE(workers.workers(0).connected());
}

TEST_F(ServicesTest, WritingSqlIsRefused) {
  v1::QueryRequest query;
  query.set_sql("DELETE FROM trial");
  EXPECT_EQ(Try(&Stub::Query, query).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace inlier
