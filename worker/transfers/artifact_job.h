// One requested transfer of a checkpoint, shared by those who wait for it and the thread that moves it.
//
// Thread safety: every function on any thread; `file` belongs to the thread that moves it.
#ifndef INLIER_WORKER_TRANSFERS_ARTIFACT_JOB_H_
#define INLIER_WORKER_TRANSFERS_ARTIFACT_JOB_H_

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/files/descriptor.h"
#include "base/time.h"

namespace inlier {

enum class TransferKind {
  kFetch,
  kSend,     // Of what this worker has just made.
  kRestore,  // Of artifacts that the store has lost.
};

struct ArtifactProgress {
  bool done = false;
  absl::Status status{};  // When done. Cancelled when the worker is ending.
  std::uint64_t bytes = 0;
  std::uint64_t bytes_total = 0;
  int failures = 0;       // Tries that broke.
  std::string trouble{};  // Why the last one did.
  Timestamp ended{};      // When done.
};

class ArtifactJob {
 public:
  ArtifactJob(TransferKind kind, std::string sha256, std::filesystem::path path)
      : kind(kind), sha256(std::move(sha256)), path(std::move(path)) {}

  bool sends() const { return kind != TransferKind::kFetch; }

  void Cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (context_ != nullptr) context_->TryCancel();
    wake_.notify_all();
  }
  bool IsCancelled() const {
    const std::lock_guard lock(mutex_);
    return cancelled_;
  }
  // Waits for `time` or until it is cancelled; true when cancelled.
  bool Wait(Duration time) {
    std::unique_lock lock(mutex_);
    return wake_.wait_for(lock, time, [this] { return cancelled_; });
  }

  void SetBytes(std::uint64_t bytes, std::uint64_t total) {
    const std::lock_guard lock(mutex_);
    progress_.bytes = bytes;
    progress_.bytes_total = total;
  }
  void SetTrouble(const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    ++progress_.failures;
    progress_.trouble = std::string(status.message());
  }
  void SetDone(const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    progress_.done = true;
    progress_.status = status;
    progress_.ended = MonotonicNow();
  }
  ArtifactProgress progress() const {
    const std::lock_guard lock(mutex_);
    return progress_;
  }

  // The call under way, which Cancel ends; null: none.
  void SetCall(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    context_ = context;
    if (context_ != nullptr && cancelled_) context_->TryCancel();
  }

  const TransferKind kind;
  const std::string sha256;
  const std::filesystem::path path;
  Descriptor file;  // Of what is sent: it stays readable when its attempt removes it.

 private:
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool cancelled_ = false;
  grpc::ClientContext* context_ = nullptr;
  ArtifactProgress progress_;
};

}  // namespace inlier

#endif  // INLIER_WORKER_TRANSFERS_ARTIFACT_JOB_H_
