// Bytes that calls hold: of each caller and of all of them, within limits.
//
// Thread safety: all methods may be called from any thread.
#ifndef INLIER_COORDINATOR_SERVICES_BYTE_SHARES_H_
#define INLIER_COORDINATOR_SERVICES_BYTE_SHARES_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace inlier {

class ByteShares {
 public:
  struct Limits {
    std::size_t of_caller = 0;
    std::size_t of_all = 0;
  };

  // `what` holds them: "requests that are being served".
  ByteShares(const Limits& limits, std::string what) : limits_(limits), what_(std::move(what)) {}

  // ResourceExhausted, and nothing is taken, where they would be more than `caller` (empty: callers without a name)
  // or all may hold. `reserved`: so many bytes must be left for others.
  absl::Status Take(const std::string& caller, std::size_t bytes, std::size_t reserved = 0) {
    const std::lock_guard lock(mutex_);
    const auto held = callers_.find(caller);
    if (bytes + (held == callers_.end() ? 0 : held->second) > limits_.of_caller)
      return TooMuch(absl::StrCat(what_, " of ", caller.empty() ? "callers without a name" : caller),
                     limits_.of_caller);
    if (bytes + all_ > limits_.of_all - reserved) return TooMuch(what_, limits_.of_all - reserved);
    if (bytes == 0) return absl::OkStatus();
    callers_[caller] += bytes;
    all_ += bytes;
    return absl::OkStatus();
  }

  void LetGo(const std::string& caller, std::size_t bytes) {
    if (bytes == 0) return;
    const std::lock_guard lock(mutex_);
    all_ -= bytes;
    const auto held = callers_.find(caller);
    if ((held->second -= bytes) == 0) callers_.erase(held);
  }

  // The same, held until what it returns is destroyed.
  static absl::StatusOr<std::shared_ptr<void>> Hold(const std::shared_ptr<ByteShares>& shares,
                                                    const std::string& caller, std::size_t bytes) {
    if (absl::Status taken = shares->Take(caller, bytes); !taken.ok()) return taken;
    return std::shared_ptr<void>(shares.get(),
                                 [shares, caller, bytes](void*) { shares->LetGo(caller, bytes); });
  }

  std::size_t all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  static absl::Status TooMuch(const std::string& holder, std::size_t most) {
    return absl::ResourceExhaustedError(absl::StrCat("the ", holder, " would take more than ", most >> 20,
                                                     " MiB of memory, the maximum; try again in a moment"));
  }

  const Limits limits_;
  const std::string what_;
  mutable std::mutex mutex_;
  std::map<std::string, std::size_t> callers_;  // That hold some.
  std::size_t all_ = 0;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_BYTE_SHARES_H_
