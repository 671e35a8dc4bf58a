// The child of one slot between two evaluations.
//
// A child that has evaluated keeps its model and data and waits for the slot's next evaluation, though not long: its
// memory (a GPU's too) belongs to the next trial of the slot.
//
// Thread safety: none; lives on the io_context's thread.
#ifndef INLIER_WORKER_SLOTS_WAITING_CHILD_H_
#define INLIER_WORKER_SLOTS_WAITING_CHILD_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>

#include "base/time.h"
#include "worker/processes/trial_process.h"

namespace inlier {

class WaitingChild {
 public:
  // How long it waits: longer than from an outcome to the next lease, over a network too.
  static constexpr Duration kWait = std::chrono::seconds(2);

  explicit WaitingChild(boost::asio::io_context& io);
  ~WaitingChild();
  WaitingChild(const WaitingChild&) = delete;
  WaitingChild& operator=(const WaitingChild&) = delete;

  // REQUIRES: no child waits here; the process lives and has input.
  void Keep(std::unique_ptr<TrialProcess> process);
  // The child that waits; null without one, or where it has ended meanwhile.
  std::unique_ptr<TrialProcess> Take();
  // Asks the child to end, and waits until it has.
  boost::asio::awaitable<void> End();
  // Kills the child, if one waits.
  void Kill();

 private:
  struct Waiting;
  boost::asio::io_context& io_;
  std::shared_ptr<Waiting> waiting_;
};

}  // namespace inlier

#endif  // INLIER_WORKER_SLOTS_WAITING_CHILD_H_
