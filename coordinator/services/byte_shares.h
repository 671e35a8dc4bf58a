// Bytes that calls hold, with limits for each caller and for all: messages that wait or are being served, and
// answers that are not read yet.
//
// Thread safety: all functions may be called from any thread. Copies count together.
#ifndef INLIER_COORDINATOR_SERVICES_BYTE_SHARES_H_
#define INLIER_COORDINATOR_SERVICES_BYTE_SHARES_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace inlier {

class ByteShares {
 public:
  static constexpr std::size_t kOfCaller = 192 << 20;
  static constexpr std::size_t kOfAll = 1 << 30;
  // Messages above kSmall leave kLeftToSmall of kOfAll to smaller ones.
  static constexpr std::size_t kSmall = 64 << 10;
  static constexpr std::size_t kLeftToSmall = 128 << 20;

  // Counts `bytes` until the result is destroyed. ResourceExhausted: `caller` (empty: callers without a
  // name), or all callers, would hold too many.
  absl::StatusOr<std::shared_ptr<void>> Hold(const std::string& caller, std::size_t bytes) {
    if (bytes == 0) return std::shared_ptr<void>();  // The entry of a caller is there while it holds bytes.
    const std::size_t of_all = bytes > kSmall ? kOfAll - kLeftToSmall : kOfAll;
    const std::lock_guard lock(held_->mutex);
    std::size_t& of_caller = held_->of_caller[caller];
    const bool own = of_caller + bytes > kOfCaller;
    if (own || held_->all + bytes > of_all) {
      if (of_caller == 0) held_->of_caller.erase(caller);
      const std::string whose = !own ? "all callers" : caller.empty() ? "callers without a name" : caller;
      return absl::ResourceExhaustedError(absl::StrCat(
          "the requests and answers of ", whose, " would take more than ", (own ? kOfCaller : of_all) >> 20,
          " MiB of memory, the maximum; try again in a moment"));
    }
    of_caller += bytes;
    held_->all += bytes;
    return std::shared_ptr<void>(nullptr, [held = held_, caller, bytes](void*) {
      const std::lock_guard lock(held->mutex);
      held->all -= bytes;
      const auto at = held->of_caller.find(caller);
      INLIER_CHECK(at != held->of_caller.end());
      if ((at->second -= bytes) == 0) held->of_caller.erase(at);
    });
  }

  std::size_t all() const {
    const std::lock_guard lock(held_->mutex);
    return held_->all;
  }

 private:
  struct Held {
    std::mutex mutex;
    std::map<std::string, std::size_t> of_caller;
    std::size_t all = 0;
  };
  std::shared_ptr<Held> held_ = std::make_shared<Held>();
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_BYTE_SHARES_H_
