#include "coordinator/services/watch_hub.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace inlier {

// One call. Everything but gRPC's callbacks runs on the coordinator's thread, and those only post to it; so
// what was posted before OnDone's deletion runs before it.
class WatchHub::Watcher final : public grpc::ServerWriteReactor<v1::SweepUpdate> {
 public:
  Watcher(WatchHub& hub, std::string sweep) : hub_(hub), name_(std::move(sweep)), begun_(MonotonicNow()) {}

  void Begin() {
    const absl::StatusOr<SweepId> found = shell().orchestrator().FindSweep(name_);
    if (!found.ok()) {
      End(ToGrpcStatus(found.status()));
      return;
    }
    if (hub_.stopped_ || hub_.watchers() >= kWatchersMax) {
      End(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                       "too many watchers, or the coordinator is stopping; try again later"));
      return;
    }
    sweep_ = *found;
    notices_from_ = shell().orchestrator().NoticesEnd(sweep_);
    hub_.Add(this);
    Look();
  }

  // Sends the present state when it is new, unless the last update is still under way.
  void Look() {
    if (busy_ || end_) return;
    const std::uint64_t version = shell().orchestrator().VersionOf(sweep_);
    if (sent_version_ == version) return;
    sent_version_ = version;
    update_ = shell().orchestrator().Describe(sweep_, Shell::Now(), notices_from_);
    last_ = shell().orchestrator().IsOver(sweep_);
    busy_ = true;
    shell().AfterCommit([this](absl::Status status) {
      if (status.ok() && !end_) {
        StartWrite(&update_);
      } else {
        busy_ = false;
        End(ToGrpcStatus(status));
      }
    });
  }

  // Ends the call, after the write that is under way.
  void End(const grpc::Status& status) {
    if (!end_) end_ = status;
    if (busy_ || finished_) return;
    finished_ = true;
    hub_.Remove(this);
    hub_.calls_.Observe("WatchSweep", *end_, begun_);
    Finish(*end_);
  }

 private:
  Shell& shell() { return hub_.calls_.shell(); }

  void OnWriteDone(bool ok) override {
    shell().Post([this, ok] {
      busy_ = false;
      if (end_ || !ok || last_) {
        End(ok ? grpc::Status::OK : grpc::Status(grpc::StatusCode::CANCELLED, "the watcher has gone"));
      }
    });
  }
  void OnCancel() override {
    shell().Post([this] { End(grpc::Status(grpc::StatusCode::CANCELLED, "the watcher has gone")); });
  }
  void OnDone() override {
    shell().Post([this] { delete this; });
  }

  WatchHub& hub_;
  const std::string name_;
  const Timestamp begun_;
  SweepId sweep_;
  std::uint64_t notices_from_ = 0;
  std::optional<std::uint64_t> sent_version_;
  v1::SweepUpdate update_;
  bool last_ = false;  // update_ is the final one.
  bool busy_ = false;  // update_ waits for its commit or is being written.
  bool finished_ = false;
  std::optional<grpc::Status> end_;  // To be ended with.
};

grpc::ServerWriteReactor<v1::SweepUpdate>* WatchHub::Open(const std::string& sweep) {
  auto* watcher = new Watcher(*this, sweep);
  calls_.shell().Post([watcher] { watcher->Begin(); });
  return watcher;
}

void WatchHub::Add(Watcher* watcher) {
  watchers_.insert(watcher);
  Arm();
}

void WatchHub::Remove(Watcher* watcher) { watchers_.erase(watcher); }

void WatchHub::Arm() {
  if (armed_ || stopped_ || watchers_.empty()) return;
  armed_ = true;
  timer_.expires_after(kPeriod);
  timer_.async_wait([this](const boost::system::error_code& error) {
    armed_ = false;
    if (error) return;
    const std::vector<Watcher*> watchers(watchers_.begin(), watchers_.end());
    for (Watcher* watcher : watchers) {
      if (watchers_.contains(watcher)) watcher->Look();
    }
    Arm();
  });
}

void WatchHub::Stop() {
  stopped_ = true;
  timer_.cancel();
  const std::vector<Watcher*> watchers(watchers_.begin(), watchers_.end());
  for (Watcher* watcher : watchers) {
    watcher->End(grpc::Status(grpc::StatusCode::UNAVAILABLE,
                              "the coordinator is stopping; the sweep goes on when it is back"));
  }
}

}  // namespace inlier
