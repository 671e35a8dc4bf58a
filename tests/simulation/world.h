// Virtual time, what is about to happen in it, chance, and the record of what has happened. One step is one
// thing that happens: a message arrives, a timer fires, a commit ends, a fault begins.
//
// Thread safety: none.
#ifndef INLIER_TESTS_SIMULATION_WORLD_H_
#define INLIER_TESTS_SIMULATION_WORLD_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "tests/simulation/random.h"

namespace inlier {

// Memory of every simulated machine. All its slots are on one GPU, but for some in a world with gangs.
inline constexpr std::int64_t kMachineMib = 2000;

// The calendar at the world's time 0, milliseconds since 1970 UTC.
inline constexpr std::int64_t kWallAtStartMs = 1'700'000'000'000;

// Which troubles a seed has, per mille of the occasions. Each seed leaves some out, so that rare ones are not
// always drowned by common ones.
struct FaultPlan {
  explicit FaultPlan(Random& random);

  int drop, copy, late, reorder;                                                  // Of messages.
  int cut_requests, cut_replies, cut_both;                                        // Of links, each fault.
  int kill, hang, pause, sleep, twin, drain;                                      // Of workers.
  int crash, slow_store, full_store, failing_store, slow_coordinator, wall_jump;  // Of the coordinator.
  int people;                                                                     // Of people, each fault.
  int lies;                                                                       // Events that are garbage.
  int fails;            // Attempts that fail, each action of a child.
  bool tiny_groups;     // Transactions of few rows.
  bool tiny_bulk;       // Little room for bulk.
  int data;             // Of files: replaced on one machine, or on all.
  bool skewed = false;  // Wall clocks of workers are up to an hour off.
  bool jobs =
      false;  // Workers run in jobs of a cluster's engine: they end, and others come; some are drained.
  bool searches = false;  // Half of the sweeps have points that samplers ask for.
  bool gangs = false;  // Sweeps of several processes; up to three slots, all on one GPU or each on its own.
  bool removals = false;  // People remove and restore sweeps, and free what was removed.
};

class World {
 public:
  explicit World(std::uint64_t seed);

  Timestamp now() const { return now_; }
  Random& random() { return random_; }
  const FaultPlan& plan() const { return plan_; }
  bool Chance(int per_mille) { return !calm_ && random_.PerMille(per_mille); }

  // No trouble from here on. All machines have the same files.
  void Calm();
  bool calm() const { return calm_; }

  void After(Duration delay, std::function<void()> what) { At(now_ + delay, std::move(what)); }
  void At(Timestamp at, std::function<void()> what);
  // Takes the next step; false: nothing will ever happen again.
  bool Step();
  std::uint64_t steps() const { return steps_; }

  // By how much the wall clock of this worker is off. Without effect on anything that is decided: true_clocks, which are set
  // before the first step, give the same history.
  std::int64_t WallSkewMs(const std::string& worker) const;
  void set_true_clocks() { plan_.skewed = false; }

  // The digest of the files on the machine of this name.
  std::string DataOn(const std::string& machine);
  // Replaces them by files that were never there before; an empty name: on all machines.
  void ReplaceData(const std::string& machine);
  // Since when no machine has the files with this digest; nullopt: one has, or none ever had.
  std::optional<Timestamp> GoneSince(const std::string& digest) const;

  // Goes into the trace and the history.
  void Note(std::string line);
  // Into the trace alone.
  void Trace(std::string_view bytes);
  // A number that was never given before, to recognise things by.
  std::uint64_t NewMark() { return ++marks_; }
  void Count(const char* what, std::uint64_t by = 1) { totals_[what] += by; }

  // Something that must hold does not; the first counts.
  void Violate(std::string what);
  const std::string& violation() const { return violation_; }

  std::uint64_t trace() const { return trace_; }
  const std::deque<std::string>& history() const { return history_; }
  const std::map<std::string, std::uint64_t>& totals() const { return totals_; }
  void set_verbose(bool verbose) { verbose_ = verbose; }

 private:
  struct Due {
    Timestamp at;
    std::uint64_t number;  // Ties go in the order in which they were made.
    std::function<void()> what;
    friend bool operator<(const Due& a, const Due& b) {
      return std::pair(b.at, b.number) < std::pair(a.at, a.number);  // Earliest on top.
    }
  };

  Random random_;
  FaultPlan plan_;
  Timestamp now_{std::chrono::hours(1)};
  std::vector<Due> due_;  // A heap.
  std::uint64_t numbers_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t marks_ = 0;
  std::uint64_t trace_ = 0xcbf29ce484222325;
  std::deque<std::string> history_;  // The latest lines.
  std::map<std::string, std::uint64_t> totals_;
  std::string violation_;
  std::map<std::string, std::string> data_;  // Machine -> digest.
  std::string common_data_;                  // Of machines that are not in data_.
  std::map<std::string, Timestamp> gone_;    // Digest -> since when no machine has it.
  bool calm_ = false;
  bool verbose_ = false;
};

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_WORLD_H_
