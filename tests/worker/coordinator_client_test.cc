// The client against a fake coordinator over real gRPC. There is no sleeping: each test waits for what
// the other side has seen.
#include "worker/coordinator_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "tests/support/temporary_folder.h"
#include "tests/worker/fake_coordinator.h"

namespace inlier {
namespace {

using testing::HasSubstr;
using State = FakeCoordinator::State;

class CoordinatorClientTest : public testing::Test {
 protected:
  CoordinatorClientTest() { outbox_ = *Outbox::Open(state_.path(), "test", 100000); }

  void StartClient(const std::string& address, Duration answer_timeout = std::chrono::seconds(30)) {
    CoordinatorClientOptions options;
    options.address = address;
    options.backoff = {std::chrono::milliseconds(5), std::chrono::milliseconds(20)};
    options.answer_timeout = answer_timeout;
    options.limits.events_max = 100;
    client_ = std::make_unique<CoordinatorClient>(
        options, *outbox_, metrics_,
        CoordinatorClientHooks{.fill = [](v1::WorkerSync& sync) { sync.set_incarnation("test"); },
                               .on_answer = [](const v1::CoordinatorSync&, bool) {},
                               .on_lease =
                                   [this](LeaseGuard::State state) {
                                     const std::lock_guard lock(mutex_);
                                     leases_.push_back(state);
                                     changed_.notify_all();
                                   },
                               .on_refused =
                                   [this](const absl::Status& status) {
                                     const std::lock_guard lock(mutex_);
                                     refused_ = status;
                                     changed_.notify_all();
                                   }});
    client_->Start();
  }

  void Append(int count, bool final) {
    std::vector<Outbox::Entry> entries;
    for (int i = 0; i < count; ++i) {
      Outbox::Entry& entry = entries.emplace_back(Outbox::Entry{1, "stage", {}});
      entry.event.mutable_measurement()->set_final(final);
    }
    ASSERT_TRUE(outbox_->Append(std::move(entries)).ok());
    client_->RequestSync(final ? CoordinatorClient::Urgency::kResult : CoordinatorClient::Urgency::kPoint);
  }

  template <typename Ready>
  bool Wait(Ready ready) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), ready);
  }

  TemporaryFolder state_;
  std::unique_ptr<Outbox> outbox_;
  WorkerMetrics metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<LeaseGuard::State> leases_;
  std::optional<absl::Status> refused_;
  std::unique_ptr<CoordinatorClient> client_;
};

TEST_F(CoordinatorClientTest, HeartbeatsComeWithoutAnythingToSay) {
  FakeCoordinator coordinator({.next_sync_ms = 20});
  StartClient(coordinator.address());
  EXPECT_TRUE(coordinator.WaitFor([](const State& state) { return state.syncs.size() >= 10; }));
  EXPECT_EQ(coordinator.state().sessions, 1);
  EXPECT_EQ(coordinator.state().unary, 0);
}

TEST_F(CoordinatorClientTest, ManyEventsGoInBoundedSyncsOnceEachInOrder) {
  FakeCoordinator coordinator({});
  StartClient(coordinator.address());
  Append(1234, true);
  ASSERT_TRUE(coordinator.WaitFor([](const State& state) { return state.events.size() == 1234; }));
  const State state = coordinator.state();
  for (size_t i = 0; i < state.events.size(); ++i) ASSERT_EQ(state.events[i].sequence(), i + 1);
  for (const v1::WorkerSync& sync : state.syncs) EXPECT_LE(sync.events_size(), 100);
  EXPECT_EQ(state.doubled, 0u);
}

TEST_F(CoordinatorClientTest, AResultDoesNotWaitForTheHeartbeat) {
  // The heartbeat is due after 20 minutes; the stand-in's deadline is one.
  FakeCoordinator coordinator({.ttl_ms = 3'600'000, .next_sync_ms = 1'200'000});
  StartClient(coordinator.address());
  ASSERT_TRUE(coordinator.WaitFor([](const State& state) { return state.syncs.size() == 1; }));
  Append(1, true);
  EXPECT_TRUE(coordinator.WaitFor([](const State& state) { return state.events.size() == 1; }));
  Append(1, false);
  EXPECT_TRUE(coordinator.WaitFor([](const State& state) { return state.events.size() == 2; }));
  client_->RequestSync(CoordinatorClient::Urgency::kProgress);
  EXPECT_TRUE(coordinator.WaitFor([](const State& state) { return state.syncs.size() >= 4; }));
}

TEST_F(CoordinatorClientTest, UncommittedEventsAreSentAgainAndCommittedOnce) {
  FakeCoordinator coordinator({.next_sync_ms = 50});
  coordinator.SetCommitting(false);
  StartClient(coordinator.address());
  Append(250, true);
  ASSERT_TRUE(coordinator.WaitFor([](const State& state) {
    int times = 0;
    for (const auto& sync : state.syncs) times += sync.events_size() > 0 && sync.events(0).sequence() == 1;
    return times >= 2;
  }));
  EXPECT_EQ(outbox_->size(), 250u);
  coordinator.SetCommitting(true);
  ASSERT_TRUE(coordinator.WaitFor([](const State& state) { return state.events.size() == 250; }));
}

TEST_F(CoordinatorClientTest, ARestartedCoordinatorIsFoundAndGetsTheUncommittedEvents) {
  auto coordinator = std::make_unique<FakeCoordinator>(FakeCoordinator::Settings{});
  const std::string address = coordinator->address();
  StartClient(address);
  Append(3, true);
  ASSERT_TRUE(coordinator->WaitFor([](const State& state) { return state.events.size() == 3; }));
  coordinator->SetCommitting(false);
  Append(2, true);
  coordinator.reset();
  coordinator = std::make_unique<FakeCoordinator>(FakeCoordinator::Settings{}, address);
  ASSERT_TRUE(coordinator->WaitFor(
      [](const State& state) { return !state.events.empty() && state.events.back().sequence() == 5; }));
}

TEST_F(CoordinatorClientTest, WithoutStreamsSingleCallsCarryTheSame) {
  FakeCoordinator coordinator({.next_sync_ms = 20, .streams = false});
  StartClient(coordinator.address());
  Append(300, true);
  ASSERT_TRUE(coordinator.WaitFor(
      [](const State& state) { return state.events.size() == 300 && state.unary >= 10; }));
  EXPECT_EQ(coordinator.state().sessions, 0);
  EXPECT_TRUE(client_->connected());
}

TEST_F(CoordinatorClientTest, ASilentStreamIsGivenUpForSingleCalls) {
  FakeCoordinator coordinator({});
  coordinator.SetSilent(true);
  StartClient(coordinator.address(), std::chrono::milliseconds(100));
  EXPECT_TRUE(coordinator.WaitFor([](const State& state) { return state.unary >= 1; }));
  EXPECT_FALSE(client_->connected());
  coordinator.SetSilent(false);
  Append(1, true);
  EXPECT_TRUE(coordinator.WaitFor([](const State& state) { return state.events.size() == 1; }));
}

TEST_F(CoordinatorClientTest, TheLeaseEndsWhenAnswersStopAndHoldsAgainWhenTheyComeBack) {
  FakeCoordinator coordinator({.ttl_ms = 300, .next_sync_ms = 50});
  StartClient(coordinator.address());
  using enum LeaseGuard::State;
  ASSERT_TRUE(Wait([&] { return leases_.size() == 1; }));
  coordinator.SetSilent(true);
  ASSERT_TRUE(Wait([&] { return leases_.back() == kAway; }));
  coordinator.SetSilent(false);
  ASSERT_TRUE(Wait([&] { return leases_.back() == kHeld; }));
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(leases_, (std::vector{kHeld, kAway, kHeld}));
}

TEST_F(CoordinatorClientTest, ARefusalEndsTheClientWithTheReason) {
  FakeCoordinator coordinator({.version = "9.9.9"});
  StartClient(coordinator.address());
  ASSERT_TRUE(Wait([&] { return refused_.has_value(); }));
  EXPECT_THAT(std::string(refused_->message()),
              HasSubstr("the coordinator at " + coordinator.address() + " refuses this worker: "));
  EXPECT_THAT(std::string(refused_->message()), HasSubstr("this coordinator of 9.9.9"));
}

TEST_F(CoordinatorClientTest, AWrongAddressIsReportedWithTheRemedyAndTriedAgain) {
  // Nothing listens; then a coordinator does.
  std::string address;
  {
    FakeCoordinator gone({});
    address = gone.address();
  }
  StartClient(address);
  FakeCoordinator coordinator({}, address);
  EXPECT_TRUE(coordinator.WaitFor([](const State& state) { return !state.syncs.empty(); }));
}

TEST_F(CoordinatorClientTest, StopEndsAtOnceInEveryStateOfTheServer) {
  FakeCoordinator coordinator({});
  coordinator.SetSilent(true);
  StartClient(coordinator.address());
  ASSERT_TRUE(coordinator.WaitFor([](const State& state) { return !state.syncs.empty(); }));
  client_->Stop();
  client_->Stop();
}

TEST(BackoffWithinTest, AWorkerTriesSeveralTimesWithinTheLeaseThatARestartedCoordinatorGives) {
  const Backoff wished = CoordinatorClientOptions().backoff;
  for (const Duration ttl : {Duration(std::chrono::milliseconds(200)), Duration(std::chrono::seconds(15))}) {
    const Backoff backoff = BackoffWithin(wished, ttl);
    // However long it has been away; the longest jitter.
    EXPECT_LT(backoff.Wait(1000, 0.999) * 3, ttl);
    EXPECT_EQ(backoff.first, wished.first);
  }
  // A long lease is no reason to wait longer.
  EXPECT_EQ(BackoffWithin(wished, std::chrono::hours(1)).longest, wished.longest);
}

TEST(DescribeCallFailureTest, EachKindOfFailureNamesTheAddressAndTheRemedy) {
  EXPECT_EQ(DescribeCallFailure(absl::UnavailableError("connection refused"), "here:1"),
            "no coordinator answers at here:1 (connection refused); is it running, and is `coordinator` its "
            "gRPC address? endpoint.json "
            "in its state folder has the address");
  EXPECT_THAT(DescribeCallFailure(absl::UnimplementedError("x"), "here:1"),
              HasSubstr("the server at here:1 is no inlier coordinator"));
  EXPECT_EQ(DescribeCallFailure(absl::InternalError("boom"), "here:1"),
            "the coordinator at here:1 answered INTERNAL: boom");
}

}  // namespace
}  // namespace inlier
