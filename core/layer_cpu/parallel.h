// Loops over several threads, with scratch memory for each.
#ifndef INLIER_CORE_LAYER_CPU_PARALLEL_H_
#define INLIER_CORE_LAYER_CPU_PARALLEL_H_

#include <sched.h>

#include <cstddef>
#include <cstdint>

namespace inlier::layer::cpu {

// The threads of the loops here from now on, each bound to `cpus`; before the first call: LibTorch's own. LibTorch's
// operations keep theirs, because their results depend on the number. Call it where no loop runs.
void SetLoopThreads(int threads, const cpu_set_t& cpus);

// While one lives, LibTorch's operations take the threads of the loops: for those whose results do not depend on them.
class LoopThreadsGuard {
 public:
  LoopThreadsGuard();
  ~LoopThreadsGuard();

 private:
  const int own_;
};

// run(context, begin, end) for parts of [0, n), each on one of the threads; returns after all. In one place, because it
// needs the compiler's OpenMP.
void RunParallel(std::int64_t n, void (*run)(const void* context, std::int64_t begin, std::int64_t end),
                 const void* context);

// body(i) for i in [0, n), on any thread in any order.
template <typename Body>
void ParallelFor(std::int64_t n, const Body& body) {
  RunParallel(
      n,
      [](const void* context, std::int64_t begin, std::int64_t end) {
        const Body& body = *static_cast<const Body*>(context);
        for (std::int64_t i = begin; i < end; ++i) body(i);
      },
      &body);
}

// Memory of this thread, aligned to 64 bytes, of at least `bytes`; its content is that of the last use. Valid until
// the next call with the same `slot` on this thread. Slots: one for each use that may be nested.
enum class ScratchSlot { kLayer, kAttention, kWeightGradient, kHead, kWidened };
inline constexpr std::size_t kScratchSlots = 5;
std::byte* Scratch(ScratchSlot slot, std::size_t bytes);

// Cuts scratch memory into arrays.
class ScratchCutter {
 public:
  explicit ScratchCutter(std::byte* memory) : next_(memory) {}
  template <typename T>
  T* Take(std::int64_t elements) {
    T* result = reinterpret_cast<T*>(next_);
    next_ += BytesOf<T>(elements);
    return result;
  }
  // Of one array, rounded up to whole cache lines.
  template <typename T>
  static constexpr std::size_t BytesOf(std::int64_t elements) {
    return (static_cast<std::size_t>(elements) * sizeof(T) + 63) / 64 * 64;
  }

 private:
  std::byte* next_;
};

}  // namespace inlier::layer::cpu

#endif  // INLIER_CORE_LAYER_CPU_PARALLEL_H_
