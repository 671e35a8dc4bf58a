#include "coordinator/services/watch_hub.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "coordinator/services/request_limits.h"
#include "coordinator/state/lookup.h"
#include "coordinator/status/status.h"

namespace inlier {
namespace {

// The credentials of the watchers are checked so often.
constexpr Duration kRecheckPeriod = std::chrono::milliseconds(500);

}  // namespace

// One call. Everything but gRPC's callbacks runs on the coordinator's thread, and those only post to it; so
// every earlier post runs before the deletion that OnDone posts.
class WatchHub::Watcher final : public CallStream {
 public:
  Watcher(WatchHub& hub, AdmittedCall call) : CallStream(std::move(call)), hub_(hub), name_(caller().name) {
    Read(request_);
  }

  void Begin(absl::Status asked) {
    if (end_) return;  // Cancelled meanwhile.
    if (asked.ok()) asked = CheckWords(request_);
    if (!asked.ok()) return End(ToGrpcStatus(asked));
    const absl::StatusOr<SweepId> found = FindSweep(loop().orchestrator().state(), request_.sweep(), name_);
    if (!found.ok()) return End(ToGrpcStatus(found.status()));
    if (hub_.stopped_ || hub_.watchers_.size() >= kWatchersMax)
      return End(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                              "too many watchers, or the coordinator is stopping; try again later"));
    int& of_caller = hub_.by_caller_[name_];
    if (!name_.empty() && of_caller >= kWatchersOfOneCallerMax) {
      return End(grpc::Status(
          grpc::StatusCode::RESOURCE_EXHAUSTED,
          absl::StrCat(name_, " has ", of_caller, " watches open, the most of one caller; end one of them")));
    }
    ++of_caller;
    sweep_ = *found;
    sequence_ = sweep().notice_log.last;
    if (request_.has_from_sequence()) sequence_ = std::min(sequence_, request_.from_sequence());
    hub_.watchers_.insert(this);
    hub_.Arm();
    Update();
  }

  // Sends the present state if it is new and no update is under way.
  void Update() {
    if (busy_ || end_) return;
    if (!loop().store_waits().ok()) return ShowStored();
    if (sequence_ < sweep().notice_log.Forgotten()) return ReadMissed();
    if (sent_version_ == sweep().version) return;
    sent_version_ = sweep().version;
    update_ = DescribeSweep(loop().orchestrator().state(), sweep_, CoordinatorLoop::Now(), sequence_);
    busy_ = true;
    loop().AfterCommitForUser([this](const absl::Status& status) {
      if (status.ok() && !end_) {
        sequence_ = update_.sequence();
        last_ = IsOver(loop().orchestrator().state(), sweep_);
        return Write(update_);
      }
      busy_ = false;
      if (end_ || loop().store_waits().ok()) return End(ToGrpcStatus(status));
      ShowStored();
    });
  }

  // Ends the call, after the write that is under way.
  void End(const grpc::Status& status) {
    if (!end_) end_ = status;
    if (busy_ || finished_) return;
    finished_ = true;
    if (hub_.watchers_.erase(this) > 0 && --hub_.by_caller_[name_] == 0) hub_.by_caller_.erase(name_);
    bounds().Observe(method(), *end_, started_);
    hub_.calls_.AddNotice(server_context());
    Finish(*end_);
  }

 private:
  // Sends, while the store takes no changes, the stored state once, with the reason among its warnings.
  void ShowStored() {
    if (std::exchange(shows_stored_, true) && !sent_version_) return;
    sent_version_.reset();
    const absl::Status& reason = loop().store_waits();
    const Orchestrator* stored = loop().stored();
    if (stored == nullptr || !FindSweep(stored->state(), sweep_.ToString(), name_).ok())
      return End(ToGrpcStatus(reason));
    update_ = DescribeSweep(stored->state(), sweep_, CoordinatorLoop::Now(), sequence_);
    update_.set_sequence(sequence_);
    update_.mutable_status()->add_warnings(std::string(reason.message()));
    busy_ = true;
    Write(update_);
  }
  // Sends notices that only the database has, as many as fit into one update.
  void ReadMissed() {
    busy_ = true;
    const std::uint64_t last = sweep().notice_log.Forgotten();
    const auto send = [this](absl::StatusOr<std::vector<std::string>> notices) {
      loop().Post([this, notices = std::move(notices)] { SendMissed(notices); });
    };
    loop().AfterCommit([this, last, send](const absl::Status& status) {
      if (!status.ok()) return send(status);
      hub_.calls_.reads().Run(
          name_,
          [this, last, send] { send(hub_.reader_.Notices(sweep_, sequence_, last, kNoticesPerUpdate)); },
          send);
    });
  }
  void SendMissed(const absl::StatusOr<std::vector<std::string>>& notices) {
    if (!notices.ok() || notices->empty() || end_) {
      busy_ = false;
      return End(ToGrpcStatus(
          notices.ok()
              ? absl::DataLossError("notices of the sweep are missing in the database; run `inlier doctor`")
              : notices.status()));
    }
    update_ =
        DescribeSweep(loop().orchestrator().state(), sweep_, CoordinatorLoop::Now(), sweep().notice_log.last);
    sequence_ += notices->size();
    for (const std::string& notice : *notices) update_.add_notices(notice);
    update_.set_sequence(sequence_);
    Write(update_);
  }

  static grpc::Status Gone() { return {grpc::StatusCode::CANCELLED, "the watcher has gone"}; }
  CoordinatorLoop& loop() { return hub_.calls_.loop(); }
  const Sweep& sweep() { return loop().orchestrator().state().sweeps.at(sweep_); }

  void OnMessage(absl::StatusOr<bool> got) override {
    absl::Status asked = got.status();
    if (got.ok() && !*got) asked = absl::CancelledError("the call has no message");
    loop().Post([this, asked = std::move(asked)] { Begin(asked); });
  }
  void OnWritten(bool ok) override {
    loop().Post([this, ok] {
      busy_ = false;
      if (end_ || !ok || last_) {
        End(ok ? grpc::Status::OK : Gone());
      } else if (sequence_ < sweep().notice_log.Forgotten()) {
        ReadMissed();
      }
    });
  }
  void OnCancel() override {
    loop().Post([this] { End(Gone()); });
  }
  void OnEnded() override {
    loop().Post([this] { CallStream::OnEnded(); });
  }

  WatchHub& hub_;
  const std::string name_;  // Of the caller.
  v1::WatchSweepRequest request_;
  const Timestamp started_ = MonotonicNow();
  SweepId sweep_;
  std::uint64_t sequence_ = 0;  // Number of the last notice sent.
  std::optional<std::uint64_t> sent_version_;
  v1::SweepUpdate update_;
  bool last_ = false;          // update_ is the final one.
  bool shows_stored_ = false;  // The last update that was new, unless sent_version_ is set.
  bool busy_ = false;          // update_ waits for its commit or is being written.
  bool finished_ = false;
  std::optional<grpc::Status> end_;  // The status to end with.
};

grpc::ServerGenericBidiReactor* WatchHub::Open(AdmittedCall call) {
  return new Watcher(*this, std::move(call));
}

void WatchHub::Arm() {
  if (armed_ || stopped_ || watchers_.empty()) return;
  armed_ = true;
  timer_.expires_after(kPeriod);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) UpdateAll();
  });
}

void WatchHub::UpdateAll() {
  armed_ = false;
  const Timestamp now = MonotonicNow();
  const bool recheck = now - rechecked_ >= kRecheckPeriod;
  if (recheck) rechecked_ = now;
  for (Watcher* watcher : std::vector<Watcher*>(watchers_.begin(), watchers_.end())) {
    if (!watchers_.contains(watcher)) continue;
    if (const absl::Status status = recheck ? watcher->StillAdmitted() : absl::OkStatus(); !status.ok()) {
      watcher->End(ToGrpcStatus(status));
    } else {
      watcher->Update();
    }
  }
  Arm();
}

void WatchHub::Stop() {
  stopped_ = true;
  timer_.cancel();
  for (Watcher* watcher : std::vector<Watcher*>(watchers_.begin(), watchers_.end())) {
    watcher->End(grpc::Status(grpc::StatusCode::UNAVAILABLE,
                              "the coordinator is stopping; the sweep continues after its restart"));
  }
}

}  // namespace inlier
