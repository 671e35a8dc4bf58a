#include "cli/sweep_watch.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/backoff.h"
#include "base/status.h"
#include "cli/interrupt.h"
#include "cli/watch_view.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

// One WatchSweep call, read on its own thread.
class UpdateStream {
 public:
  // `after`: number of the last notice shown; only new notices when absent.
  UpdateStream(Session& session, const std::string& sweep, std::optional<uint64_t> after) {
    v1::WatchSweepRequest request;
    request.set_sweep(sweep);
    if (after) request.set_from_sequence(*after);
    reader_ = (*session.Sweeps())->WatchSweep(&context_, request);
    thread_ = std::thread([this] { ReadAll(); });
  }

  ~UpdateStream() {
    context_.TryCancel();
    thread_.join();
  }

  // The next update, waiting at most `wait`; nullopt: none yet, or the end of the stream (see `ended`).
  std::optional<v1::SweepUpdate> Next(Duration wait) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, wait, [this] { return !updates_.empty() || status_.has_value(); });
    if (updates_.empty()) return std::nullopt;
    v1::SweepUpdate update = std::move(updates_.front());
    updates_.pop_front();
    return update;
  }

  // The stream's final status, after all its updates have been taken.
  std::optional<grpc::Status> ended() {
    std::lock_guard lock(mutex_);
    return updates_.empty() ? status_ : std::nullopt;
  }

 private:
  void ReadAll() {
    v1::SweepUpdate update;
    while (reader_->Read(&update)) {
      std::lock_guard lock(mutex_);
      updates_.push_back(update);
      changed_.notify_all();
    }
    const grpc::Status status = reader_->Finish();
    std::lock_guard lock(mutex_);
    status_ = status;
    changed_.notify_all();
  }

  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::SweepUpdate>> reader_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<v1::SweepUpdate> updates_;
  std::optional<grpc::Status> status_;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<v1::SweepStatus> FollowSweep(Session& session, const std::string& sweep,
                                            const WatchOptions& options) {
  RETURN_IF_ERROR(session.Sweeps().status());  // The connection exists from here on.
  v1::GetSweepRequest get;
  get.set_sweep(sweep);
  const auto known =
      session.Call(&v1::SweepService::Stub::GetSweep, get);  // Without it the labels are sorted.
  WatchView view(TerminalWidth(), StdoutIsTerminal(),
                 known.ok() ? AxisNames(known->spec()) : std::vector<std::string>());
  const auto show = [&view](const v1::SweepUpdate& update, Timestamp now) {
    view.Resize(TerminalWidth());
    PrintExact(view.Show(update, now));
  };
  v1::SweepUpdate latest;
  std::optional<uint64_t> sequence;
  const Backoff backoff;
  int failures = 0;
  Timestamp answered = MonotonicNow();
  while (true) {
    UpdateStream stream(session, sweep, sequence);
    while (true) {
      RETURN_IF_ERROR(options.poll());
      if (Interrupted()) {
        return absl::CancelledError(absl::StrCat(
            "interrupted; sweep ", sweep, " keeps running (watch it again: inlier watch ", sweep, ")"));
      }
      if (std::optional<v1::SweepUpdate> update = stream.Next(std::chrono::milliseconds(200));
          update.has_value()) {
        latest = *update;
        if (latest.has_sequence()) sequence = latest.sequence();
        failures = 0;
        answered = MonotonicNow();
        if (session.people()) show(latest, answered);
        if (session.mode() == OutputMode::kJson && options.json_updates) PrintExact(ToJsonLine(latest));
        continue;
      }
      if (stream.ended().has_value()) break;
      if (session.people() && StdoutIsTerminal() && latest.has_status()) {
        latest.clear_notices();
        show(latest, MonotonicNow());
      }
    }
    const grpc::Status status = *stream.ended();
    if (status.ok() && latest.has_status() && latest.status().state() != v1::ACTIVE) return latest.status();
    if (!status.ok() && status.error_code() != grpc::StatusCode::UNAVAILABLE &&
        status.error_code() != grpc::StatusCode::CANCELLED) {
      return session.ExplainRpcError(status);
    }
    if (MonotonicNow() - answered > options.patience) return session.ExplainRpcError(status);
    ++failures;
    std::this_thread::sleep_for(backoff.Wait(failures, 0.5));
  }
}

ExitCode ExitCodeOfSweep(const v1::SweepStatus& status) {
  return status.state() == v1::COMPLETE && status.trials().failed() == 0 &&
                 status.trials().cancelled() == status.trials().pruned()
             ? kExitOk
             : kExitFailed;
}

}  // namespace inlier
