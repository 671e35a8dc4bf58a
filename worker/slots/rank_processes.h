// The children of a gang but rank 0's: on further slots of the worker, one each.
//
// Rank 0 is the supervisor's own child, and reports for all. The others are started after it, signalled with it, and
// their events are read for their outcome alone. Each has a folder below the attempt's, rank-<n>, with its spec.json
// and its log.txt. A rank that dies breaks the gang: the rest ends by itself, or is killed kBrokenGrace later.
//
// Thread safety: none; lives on the io_context's thread.
#ifndef INLIER_WORKER_SLOTS_RANK_PROCESSES_H_
#define INLIER_WORKER_SLOTS_RANK_PROCESSES_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "inlier/v1/attempt.pb.h"
#include "worker/attempt_end.h"
#include "worker/attempt_settings.h"
#include "worker/slots/slot_plan.h"
#include "worker/slots/waiting_child.h"

namespace inlier {

class RankProcesses {
 public:
  // Until the ranks that a dead one leaves behind are killed, and until those are that rank 0 leaves behind.
  static constexpr Duration kBrokenGrace = std::chrono::seconds(5);

  struct Place {
    SlotPlan slot;
    WaitingChild* waiting_child;  // The slot's; outlives the ranks.
  };

  // Of rank 1, 2, …; none: no gang. `settings` outlives them.
  RankProcesses(boost::asio::io_context& io, const AttemptSettings& settings, std::vector<Place> places);
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  bool empty() const { return places_.empty(); }
  const std::vector<Place>& places() const { return places_; }

  // Waits until no child of an evaluation is left on the slots, and starts the ranks, whose specs are rank 0's but for
  // their place. `on_broken` is called where one fails or yields before rank 0 has ended; the caller ends rank 0 after
  // `grace`. (One that yields may be the only one that was asked to; before the ranks have met, the others do not notice.)
  boost::asio::awaitable<absl::Status> Start(const v1::AttemptSpec& first, std::filesystem::path folder,
                                             std::function<void(Duration grace)> on_broken);

  void Signal(int signal);

  // Waits until all have ended, after rank 0 has; at most kBrokenGrace long.
  boost::asio::awaitable<void> End();

  // The outcome of the attempt, from rank 0's: where that one has only lost another rank, or was ended for it, the
  // outcome of the rank that ended first. REQUIRES: End has returned.
  v1::Outcome OutcomeOf(const v1::Outcome& first, const ProcessExit& first_exit) const;

  double CpuSeconds() const;
  std::int64_t ResidentBytes() const;
  // The most that one of them held.
  std::int64_t ResidentBytesMax() const;

 private:
  struct Rank;
  static boost::asio::awaitable<void> Watch(std::shared_ptr<Rank> rank);
  bool AnyLives() const;

  boost::asio::io_context& io_;
  const AttemptSettings& settings_;
  const std::vector<Place> places_;
  std::vector<std::shared_ptr<Rank>> ranks_;
  boost::asio::steady_timer gone_;  // Cancelled when one has ended.
  bool first_has_ended_ = false;
  bool broken_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // Expired for a watcher that returns after the end.
};

}  // namespace inlier

#endif  // INLIER_WORKER_SLOTS_RANK_PROCESSES_H_
