// Where the time of a training step goes, by kind of work: INLIER_PROFILE("attention") counts the time until the end of
// its scope. When no one listens it costs one load. Kinds do not nest.
#ifndef INLIER_CORE_LAYER_CPU_PROFILE_H_
#define INLIER_CORE_LAYER_CPU_PROFILE_H_

#include <atomic>
#include <chrono>

namespace inlier::layer::cpu {

// Receives the name of a kind (a literal) and the seconds of one scope, on the thread that ends it.
using ProfileListener = void (*)(const char* kind, double seconds);
inline std::atomic<ProfileListener> profile_listener{nullptr};

class ProfileScope {
 public:
  explicit ProfileScope(const char* kind)
      : listener_(profile_listener.load(std::memory_order_relaxed)), kind_(kind) {
    if (listener_ != nullptr) begin_ = std::chrono::steady_clock::now();
  }
  ~ProfileScope() {
    if (listener_ != nullptr)
      listener_(kind_, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count());
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  const ProfileListener listener_;
  const char* const kind_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace inlier::layer::cpu

#define INLIER_PROFILE(kind) const ::inlier::layer::cpu::ProfileScope inlier_profile_scope(kind)

#endif  // INLIER_CORE_LAYER_CPU_PROFILE_H_
