// The CPUs of slots without an attempt, lent to the trainings on the CPU that run in other slots.
//
// A slot's CPUs are lent when it has been idle for a while, and taken back at once when an attempt starts in it. The
// training sees it by the CPUs that its process is bound to, and computes with as many threads as are fastest
// (core/train/loop_threads.h); what it computes does not depend on them.
//
// Thread safety: none; lives on the io_context's thread.
#ifndef INLIER_WORKER_SLOTS_IDLE_CPUS_H_
#define INLIER_WORKER_SLOTS_IDLE_CPUS_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/time.h"
#include "worker/slots/slot_plan.h"

namespace inlier {

class IdleCpus {
 public:
  // Longer than from an attempt's end to the next one of the slot.
  static constexpr Duration kIdle = std::chrono::seconds(1);

  // Binds the training that runs in a slot to its own CPUs and lent ones.
  using Bind = std::function<void(std::uint32_t slot, const std::vector<int>& cpus)>;

  // Slots that share all CPUs (no cpus in the plan) and those of further machines lend and borrow nothing.
  IdleCpus(boost::asio::io_context& io, const std::vector<SlotPlan>& slots, Bind bind, Duration idle = kIdle);

  void AttemptStarts(std::uint32_t slot);
  // The attempt of the slot is a training on the CPU, and is ready to compute.
  void TrainingRuns(std::uint32_t slot);
  void AttemptEnded(std::uint32_t slot);

 private:
  enum class Use { kNone, kAttempt, kTraining };
  struct Slot {
    std::vector<int> cpus;
    Use use = Use::kNone;
    Timestamp idle_since;
    std::vector<int> bound = {};  // Of the training that runs in it.
  };
  // Gives each training its CPUs, and comes back when a further slot has been idle long enough.
  void Share();

  const Bind bind_;
  const Duration idle_;
  std::vector<Slot> slots_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // Expired for the timer's handler after the end.
};

}  // namespace inlier

#endif  // INLIER_WORKER_SLOTS_IDLE_CPUS_H_
