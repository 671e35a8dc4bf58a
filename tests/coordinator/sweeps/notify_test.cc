// Notifications of decisions: each end of a sweep once, failures gathered, trials that no worker can run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

OrchestratorOptions WithHooks(std::map<std::string, std::vector<std::string>> keys) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.hooks.coordinator = "head";
  options.hooks.keys = std::move(keys);
  options.hooks.no_worker = std::chrono::seconds(100);
  return options;
}
OrchestratorOptions EndHooks() { return WithHooks({{"end", {"end /a", "end /b"}}}); }
OrchestratorOptions FailureHook() { return WithHooks({{"failure", {"failure /a"}}}); }
OrchestratorOptions NoWorkerHook() { return WithHooks({{"no_worker", {"no_worker /a"}}}); }

std::vector<nlohmann::json> Bodies(Harness& harness, const std::string& where = "1") {
  std::vector<nlohmann::json> bodies;
  std::istringstream lines(harness.Query("SELECT body FROM notification WHERE " + where + " ORDER BY id"));
  for (std::string line; std::getline(lines, line);) bodies.push_back(nlohmann::json::parse(line));
  return bodies;
}

v1::SweepSpec FailingSweep(int seeds) {
  v1::SweepSpec sweep = SmallSweep("failing", seeds);
  sweep.mutable_retry()->set_max_crashes(0);
  return sweep;
}

// The next `count` trainings that the worker gets crash.
void Crash(Harness& harness, HandWorker& worker, int count) {
  for (int round = 0; count > 0 && round < 20; ++round) {
    harness.Sync(worker);
    std::vector<Token> tokens;
    for (const auto& [token, assignment] : worker.running()) tokens.push_back(token);
    for (const Token token : tokens) {
      if (count-- > 0) worker.Emit(token, FailureEvent(v1::CRASHED, "it fell"));
    }
    harness.Sync(worker);
  }
  EXPECT_LE(count, 0);
}

TEST(NotifyTest, WithoutHooksNothingIsStored) {
  Harness harness;
  HandWorker worker("w", 2);
  harness.Submit(FailingSweep(2));
  Crash(harness, worker, 2);
  EXPECT_EQ(harness.Query("SELECT state FROM sweep"), "COMPLETE\n");
  EXPECT_EQ(harness.Query("SELECT count(*) FROM notification"), "0\n");
}

TEST(NotifyTest, TheEndOfASweepIsNotifiedToEachHookOnceInTheTransactionOfTheDecision) {
  Harness harness(EndHooks());
  HandWorker worker("w", 1);
  harness.SetCaller(Harness::Named("alice"));
  harness.Submit(SmallSweep("gamma", 1));
  RunAll(harness, worker);
  EXPECT_EQ(harness.Query("SELECT id, event, sweep, hook, state FROM notification"),
            "1|end|1|end /a|WAITING\n2|end|1|end /b|WAITING\n");
  const nlohmann::json body = Bodies(harness).front();
  EXPECT_EQ(body["id"], "n-1-1700000000000");
  EXPECT_EQ(body["event"], "end");
  EXPECT_EQ(body["time"], "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(body["coordinator"]["name"], "head");
  EXPECT_EQ(body["coordinator"]["version"], "1.0");
  EXPECT_EQ(body["sweep"]["id"], "s-1");
  EXPECT_EQ(body["sweep"]["name"], "gamma");
  EXPECT_EQ(body["sweep"]["owner"], "alice");
  EXPECT_EQ(body["sweep"]["state"], "COMPLETE");
  EXPECT_EQ(body["sweep"]["trials"]["succeeded"], 1);
  EXPECT_EQ(body["sweep"]["trials"]["total"], 1);
  EXPECT_EQ(body["reason"], "all its trials have ended");
  EXPECT_EQ(body["text"], "sweep gamma (s-1) is COMPLETE: 1 succeeded; all its trials have ended");

  // Neither a restart nor a cancellation of the ended sweep repeats it; a retry that ends again is another end.
  harness.Restart();
  harness.CancelSweep(SweepId(1));
  EXPECT_EQ(harness.Query("SELECT count(*) FROM notification"), "2\n");
}

TEST(NotifyTest, EveryWayOfEndingIsNotifiedWithItsReason) {
  Harness harness(WithHooks({{"end", {"end /a"}}}));
  HandWorker worker("w", 1);
  harness.CancelSweep(harness.Submit(SmallSweep("cancelled", 3)));
  v1::SweepSpec stopped = FailingSweep(3);
  stopped.set_stop_after_failures(1);
  const SweepId sweep = harness.Submit(stopped);
  Crash(harness, worker, 1);
  std::vector<std::string> ends;
  for (const nlohmann::json& body : Bodies(harness)) {
    ends.push_back(body["sweep"]["state"].get<std::string>() + ": " + body["reason"].get<std::string>());
  }
  EXPECT_THAT(
      ends,
      ElementsAre(
          "SWEEP_CANCELLED: the sweep was cancelled",
          "STOPPED_BY_FAILURES: the sweep was stopped after 1 failed trials (stop_after_failures = 1)"));
  EXPECT_EQ(Bodies(harness).back()["sweep"]["trials"]["failed"], 1);
  harness.RetrySweep(sweep);
  harness.CancelSweep(sweep);
  EXPECT_EQ(harness.Query("SELECT count(*) FROM notification"), "3\n");
}

TEST(NotifyTest, AnEndThatWasNotCommittedIsNotifiedAfterTheRestart) {
  Harness harness(WithHooks({{"end", {"end /a"}}}));
  harness.Submit(SmallSweep("gamma", 1));
  v1::CancelRequest request;
  request.set_sweep("s-1");
  Effects lost;
  ASSERT_TRUE(harness.orchestrator().OnCancel(request, harness.now(), lost, Caller()).ok());
  harness.Crash();
  EXPECT_EQ(harness.Query("SELECT count(*) FROM notification"), "0\n");
  harness.CancelSweep(SweepId(1));
  EXPECT_EQ(harness.Query("SELECT id, state FROM notification"), "1|WAITING\n");
}

TEST(NotifyTest, TheFirstFailureIsNotifiedAtOnceAndTheNextOnesTogether) {
  Harness harness(FailureHook());
  HandWorker worker("w", 1);
  harness.Submit(FailingSweep(20));
  Crash(harness, worker, 1);
  EXPECT_EQ(harness.Query("SELECT id, event, trial, state FROM notification"), "1|failure|1|WAITING\n");
  const nlohmann::json first = Bodies(harness).front();
  EXPECT_EQ(first["failures"], 1);
  const nlohmann::json trial = first["trials"][0];
  EXPECT_EQ(trial["id"], "t-1");
  EXPECT_EQ(trial["labels"]["seed"], "1");
  EXPECT_EQ(trial["failure"], "CRASHED");
  EXPECT_EQ(trial["worker"], "worker-w");
  EXPECT_THAT(trial["message"].get<std::string>(), HasSubstr("it fell"));
  EXPECT_THAT(first["text"].get<std::string>(),
              AllOf(HasSubstr("1 trial of sweep failing (s-1) is FAILED; t-1"), HasSubstr("it fell")));

  Crash(harness, worker, 12);
  EXPECT_EQ(harness.Query("SELECT id, state FROM notification"), "1|WAITING\n2|GATHERING\n");
  harness.Advance(std::chrono::seconds(61));
  harness.Tick();
  EXPECT_EQ(harness.Query("SELECT id, state FROM notification"), "1|WAITING\n2|WAITING\n");
  EXPECT_EQ(Bodies(harness)[1]["failures"], 12);
  EXPECT_EQ(Bodies(harness)[1]["trials"].size(), 10u);
  EXPECT_EQ(Bodies(harness)[1]["trials"][0]["id"], "t-2");
  EXPECT_EQ(Bodies(harness)[1]["sweep"]["trials"]["failed"], 13);

  // The time has doubled; after one without failures the next is notified at once.
  Crash(harness, worker, 1);
  harness.Advance(std::chrono::seconds(61));
  harness.Sync(worker);
  harness.Tick();
  EXPECT_EQ(harness.Query("SELECT state FROM notification WHERE id = 3"), "GATHERING\n");
  harness.Advance(std::chrono::seconds(61));
  harness.Tick();
  EXPECT_EQ(harness.Query("SELECT state FROM notification WHERE id = 3"), "WAITING\n");
  harness.Advance(std::chrono::seconds(241));
  harness.Tick();
  Crash(harness, worker, 1);
  EXPECT_EQ(harness.Query("SELECT state FROM notification WHERE id = 4"), "WAITING\n");
}

TEST(NotifyTest, GatheredFailuresSurviveARestartAndComeBeforeTheEnd) {
  Harness harness(WithHooks({{"failure", {"failure /a"}}, {"end", {"end /a"}}}));
  HandWorker worker("w", 1);
  harness.Submit(FailingSweep(4));
  Crash(harness, worker, 2);
  EXPECT_EQ(harness.Query("SELECT id, state FROM notification"), "1|WAITING\n2|GATHERING\n");
  harness.Crash();
  EXPECT_EQ(harness.Query("SELECT id, state FROM notification"), "1|WAITING\n2|WAITING\n");
  Crash(harness, worker, 2);
  EXPECT_EQ(harness.Query("SELECT id, event, state FROM notification WHERE id > 2"),
            "3|failure|WAITING\n4|failure|WAITING\n5|end|WAITING\n");
  std::uint64_t failures = 0;
  for (const nlohmann::json& body : Bodies(harness, "event = 'failure'"))
    failures += body["failures"].get<std::uint64_t>();
  EXPECT_EQ(failures, 4u);
}

TEST(NotifyTest, ATrialThatIsRetriedAndSucceedsIsNoFailure) {
  Harness harness(FailureHook());
  HandWorker worker("w", 1);
  harness.Submit(SmallSweep("gamma", 1));
  harness.Sync(worker);
  worker.Emit(worker.running().begin()->first, FailureEvent(v1::CRASHED, "it fell"));
  harness.Sync(worker);
  harness.Advance(std::chrono::hours(1));
  RunAll(harness, worker);
  EXPECT_EQ(harness.Query("SELECT state FROM sweep"), "COMPLETE\n");
  EXPECT_THAT(Bodies(harness), IsEmpty());
}

TEST(NotifyTest, ASpecificationThatCannotRunIsAFailure) {
  Harness harness(FailureHook());
  v1::SweepSpec sweep = SmallSweep("invalid", 1);
  *sweep.mutable_axes(0) = NumberAxis("model.bert.heads", {3});  // Does not divide the hidden size.
  harness.Submit(sweep);
  ASSERT_EQ(harness.Query("SELECT state FROM trial"), "FAILED\n");
  const nlohmann::json body = Bodies(harness).at(0);
  EXPECT_EQ(body["trials"][0]["failure"], "INVALID_SPEC");
  EXPECT_EQ(body["trials"][0]["labels"]["heads"], "3");
}

class NoWorkerTest : public testing::Test {
 protected:
  // Time passes, in steps in which a worker syncs and the clock ticks.
  void Pass(int seconds, HandWorker* worker = nullptr) {
    for (; seconds > 0; seconds -= 10) {
      harness_.Advance(std::chrono::seconds(10));
      if (worker != nullptr) harness_.Sync(*worker);
      harness_.Tick();
    }
  }
  std::string Count() { return harness_.Query("SELECT count(*) FROM notification"); }

  Harness harness_{NoWorkerHook()};
};

TEST_F(NoWorkerTest, IsNotifiedOnceWhileItLastsAlsoOverARestart) {
  harness_.Submit(SmallSweep("lonely", 2));
  Pass(90);
  EXPECT_EQ(Count(), "0\n");
  Pass(20);
  EXPECT_EQ(Count(), "1\n");
  const nlohmann::json body = Bodies(harness_).front();
  EXPECT_EQ(body["event"], "no_worker");
  EXPECT_EQ(body["reason"], "no worker is connected");
  EXPECT_EQ(body["trial"], "t-1");
  EXPECT_GE(body["waited_seconds"].get<int>(), 100);
  EXPECT_EQ(body["sweep"]["trials"]["pending"], 2);
  Pass(500);
  harness_.Restart();
  Pass(500);
  EXPECT_EQ(Count(), "1\n");

  // A worker comes, and goes: the condition begins again.
  HandWorker worker("w", 1);
  Pass(20, &worker);
  EXPECT_EQ(harness_.Query("SELECT lasts FROM notification"), "0\n");
  Pass(400);
  EXPECT_EQ(Count(), "2\n");
}

TEST_F(NoWorkerTest, ManySweepsAreNotifiedInSmallSteps) {
  for (int i = 0; i < 45; ++i) harness_.Submit(SmallSweep("lonely-" + std::to_string(i), 1));
  harness_.Tick();
  harness_.Advance(std::chrono::seconds(101));
  std::vector<std::string> counts;
  for (int i = 0; i < 4; ++i) {
    harness_.Tick();
    counts.push_back(Count());
    EXPECT_LE(*NextDeadline(harness_.orchestrator().state()),
              harness_.now().at + std::chrono::seconds(i < 2 ? 1 : 10));
    harness_.Advance(std::chrono::milliseconds(100));
  }
  EXPECT_THAT(counts, ElementsAre("20\n", "40\n", "45\n", "45\n"));
}

TEST_F(NoWorkerTest, AWorkerThatIsTooSmallOrDrainedCannotRunThem) {
  HandWorker worker("w", 1);
  worker.fields().set_memory_mib(1000);
  v1::SweepSpec large = SmallSweep("large", 1);
  large.mutable_resources()->set_memory_mib(5000);
  harness_.Submit(large);
  Pass(130, &worker);
  EXPECT_THAT(Bodies(harness_).at(0)["reason"].get<std::string>(), HasSubstr("it needs 5000 MiB of memory"));

  harness_.CancelSweep(SweepId(1));
  v1::DrainWorkerRequest drain;
  drain.set_worker("w");
  ASSERT_TRUE(harness_.Ask(&Orchestrator::OnDrain, drain).ok());
  harness_.Submit(SmallSweep("gamma", 1));
  Pass(130, &worker);
  EXPECT_EQ(Count(), "2\n");
  EXPECT_THAT(Bodies(harness_).at(1)["reason"].get<std::string>(), HasSubstr("worker worker-w is drained"));
}

TEST_F(NoWorkerTest, AWorkerThatIsBusyOrASweepThatIsPausedIsNoCondition) {
  HandWorker worker("w", 1);
  harness_.Sync(worker);
  harness_.Submit(SmallSweep("gamma", 5));
  Pass(300, &worker);
  v1::PauseSweepRequest pause;
  pause.set_sweep("s-1");
  ASSERT_TRUE(harness_.Ask(&Orchestrator::OnPause, pause).ok());
  Pass(300);
  EXPECT_EQ(Count(), "0\n");
}

TEST(NotifyTest, AHookThatIsRemovedKeepsItsNotificationsForThreeDays) {
  Harness before(EndHooks());
  before.CancelSweep(before.Submit(SmallSweep("gamma", 1)));
  Snapshot snapshot = *before.Load();
  EXPECT_THAT(snapshot.waiting_hooks, ElementsAre("end /a", "end /b"));
  EXPECT_EQ(snapshot.next_notification, 3u);
  for (const int hours : {1, 73}) {
    Orchestrator without_b(WithHooks({{"end", {"end /a"}}}));
    Moment later = before.now();
    later.wall.unix_ms += std::int64_t{hours} * 3'600'000;
    Effects effects;
    ASSERT_TRUE(without_b.Recover(*before.Load(), later, effects).ok());
    before.Commit(std::move(effects));
    EXPECT_EQ(before.Query("SELECT state FROM notification WHERE hook = 'end /a'"), "WAITING\n");
    EXPECT_EQ(before.Query("SELECT state FROM notification WHERE hook = 'end /b'"),
              hours == 1 ? "WAITING\n" : "GIVEN_UP\n");
  }
}

}  // namespace
}  // namespace inlier
