// Notifications of hooks: each end of a sweep once, failures gathered, trials that no worker can run.
#include "notify/notifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/version.h"
#include "coordinator/status/explain.h"
#include "coordinator/status/status.h"
#include "notify/hook_check.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

v1::HooksConfig Hooks(const std::string& events) {
  v1::HooksConfig hooks;
  if (events.find("end") != std::string::npos) hooks.add_on_end()->set_command("/a");
  if (events.find("failure") != std::string::npos) hooks.add_on_failure()->set_command("/a");
  if (events.find("no_worker") != std::string::npos) hooks.add_on_no_worker()->set_command("/a");
  hooks.set_no_worker_seconds(100);
  return hooks;
}

// A coordinator without threads, and its notifier.
class Notified {
 public:
  explicit Notified(const v1::HooksConfig& hooks) : hooks_(hooks) { Start(); }
  explicit Notified(const std::string& events) : Notified(Hooks(events)) {}

  // The coordinator is killed, and comes back with these hooks.
  void Restart(const v1::HooksConfig& hooks) {
    hooks_ = hooks;
    notifier_.reset();
    harness.Crash();
    Start();
  }
  void Restart() { Restart(hooks_); }
  void Step() {
    if (HooksOf(hooks_).empty()) return;  // As the service.
    const absl::Status made = notifier_->Step(harness.now().at, harness.now().wall);
    EXPECT_EQ(made.ok(), takes) << made;
  }
  std::string Rows(const std::string& columns = "id, event, state", const std::string& where = "1") {
    return harness.Query("SELECT " + columns + " FROM notification WHERE " + where + " ORDER BY id");
  }
  std::vector<nlohmann::json> Bodies(const std::string& where = "1") {
    std::vector<nlohmann::json> bodies;
    std::istringstream lines(Rows("body", where));
    for (std::string line; std::getline(lines, line);) bodies.push_back(nlohmann::json::parse(line));
    return bodies;
  }
  void Commit(ChangeBatch batch) { harness.Commit({.changes = std::move(batch)}); }
  void StepAfter(std::chrono::seconds time) {
    harness.Advance(time);
    Step();
  }
  void SubmitAndCancel(const std::string& name = "gamma") {
    harness.CancelSweep(harness.Submit(SmallSweep(name, 1)));
  }
  // The next `count` trainings that the worker gets crash.
  void Crash(int count) {
    for (int round = 0; count > 0 && round < 20; ++round) {
      harness.Sync(worker);
      for (const Token token : worker.tokens())
        if (count-- > 0) worker.Emit(token, FailureEvent(v1::CRASHED, "it fell"));
      harness.Sync(worker);
    }
    EXPECT_LE(count, 0);
    Step();
  }
  // Time passes, in steps in which a worker syncs and the clock ticks.
  void Pass(int seconds, HandWorker* worker = nullptr) {
    for (; seconds > 0; seconds -= 10) {
      harness.Advance(std::chrono::seconds(10));
      if (worker != nullptr) harness.Sync(*worker);
      harness.Tick();
      Step();
    }
  }

  Harness harness;
  HandWorker worker{"w", 1};
  bool takes = true;  // False: the database takes nothing of the notifier.

 private:
  void Start() {
    Commit(StartOfNotifications(hooks_, harness.now().wall));
    reader_ = std::make_unique<Reader>(harness.database_path());
    notifier_ = std::make_unique<Notifier>(
        hooks_, "head", *reader_,
        Notifier::Ports{.store =
                            [this](ChangeBatch batch) {
                              if (takes) Commit(std::move(batch));
                              return takes;
                            },
                        .unplaceable = [this] { return UnplaceableSweeps(harness.state()); },
                        .explain =
                            [this](const v1::ExplainRequest& request) {
                              return Explain(harness.state(), request, harness.now());
                            }});
    Step();
  }

  v1::HooksConfig hooks_;
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<Notifier> notifier_;
};

v1::SweepSpec FailingSweep(int seeds) {
  v1::SweepSpec sweep = SmallSweep("failing", seeds);
  sweep.mutable_retry()->set_max_crashes(0);
  return sweep;
}

TEST(NotifierTest, WithoutHooksNothingIsStoredAndWhatHappenedIsNotNotifiedLater) {
  Notified notified("");
  notified.harness.Submit(FailingSweep(2));
  notified.Crash(2);
  EXPECT_EQ(notified.harness.Query("SELECT state FROM sweep"), "COMPLETE\n");
  notified.Restart(Hooks("end failure"));
  EXPECT_EQ(notified.Rows(), "");
  notified.SubmitAndCancel();
  notified.Step();
  EXPECT_EQ(notified.Rows("event, sweep"), "end|2\n");
}

TEST(NotifierTest, TheEndOfASweepIsNotifiedToEachHookOnce) {
  v1::HooksConfig hooks = Hooks("end");
  hooks.add_on_end()->set_command("/b");
  Notified notified(hooks);
  notified.harness.SetCaller(Harness::Named("alice"));
  notified.harness.Submit(SmallSweep("gamma", 1));
  RunAll(notified.harness, notified.worker);
  notified.Step();
  EXPECT_EQ(notified.Rows("id, event, sweep, hook, state"),
            "1|end|1|end /a|WAITING\n2|end|1|end /b|WAITING\n");
  const nlohmann::json body = notified.Bodies().front();
  EXPECT_EQ(body["id"], "n-1-1700000000000");
  EXPECT_EQ(body["event"], "end");
  EXPECT_EQ(body["time"], "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(body["coordinator"]["name"], "head");
  EXPECT_EQ(body["coordinator"]["version"], Version());
  EXPECT_EQ(body["sweep"]["id"], "s-1");
  EXPECT_EQ(body["sweep"]["name"], "gamma");
  EXPECT_EQ(body["sweep"]["owner"], "alice");
  EXPECT_EQ(body["sweep"]["state"], "COMPLETE");
  EXPECT_EQ(body["sweep"]["submitted"], "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(body["sweep"]["ended"], "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(body["sweep"]["trials"]["succeeded"], 1);
  EXPECT_EQ(body["sweep"]["trials"]["total"], 1);
  EXPECT_EQ(body["reason"], "all its trials have ended");
  EXPECT_EQ(body["text"], "sweep gamma (s-1) is COMPLETE: 1 succeeded; all its trials have ended");

  // Neither a restart nor a cancellation of the ended sweep repeats it.
  notified.Restart();
  notified.harness.CancelSweep(SweepId(1));
  notified.Step();
  EXPECT_EQ(notified.Rows("count(*)"), "2\n");
}

TEST(NotifierTest, EveryWayOfEndingIsNotifiedAsItWasWithItsReason) {
  Notified notified("end");
  notified.harness.CancelSweep(notified.harness.Submit(SmallSweep("cancelled", 3)));
  v1::SweepSpec stopped = FailingSweep(3);
  stopped.set_stop_after_failures(1);
  const SweepId sweep = notified.harness.Submit(stopped);
  notified.Crash(1);
  EXPECT_EQ(notified.Bodies().back()["sweep"]["trials"]["failed"], 1);
  notified.harness.RetrySweep(sweep);
  notified.harness.CancelSweep(sweep);
  notified.harness.RetrySweep(sweep);  // Before the end is read.
  notified.Step();
  std::vector<std::string> ends;
  for (const nlohmann::json& body : notified.Bodies()) {
    ends.push_back(body["sweep"]["state"].get<std::string>() + ": " + body["reason"].get<std::string>());
    EXPECT_TRUE(body["sweep"].contains("ended"));
  }
  EXPECT_THAT(
      ends, ElementsAre(
                "SWEEP_CANCELLED: the sweep was cancelled",
                "STOPPED_BY_FAILURES: the sweep was stopped after 1 failed trials (stop_after_failures = 1)",
                "SWEEP_CANCELLED: the sweep was cancelled"));
}

TEST(NotifierTest, WhatIsCommittedIsNotifiedOnceThoughRowsAreNotStoredAtFirst) {
  Notified notified("end");
  notified.harness.SkipInvariants();
  for (int i = 0; i < 450; ++i) notified.SubmitAndCancel();
  notified.takes = false;
  notified.Step();
  EXPECT_EQ(notified.Rows("count(*)"), "0\n");
  notified.Restart();  // It can store nothing: as killed before it did.
  EXPECT_EQ(notified.Rows("count(*)"), "0\n");
  notified.takes = true;
  notified.Step();
  EXPECT_EQ(notified.Rows("count(*), count(DISTINCT sweep), max(id)"), "450|450|450\n");
  notified.Restart();
  EXPECT_EQ(notified.Rows("count(*)"), "450\n");
}

TEST(NotifierTest, TheFirstFailureIsNotifiedAtOnceAndTheNextOnesTogether) {
  Notified notified("failure");
  notified.harness.Submit(FailingSweep(20));
  notified.Crash(1);
  EXPECT_EQ(notified.Rows("id, event, trial, state"), "1|failure|1|WAITING\n");
  const nlohmann::json first = notified.Bodies().front();
  EXPECT_EQ(first["failures"], 1);
  const nlohmann::json trial = first["trials"][0];
  EXPECT_EQ(trial["id"], "t-1");
  EXPECT_EQ(trial["labels"]["seed"], "1");
  EXPECT_EQ(trial["failure"], "CRASHED");
  EXPECT_EQ(trial["worker"], "worker-w");
  EXPECT_EQ(trial["stage"], "st-1");
  EXPECT_THAT(trial["message"].get<std::string>(), HasSubstr("it fell"));
  EXPECT_THAT(first["text"].get<std::string>(),
              AllOf(HasSubstr("1 trial of sweep failing (s-1) is FAILED; t-1"), HasSubstr("it fell")));

  notified.Crash(12);
  EXPECT_EQ(notified.Rows("count(*)"), "1\n");
  notified.StepAfter(std::chrono::seconds(61));
  EXPECT_EQ(notified.Rows("id, state"), "1|WAITING\n2|WAITING\n");
  EXPECT_EQ(notified.Bodies()[1]["failures"], 12);
  EXPECT_EQ(notified.Bodies()[1]["trials"].size(), 10u);
  EXPECT_EQ(notified.Bodies()[1]["trials"][0]["id"], "t-2");
  EXPECT_EQ(notified.Bodies()[1]["sweep"]["trials"]["failed"], 13);

  // The time has doubled; after one without failures the next is notified at once.
  notified.Crash(1);
  notified.harness.Advance(std::chrono::seconds(61));
  notified.harness.Sync(notified.worker);
  notified.Step();
  EXPECT_EQ(notified.Rows("count(*)"), "2\n");
  notified.StepAfter(std::chrono::seconds(61));
  EXPECT_EQ(notified.Rows("count(*)"), "3\n");
  notified.StepAfter(std::chrono::seconds(241));
  notified.Crash(1);
  EXPECT_EQ(notified.Rows("count(*)"), "4\n");
}

TEST(NotifierTest, GatheredFailuresSurviveARestartAndComeBeforeTheEnd) {
  Notified notified("failure end");
  notified.harness.Submit(FailingSweep(4));
  notified.Crash(1);
  notified.Crash(1);
  EXPECT_EQ(notified.Rows("count(*)"), "1\n");
  notified.SubmitAndCancel("other");
  notified.Step();  // Events after the gathered one are taken.
  notified.Restart();
  notified.Crash(1);
  notified.Crash(1);
  EXPECT_EQ(notified.Rows("id, event"), "1|failure\n2|end\n3|failure\n4|failure\n5|failure\n6|end\n");
  std::vector<std::string> trials;
  for (const nlohmann::json& body : notified.Bodies("event = 'failure'")) {
    EXPECT_EQ(body["failures"], 1);
    trials.push_back(body["trials"][0]["id"].get<std::string>());
  }
  EXPECT_THAT(trials, ElementsAre("t-1", "t-2", "t-3", "t-4"));
}

TEST(NotifierTest, ATrialThatIsRetriedAndSucceedsIsNoFailure) {
  Notified notified("failure");
  notified.harness.Submit(SmallSweep("gamma", 1));
  notified.harness.Sync(notified.worker);
  notified.harness.Report(notified.worker, FailureEvent(v1::CRASHED, "it fell"));
  notified.harness.Advance(std::chrono::hours(1));
  RunAll(notified.harness, notified.worker);
  notified.Step();
  EXPECT_EQ(notified.harness.Query("SELECT state FROM sweep"), "COMPLETE\n");
  EXPECT_THAT(notified.Bodies(), IsEmpty());
}

TEST(NotifierTest, ASpecificationThatCannotRunIsAFailure) {
  Notified notified("failure");
  v1::SweepSpec sweep = SmallSweep("invalid", 1);
  *sweep.mutable_axes(0) = NumberAxis("model.bert.heads", {3});  // Does not divide the hidden size.
  notified.harness.Submit(sweep);
  notified.Step();
  const nlohmann::json body = notified.Bodies().at(0);
  EXPECT_EQ(body["trials"][0]["failure"], "INVALID_SPEC");
  EXPECT_EQ(body["trials"][0]["labels"]["heads"], "3");
  EXPECT_FALSE(body["trials"][0].contains("worker"));
}

TEST(NotifierTest, AHookThatIsRemovedKeepsItsNotificationsForThreeDays) {
  v1::HooksConfig hooks = Hooks("end");
  hooks.add_on_end()->set_command("/b");
  Notified notified(hooks);
  notified.SubmitAndCancel();
  notified.Step();
  notified.harness.Advance(std::chrono::hours(71));
  notified.Restart(Hooks("end"));
  EXPECT_EQ(notified.Rows("hook, state"), "end /a|WAITING\nend /b|WAITING\n");
  notified.harness.Advance(std::chrono::hours(2));
  notified.Restart();
  EXPECT_EQ(notified.Rows("hook, state"), "end /a|WAITING\nend /b|GIVEN_UP\n");
}

TEST(NotifierTest, TheLatestThatHaveEndedAreKeptAndAllThatWait) {
  Notified notified("end");
  const auto insert = [&](int id, const std::string& state, int lasts) {
    ChangeBatch batch;
    batch.Add(
        ServiceStatement{"INSERT INTO notification (id, at_ms, event, sweep, hook, body, state, lasts) "
                         "VALUES (?1, 0, 'end', 1, 'end /a', '{}', ?2, ?3)",
                         {std::int64_t{id}, state, std::int64_t{lasts}}});
    notified.Commit(std::move(batch));
  };
  insert(1, "DELIVERED", 0);
  insert(2, "WAITING", 0);
  insert(3, "DELIVERED", 1);
  insert(4, "GIVEN_UP", 0);
  insert(10002, "DELIVERED", 0);
  notified.Restart();
  notified.SubmitAndCancel();
  notified.Step();
  EXPECT_EQ(notified.Rows("id"), "2\n3\n4\n10002\n10003\n");
}

TEST(NotifierTest, ADatabaseOfAnEarlierVersionGoesOnFromItsLastEvent) {
  const TemporaryFolder folder;
  const std::vector<Migration>& all = BuiltinMigrations();
  {
    auto old = Database::Open(folder.path(), {all.begin(), all.begin() + 4}).value();
    old->connection().exec(
        "INSERT INTO event (at_ms, kind, sweep, message) VALUES (0, 'sweep_ended', 1, 'COMPLETE');"
        "INSERT INTO notification (id, at_ms, event, sweep, hook, body, state) "
        "VALUES (1, 0, 'failure', 1, 'failure /a', '{}', 'GATHERING')");
  }
  auto database = Database::Open(folder.path()).value();
  ASSERT_TRUE(Store(*database).Apply(StartOfNotifications(Hooks("end"), WallTime{})).ok());
  EXPECT_EQ(database->connection().execAndGet("SELECT state FROM notification").getString(), "WAITING");
  EXPECT_EQ(database->connection().execAndGet("SELECT event FROM notification_cursor").getInt(), 1);
}

TEST(NoWorkerTest, IsNotifiedOnceWhileItLastsAlsoOverARestart) {
  Notified notified("no_worker");
  notified.harness.Submit(SmallSweep("lonely", 2));
  notified.Pass(90);
  EXPECT_EQ(notified.Rows("count(*)"), "0\n");
  notified.Pass(20);
  EXPECT_EQ(notified.Rows("count(*)"), "1\n");
  const nlohmann::json body = notified.Bodies().front();
  EXPECT_EQ(body["event"], "no_worker");
  EXPECT_EQ(body["reason"], "no worker is connected");
  EXPECT_EQ(body["trial"], "t-1");
  EXPECT_GE(body["waited_seconds"].get<int>(), 100);
  EXPECT_EQ(body["sweep"]["trials"]["pending"], 2);
  EXPECT_THAT(body["text"].get<std::string>(),
              HasSubstr("no worker can run trials of sweep lonely (s-1), for "));
  notified.Pass(500);
  notified.Restart();
  notified.Pass(500);
  EXPECT_EQ(notified.Rows("count(*)"), "1\n");

  // A worker comes, and goes: the condition begins again.
  notified.Pass(20, &notified.worker);
  EXPECT_EQ(notified.Rows("lasts"), "0\n");
  notified.Pass(400);
  EXPECT_EQ(notified.Rows("count(*)"), "2\n");
}

TEST(NoWorkerTest, AWorkerThatIsTooSmallOrDrainedCannotRunThem) {
  Notified notified("no_worker");
  notified.worker.fields().set_memory_mib(1000);
  v1::SweepSpec large = SmallSweep("large", 1);
  large.mutable_resources()->set_memory_mib(5000);
  notified.harness.Submit(large);
  notified.Pass(130, &notified.worker);
  EXPECT_THAT(notified.Bodies().at(0)["reason"].get<std::string>(), HasSubstr("it needs 5000 MiB of memory"));

  notified.harness.CancelSweep(SweepId(1));
  v1::DrainWorkerRequest drain;
  drain.set_worker("w");
  ASSERT_TRUE(notified.harness.Ask(&DrainWorker, drain).ok());
  notified.harness.Submit(SmallSweep("gamma", 1));
  notified.Pass(130, &notified.worker);
  EXPECT_EQ(notified.Rows("count(*)"), "2\n");
  EXPECT_THAT(notified.Bodies().at(1)["reason"].get<std::string>(), HasSubstr("worker worker-w is drained"));
}

TEST(NoWorkerTest, AWorkerThatIsBusyOrASweepThatIsPausedIsNoCondition) {
  Notified notified("no_worker");
  notified.harness.Sync(notified.worker);
  notified.harness.Submit(SmallSweep("gamma", 5));
  notified.Pass(300, &notified.worker);
  ASSERT_THAT(notified.harness.PauseSweep(SweepId(1)), IsOk());
  notified.Pass(300);
  EXPECT_EQ(notified.Rows("count(*)"), "0\n");
}

}  // namespace
}  // namespace inlier
