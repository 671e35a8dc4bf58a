#include "coordinator/services/cooler.h"

#include <string>

#include "base/log.h"

namespace inlier {
namespace {

// Between rounds: while there is more, and while there was nothing.
constexpr std::chrono::milliseconds kBusy{50}, kIdle{2000};
// What is read of old sweeps goes again so often: the system maps what lies around it too.
constexpr std::chrono::seconds kDrop{5};

}  // namespace

void Cooler::Start() {
  if (!orchestrator_.cold().has_file()) return;
  stopped_ = false;
  WaitFor(kIdle);
}

void Cooler::Stop() {
  stopped_ = true;
  timer_.cancel();
}

void Cooler::WaitFor(std::chrono::milliseconds time) {
  if (stopped_) return;
  timer_.expires_after(time);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) calls_.shell().Post([this] { Round(); });
  });
}

void Cooler::Round() {
  if (stopped_) return;
  if (const Timestamp now = MonotonicNow(); now - dropped_ >= kDrop) {
    dropped_ = now;
    calls_.RunBlocking([this] { orchestrator_.cold().Drop(); }, [](const absl::Status&) {});
  }
  if (orchestrator_.WriteCold() == 0) {
    WaitFor(kIdle);
    return;
  }
  calls_.RunBlocking(
      [this] {
        const absl::Status status = orchestrator_.cold().Sync();
        calls_.shell().Post([this, status] { Synced(status); });
      },
      [this](const absl::Status&) { WaitFor(kIdle); });  // Much is asked for: another time.
}

void Cooler::Synced(const absl::Status& status) {
  if (!status.ok()) {
    spdlog::warn("cold_memory_ends reason={}", LogText(status.message()));
    return;
  }
  orchestrator_.MapCold();
  WaitFor(kBusy);
}

}  // namespace inlier
