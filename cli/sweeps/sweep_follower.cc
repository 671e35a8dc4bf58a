#include "cli/sweeps/sweep_follower.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/backoff.h"

namespace inlier {

// One WatchSweep call, read on its own thread.
class SweepFollower::Stream {
 public:
  Stream(SweepStub& sweeps, const v1::WatchSweepRequest& request)
      : reader_(sweeps.WatchSweep(&context_, request)), thread_([this] { ReadAll(); }) {}

  ~Stream() {
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

  const grpc::ClientContext& context() const { return context_; }
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

SweepFollower::SweepFollower(Session& session, std::string sweep, std::optional<std::uint64_t> after,
                             Duration patience)
    : session_(session),
      sweep_(std::move(sweep)),
      patience_(patience),
      sequence_(after),
      answered_(MonotonicNow()) {}

SweepFollower::~SweepFollower() = default;

std::optional<Duration> SweepFollower::Silence() const {
  if (failures_ == 0) return std::nullopt;
  return MonotonicNow() - answered_;
}

absl::StatusOr<std::optional<v1::SweepUpdate>> SweepFollower::Next(Duration wait) {
  if (over_) return std::nullopt;
  if (stream_ == nullptr) {
    if (const Timestamp now = MonotonicNow(); next_try_ && now < *next_try_) {
      std::this_thread::sleep_for(std::min(wait, *next_try_ - now));
      return std::nullopt;
    }
    v1::WatchSweepRequest request;
    request.set_sweep(sweep_);
    if (sequence_) request.set_from_sequence(*sequence_);
    ASSIGN_OR_RETURN(SweepStub* const sweeps, session_.Sweeps());
    stream_ = std::make_unique<Stream>(*sweeps, request);
  }
  if (std::optional<v1::SweepUpdate> update = stream_->Next(wait); update.has_value()) {
    if (update->has_sequence()) sequence_ = update->sequence();
    active_ = update->status().state() == v1::ACTIVE;
    failures_ = 0;
    answered_ = MonotonicNow();
    return update;
  }
  const std::optional<grpc::Status> status = stream_->ended();
  if (!status) return std::nullopt;
  // An end, or an answer with the reason, for example a full disk.
  const absl::Status answered = status->ok() || !Session::NoticeIn(stream_->context()).empty()
                                    ? session_.Answered(stream_->context(), *status)
                                    : absl::OkStatus();
  stream_.reset();
  RETURN_IF_ERROR(answered);
  if (status->ok() && !active_) {
    over_ = true;
    return std::nullopt;
  }
  if (!status->ok() && status->error_code() != grpc::StatusCode::UNAVAILABLE &&
      status->error_code() != grpc::StatusCode::CANCELLED) {
    return session_.ExplainRpcError(*status);
  }
  if (MonotonicNow() - answered_ > patience_) return session_.ExplainRpcError(*status);
  ++failures_;
  next_try_ = MonotonicNow() + Backoff().Wait(failures_, 0.5);
  return std::nullopt;
}

}  // namespace inlier
