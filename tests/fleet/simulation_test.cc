// The fleet's service in virtual time, against a cluster, workers and a coordinator in which things go wrong: thousands of
// histories by seed break no invariant, and each deliberate bug of fleet/ is seen in one of them.
//
//   fleet_simulation_test --gtest_filter='*BreakNoInvariant*'    INLIER_SIMULATION_SEEDS=100000 for a long run
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/log.h"
#include "tests/fleet/simulated_cluster.h"

namespace inlier {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kRounds = 120;
// The longest wait for the next submission is 30 min, after many jobs that ended before their workers connected.
constexpr Duration kDoneWithin = minutes(120);
// idle_seconds, the calls, and the end of a job; a cancellation that did nothing is made again after a minute.
constexpr Duration kGivenBackWithin = minutes(8);

class History {
 public:
  explicit History(std::uint64_t seed) : cluster_(seed) {}

  // The violation; empty: there was none.
  std::string Run() {
    try {
      for (int round = 0; round < kRounds && cluster_.violation().empty(); ++round) Step();
      cluster_.Calm();
      Step();
      cluster_.Resume(*fleet_);
      Until([this] { return cluster_.WorkLeft() == 0; }, kDoneWithin, "not all work is done");
      Until([this] { return cluster_.Live() <= cluster_.minimum(); }, kGivenBackWithin,
            "the fleet does not go back to its minimum");
    } catch (const std::exception& error) {
      cluster_.Violate(error.what());
    }
    return cluster_.violation();
  }
  const std::map<std::string, int>& totals() const { return cluster_.totals(); }
  const std::string& text() const { return cluster_.history(); }

 private:
  void Step() {
    try {
      if (fleet_ == nullptr) Start();
      cluster_.Trouble(*fleet_);
      cluster_.Advance(fleet_->Round().value());
    } catch (const Killed&) {
      fleet_.reset();
      cluster_.Advance(
          cluster_.random().Between(seconds(0), cluster_.Chance(200) ? seconds(200) : seconds(5)));
    }
  }
  void Start() {
    StoredFleet stored = cluster_.CoordinatorStarts();
    auto made = FleetService::Make({.config = cluster_.config(), .new_id = "5f1ee7a0"}, std::move(stored),
                                   cluster_.NewEngine(), cluster_.Ports());
    if (!made.ok()) return cluster_.Violate(made.status().ToString());
    fleet_ = *std::move(made);
  }
  template <typename Reached>
  void Until(Reached reached, Duration within, const char* what) {
    const Timestamp last = cluster_.now() + within;
    while (cluster_.violation().empty() && !reached()) {
      if (cluster_.now() > last) return cluster_.Violate(absl::StrCat(what, cluster_.WorkText()));
      Step();
    }
  }

  SimulatedCluster cluster_;
  std::unique_ptr<FleetService> fleet_;
};

TEST(FleetSimulationTest, SeedsBreakNoInvariant) {
  spdlog::set_level(spdlog::level::off);
  const char* const given = std::getenv("INLIER_SIMULATION_SEEDS");
  const std::uint64_t seeds = given == nullptr ? 2000 : std::strtoull(given, nullptr, 10);
  std::map<std::string, int> totals;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    History history(seed);
    ASSERT_EQ(history.Run(), "") << "seed " << seed << "\n" << history.text();
    for (const auto& [what, count] : history.totals()) totals[what] += count;
  }
  for (const char* what : {"kills", "submissions taken", "submissions given up", "submissions ended",
                           "jobs given back", "failed nodes", "requests", "attempts that ended"}) {
    std::printf("  %-24s %d\n", what, totals[what]);
    EXPECT_GT(totals[what], 0) << what;
  }
}

class FleetBugTest : public testing::TestWithParam<const char*> {};

TEST_P(FleetBugTest, IsSeen) {
  spdlog::set_level(spdlog::level::off);
  deliberate_bug = GetParam();
  std::string violation;
  std::uint64_t seed = 0;
  while (violation.empty() && seed < 2000) violation = History(++seed).Run();
  deliberate_bug = "";
  std::printf("  seed %d: %s\n", static_cast<int>(seed), violation.c_str());
  EXPECT_NE(violation, "");
}

// All of fleet/: tests/simulation/simulation_programs_test.py compares.
INSTANTIATE_TEST_SUITE_P(All, FleetBugTest,
                         testing::Values("got_work_and_given_back", "idle_job_kept",
                                         "job_given_back_takes_work", "job_without_an_answer_not_adopted",
                                         "lost_answer_taken_as_refused", "stop_of_the_fleet_not_stored",
                                         "stopped_fleet_submits", "submission_given_up_at_once",
                                         "submission_not_stored", "submission_number_used_again",
                                         "unanswered_submission_waited_for", "unclear_jobs_not_counted"),
                         [](const testing::TestParamInfo<const char*>& bug) {
                           return std::string(bug.param);
                         });

}  // namespace
}  // namespace inlier
