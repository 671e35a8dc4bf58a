// The real orchestrator and the real store under random trouble, in virtual time: messages are lost, doubled,
// delayed and reordered, replies are lost, workers die, pause and come back, attempts crash and diverge,
// people submit, cancel and retry, and the coordinator dies between deciding and committing. After every step
// the invariants are derived again; from outside it is watched that no two workers run one stage at the same
// time, that results never change, and, once the trouble stops, that every trial ends.
//
// A seed gives one history. A failing seed is printed; pin it beside Seeds.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "tests/coordinator/orchestration/harness.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kWorkers = 4;
constexpr int kSweepsMax = 40;

OrchestratorOptions Options() {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.stall = seconds(40);
  options.expand_at_submit = 4;
  options.expand_per_tick = 3;
  options.expand_ahead = 8;
  return options;
}

// In memory where there is such a folder: thousands of commits a history, and their fsyncs are not what is
// tried here.
std::filesystem::path Folder() {
  const std::filesystem::path memory = "/dev/shm";
  std::error_code ignored;
  return std::filesystem::is_directory(memory, ignored) ? memory : std::filesystem::temp_directory_path();
}

// A worker that keeps the rules: it stops its attempts when a lease's TTL has passed since it sent the last
// sync that was answered.
struct SimWorker {
  HandWorker hand{"", 1};
  std::string incarnation;
  std::map<std::uint64_t, Timestamp> sent;  // Sync id -> when.
  Timestamp answered;                       // When the latest answered sync was sent.
  std::uint64_t answered_id = 0;
  Timestamp paused_until;

  bool Paused(Timestamp now) const { return now < paused_until; }
};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : random_(seed), harness_(Options(), Folder()) {
    for (int i = 0; i < kWorkers; ++i) StartWorker(i);
  }

  void Run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      Step();
      Check();
    }
  }

  // No more trouble: everything that was submitted must end.
  void Settle() {
    calm_ = true;
    for (int round = 0; round < 5000 && !testing::Test::HasFailure(); ++round) {
      harness_.Advance(milliseconds(700));
      Tick(true);
      Deliver();
      bool over = true;
      for (std::int64_t id = 1; id <= submitted_; ++id)
        over = over && harness_.orchestrator().IsOver(SweepId(id));
      if (over) return;
      for (SimWorker& worker : workers_) {
        worker.paused_until = {};
        Fence(worker);
        for (const Token token : Running(worker)) worker.hand.Finish(token);
        SendSync(worker);
      }
      Check();
    }
    ADD_FAILURE() << "not every trial ended:\n" << harness_.orchestrator().DurableState();
  }

  std::string Trace() const { return trace_; }
  // What happened in all, over the restarts.
  const std::map<std::string, std::uint64_t>& Totals() {
    CountUntilNow();
    return totals_;
  }
  int restarts() const { return restarts_; }
  std::int64_t trials() {
    std::int64_t count = 0;
    for (const auto& [state, number] : harness_.orchestrator().trial_counts()) count += number;
    return count;
  }

 private:
  bool Chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }
  int Below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  // Adds what the orchestrator has counted to the totals; right before it goes away.
  void CountUntilNow() {
    const OrchestratorStats& stats = harness_.orchestrator().stats();
    for (int kind = 0; kind < 2; ++kind) {
      for (int outcome = 0; outcome < 4; ++outcome) {
        totals_[OrchestratorStats::kOutcomeNames[outcome]] += stats.attempts_ended[kind][outcome];
      }
    }
    for (const auto& [failure, count] : stats.failures) totals_[v1::FailureClass_Name(failure)] += count;
    totals_["events"] += stats.events_received;
    totals_["doubled"] += stats.events_doubled;
    totals_["stale"] += stats.events_stale;
    totals_["adopted"] += stats.attempts_adopted;
    totals_["retries"] += stats.retries;
    totals_["known"] += stats.trials_known;
  }

  void StartWorker(int index) {
    SimWorker worker;
    worker.incarnation = absl::StrCat("w", index, "-", ++incarnations_);
    worker.hand = HandWorker(worker.incarnation, static_cast<std::uint32_t>(1 + index % 2));
    if (static_cast<int>(workers_.size()) <= index) workers_.resize(index + 1);
    workers_[index] = std::move(worker);
  }

  static std::vector<Token> Running(const SimWorker& worker) {
    std::vector<Token> tokens;
    for (const auto& [token, assignment] : worker.hand.running()) tokens.push_back(token);
    return tokens;
  }

  void Fence(SimWorker& worker) {
    if (harness_.now().at - worker.answered <= Options().lease_ttl) return;
    worker.hand.Take({});  // Nothing is desired any more.
  }

  // Workers look at their clocks, then the coordinator may. When it gives a worker up, that worker has
  // stopped by itself before: no stage ever runs in two places because of a lost connection. (A paused worker
  // executes nothing, and fences itself first when it wakes.)
  void Tick(bool coordinator_too) {
    for (SimWorker& worker : workers_) {
      if (!worker.Paused(harness_.now().at)) Fence(worker);
    }
    if (!coordinator_too) return;
    harness_.Tick();
    for (const std::string& line : harness_.last().log) {
      if (line.find("failure=LOST") == std::string::npos) continue;
      const Token token = std::stoull(line.substr(line.find("token=") + 6));
      for (const SimWorker& worker : workers_) {
        if (worker.Paused(harness_.now().at)) continue;
        EXPECT_FALSE(worker.hand.running().contains(token)) << line;
      }
    }
  }

  void Submit() {
    if (submitted_ >= kSweepsMax) return;
    v1::SweepSpec spec = SmallSweep(absl::StrCat("sweep", submitted_), 1 + Below(5),
                                    Chance(0.5) ? std::vector<double>{8} : std::vector<double>{8, 6, 4});
    spec.mutable_base()->mutable_training()->set_steps(100 + static_cast<std::uint32_t>(Below(12)));
    spec.set_priority(Below(3));
    if (Chance(0.3)) spec.set_max_parallel(1 + static_cast<std::uint32_t>(Below(2)));
    if (Chance(0.3)) spec.set_stop_after_failures(1 + static_cast<std::uint32_t>(Below(3)));
    spec.mutable_retry()->set_max_losses(3 + static_cast<std::uint32_t>(Below(5)));
    ASSERT_TRUE(harness_.TrySubmit(spec, absl::StrCat("request", submitted_)).ok());
    ++submitted_;
  }

  // The message is on its way; the network decides when it arrives, and how often.
  void SendSync(SimWorker& worker) {
    const v1::WorkerSync sync = worker.hand.Sync();
    worker.sent[sync.sync_id()] = harness_.now().at;
    if (calm_) return Receive(sync, /*reply_arrives=*/true);
    if (Chance(0.1)) return;  // Lost.
    const int copies = Chance(0.1) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      if (Chance(0.2)) {
        on_the_way_.emplace_back(harness_.now().at + milliseconds(Below(20'000)), sync);
      } else {
        Receive(sync, !Chance(0.1));
      }
    }
  }

  void Deliver() {
    for (std::size_t i = 0; i < on_the_way_.size();) {
      if (on_the_way_[i].first > harness_.now().at) {
        ++i;
        continue;
      }
      const v1::WorkerSync sync = on_the_way_[i].second;
      on_the_way_.erase(on_the_way_.begin() + static_cast<std::ptrdiff_t>(i));
      Receive(sync, !Chance(0.1));
    }
  }

  void Receive(const v1::WorkerSync& sync, bool reply_arrives) {
    if (!calm_ && Chance(0.01)) {
      // The coordinator dies after deciding, before committing: the reply has not left, and nothing has
      // happened.
      const std::string before = harness_.orchestrator().DurableState();
      Effects lost;
      ASSERT_TRUE(harness_.orchestrator().OnSync(sync, harness_.now(), lost).ok());
      CountUntilNow();
      harness_.Crash();
      ++restarts_;
      EXPECT_EQ(harness_.orchestrator().DurableState(), before);
      return;
    }
    const auto reply = harness_.TrySync(sync);
    ASSERT_TRUE(reply.ok()) << reply.status();
    if (!reply_arrives) return;
    for (SimWorker& worker : workers_) {
      if (worker.incarnation != sync.incarnation() || worker.Paused(harness_.now().at)) continue;
      if (reply->sync_id() < worker.answered_id) continue;  // A later one was answered already.
      worker.answered_id = reply->sync_id();
      worker.answered = std::max(worker.answered, worker.sent.at(reply->sync_id()));
      worker.hand.Take(*reply);
      Fence(worker);
    }
  }

  void Work(SimWorker& worker) {
    for (const Token token : Running(worker)) {
      const int what = Below(100);
      std::uint64_t& step = steps_[token];
      if (what < 35) {
        step = std::min<std::uint64_t>(step + 10, 100);
        worker.hand.SetProgress(token, "train", step);
        worker.hand.Emit(token, MeasurementEvent("train_loss", 1.0 / static_cast<double>(step), false));
      } else if (what < 45) {
        worker.hand.Emit(token, CheckpointEvent(step, false));
      } else if (what < 60) {
        worker.hand.Finish(token);
      } else if (what < 63) {
        worker.hand.Emit(token, OutcomeEvent(v1::Outcome::DIVERGED));
      } else if (what < 68) {
        const v1::FailureClass failures[] = {v1::CRASHED, v1::OUT_OF_MEMORY, v1::INVALID_SPEC, v1::PREEMPTED,
                                             v1::TIMED_OUT};
        worker.hand.Emit(token, FailureEvent(failures[Below(5)], "simulated"));
      }
    }
  }

  void Step() {
    harness_.Advance(milliseconds(Below(1000)));
    if (Chance(0.005)) harness_.Advance(seconds(20));
    Tick(Chance(0.7));
    Deliver();
    const int index = Below(kWorkers);
    SimWorker& worker = workers_[index];
    const int what = Below(1000);
    if (what < 30) {
      Submit();
    } else if (what < 37 && submitted_ > 0) {
      harness_.CancelSweep(SweepId(1 + Below(static_cast<int>(submitted_))));
      Forgive();
    } else if (what < 50 && submitted_ > 0) {
      harness_.RetrySweep(SweepId(1 + Below(static_cast<int>(submitted_))));
      Forgive();
    } else if (what < 56) {
      StartWorker(index);  // Killed with its children; a new process takes its place.
    } else if (what < 64) {
      worker.paused_until = harness_.now().at + seconds(Below(60));
    } else if (what < 74) {
      CountUntilNow();
      harness_.Restart();
      ++restarts_;
    } else if (!worker.Paused(harness_.now().at)) {
      if (Chance(0.6)) Work(worker);
      SendSync(worker);
    }
  }

  // FAILED and CANCELLED may change when a person retries; results never.
  void Forgive() {
    std::erase_if(ended_,
                  [](const auto& entry) { return entry.second == "FAILED" || entry.second == "CANCELLED"; });
  }

  void Check() {
    // Terminal states stay.
    const std::string state = harness_.orchestrator().DurableState();
    std::istringstream lines(state);
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("t-", 0) != 0) continue;
      std::istringstream words(line);
      std::string id, sweep, point, is;
      words >> id >> sweep >> point >> is;
      const auto [at, fresh] = ended_.emplace(id, is);
      const bool open = fresh || at->second == "PENDING" || at->second == "RUNNING";
      EXPECT_TRUE(open || at->second == is) << id << " changed from " << at->second << " to " << is;
      at->second = is;
    }
    trace_ = Sha256Hex(trace_ + state);
    EXPECT_EQ(harness_.fenced(), 0u);
  }

  std::mt19937_64 random_;
  Harness harness_;
  std::vector<SimWorker> workers_;
  std::deque<std::pair<Timestamp, v1::WorkerSync>> on_the_way_;
  std::map<Token, std::uint64_t> steps_;
  std::map<std::string, std::string> ended_;
  std::map<std::string, std::uint64_t> totals_;
  std::string trace_;
  std::int64_t submitted_ = 0;
  int incarnations_ = 0;
  int restarts_ = 0;
  bool calm_ = false;
};

void RunSeed(std::uint64_t seed, int steps) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  Simulation simulation(seed);
  simulation.Run(steps);
  simulation.Settle();
  std::string report =
      absl::StrCat("seed ", seed, ": trials=", simulation.trials(), " restarts=", simulation.restarts());
  for (const auto& [what, count] : simulation.Totals()) absl::StrAppend(&report, " ", what, "=", count);
  std::printf("%s\n", report.c_str());
  // The trouble was real.
  for (const char* what :
       {"succeeded", "diverged", "failed", "LOST", "doubled", "stale", "adopted", "retries"}) {
    EXPECT_GT(simulation.Totals().at(what), 0u) << what;
  }
}

class SimulationTest : public testing::TestWithParam<int> {};

TEST_P(SimulationTest, InvariantsHoldAndEveryTrialEnds) {
  RunSeed(static_cast<std::uint64_t>(GetParam()), 2000);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimulationTest, testing::Range(1, 9));

TEST(SimulationDeterminismTest, SeedGivesOneHistory) {
  std::string traces[2];
  for (std::string& trace : traces) {
    Simulation simulation(42);
    simulation.Run(300);
    trace = simulation.Trace();
  }
  EXPECT_EQ(traces[0], traces[1]);
}

}  // namespace
}  // namespace inlier
