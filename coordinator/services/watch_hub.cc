#include "coordinator/services/watch_hub.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace inlier {

// One call. Everything but gRPC's callbacks runs on the coordinator's thread, and those only post to it; so
// what was posted before OnDone's deletion runs before it.
class WatchHub::Watcher final : public grpc::ServerWriteReactor<v1::SweepUpdate> {
 public:
  Watcher(WatchHub& hub, v1::WatchSweepRequest request)
      : hub_(hub), request_(std::move(request)), begun_(MonotonicNow()) {}

  void Begin() {
    const absl::StatusOr<SweepId> found = shell().orchestrator().FindSweep(request_.sweep());
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
    sequence_ = shell().orchestrator().NoticesTold(sweep_);
    if (request_.has_from_sequence()) sequence_ = std::min(sequence_, request_.from_sequence());
    hub_.Add(this);
    Look();
  }

  // Sends the present state when it is new, unless the last update is still under way.
  void Look() {
    if (busy_ || end_) return;
    if (sequence_ < shell().orchestrator().NoticesForgotten(sweep_)) {
      LookBack();
      return;
    }
    const std::uint64_t version = shell().orchestrator().VersionOf(sweep_);
    if (sent_version_ == version) return;
    sent_version_ = version;
    update_ = shell().orchestrator().Describe(sweep_, Shell::Now(), sequence_);
    sequence_ = update_.sequence();
    last_ = shell().orchestrator().IsOver(sweep_);
    busy_ = true;
    shell().AfterCommit([this](absl::Status status) {
      shell().Post([this, status] {
        if (status.ok() && !end_) {
          StartWrite(&update_);
        } else {
          busy_ = false;
          End(ToGrpcStatus(status));
        }
      });
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
  // Sends notices that are only in the database, as many as fit into one update.
  void LookBack() {
    busy_ = true;
    const std::uint64_t last = shell().orchestrator().NoticesForgotten(sweep_);
    const auto tell = [this](absl::StatusOr<std::vector<std::string>> notices) {
      shell().Post([this, notices = std::move(notices)] { TellOld(notices); });
    };
    shell().AfterCommit([this, last, tell](const absl::Status& status) {
      if (!status.ok()) return tell(status);
      hub_.calls_.RunBlocking(
          [this, last, tell] { tell(hub_.reader_.Notices(sweep_, sequence_, last, kNoticesPerUpdate)); },
          tell);
    });
  }
  void TellOld(const absl::StatusOr<std::vector<std::string>>& notices) {
    if (!notices.ok() || notices->empty() || end_) {
      busy_ = false;
      End(ToGrpcStatus(notices.ok() ? absl::DataLossError("notices of the sweep are not in the database")
                                    : notices.status()));
      return;
    }
    const Orchestrator& orchestrator = shell().orchestrator();
    update_ = orchestrator.Describe(sweep_, Shell::Now(), orchestrator.NoticesTold(sweep_));
    sequence_ += notices->size();
    for (const std::string& notice : *notices) update_.add_notices(notice);
    update_.set_sequence(sequence_);
    StartWrite(&update_);
  }

  Shell& shell() { return hub_.calls_.shell(); }

  void OnWriteDone(bool ok) override {
    shell().Post([this, ok] {
      busy_ = false;
      if (end_ || !ok || last_) {
        End(ok ? grpc::Status::OK : grpc::Status(grpc::StatusCode::CANCELLED, "the watcher has gone"));
      } else if (sequence_ < shell().orchestrator().NoticesForgotten(sweep_)) {
        LookBack();
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
  const v1::WatchSweepRequest request_;
  const Timestamp begun_;
  SweepId sweep_;
  std::uint64_t sequence_ = 0;  // Number of the last notice told.
  std::optional<std::uint64_t> sent_version_;
  v1::SweepUpdate update_;
  bool last_ = false;  // update_ is the final one.
  bool busy_ = false;  // update_ waits for its commit or is being written.
  bool finished_ = false;
  std::optional<grpc::Status> end_;  // To be ended with.
};

grpc::ServerWriteReactor<v1::SweepUpdate>* WatchHub::Open(const v1::WatchSweepRequest& request) {
  auto* watcher = new Watcher(*this, request);
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
    if (!error) calls_.shell().Post([this] { LookAtAll(); });
  });
}

void WatchHub::LookAtAll() {
  armed_ = false;
  const std::vector<Watcher*> watchers(watchers_.begin(), watchers_.end());
  for (Watcher* watcher : watchers) {
    if (watchers_.contains(watcher)) watcher->Look();
  }
  Arm();
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
