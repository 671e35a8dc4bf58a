#include "worker/slots/idle_cpus.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace inlier {

IdleCpus::IdleCpus(boost::asio::io_context& io, const std::vector<SlotPlan>& slots, Bind bind, Duration idle)
    : bind_(std::move(bind)), idle_(idle), timer_(io) {
  for (const SlotPlan& slot : slots) {
    slots_.push_back({.cpus = slot.here() ? slot.cpus : std::vector<int>(), .idle_since = MonotonicNow()});
  }
}

void IdleCpus::AttemptStarts(std::uint32_t slot) {
  slots_[slot].use = Use::kAttempt;
  Share();
}

void IdleCpus::TrainingRuns(std::uint32_t slot) {
  slots_[slot].use = Use::kTraining;
  slots_[slot].bound = slots_[slot].cpus;
  Share();
}

void IdleCpus::AttemptEnded(std::uint32_t slot) {
  slots_[slot].use = Use::kNone;
  slots_[slot].idle_since = MonotonicNow();
  Share();
}

void IdleCpus::Share() {
  const Timestamp now = MonotonicNow();
  std::vector<std::uint32_t> trainings;
  std::vector<std::vector<int>> cpus;  // By slot.
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    cpus.push_back(slots_[i].cpus);
    if (slots_[i].use == Use::kTraining && !slots_[i].cpus.empty()) trainings.push_back(i);
  }
  timer_.cancel();
  if (trainings.empty()) return;
  std::size_t next = 0;
  std::optional<Timestamp> look_again;
  for (const Slot& slot : slots_) {
    if (slot.use != Use::kNone || slot.cpus.empty()) continue;
    if (now - slot.idle_since < idle_) {
      look_again = std::min(look_again.value_or(slot.idle_since + idle_), slot.idle_since + idle_);
      continue;
    }
    std::vector<int>& taker = cpus[trainings[next++ % trainings.size()]];
    taker.insert(taker.end(), slot.cpus.begin(), slot.cpus.end());
  }
  for (const std::uint32_t training : trainings) {
    if (slots_[training].bound == cpus[training]) continue;
    slots_[training].bound = cpus[training];
    bind_(training, cpus[training]);
  }
  if (!look_again) return;
  timer_.expires_after(*look_again - now);
  timer_.async_wait([this, alive = std::weak_ptr<int>(alive_)](const boost::system::error_code& error) {
    if (!error && !alive.expired()) Share();
  });
}

}  // namespace inlier
