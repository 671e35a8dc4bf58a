#include "core/layer_cpu/parallel.h"

#include <ATen/Parallel.h>
#include <omp.h>

#include <array>
#include <new>

namespace inlier::layer::cpu {
namespace {

constexpr std::align_val_t kLine{64};

int loop_threads = 0;  // 0: LibTorch's own.

struct Aligned {
  void operator()(std::byte* memory) const { ::operator delete[](memory, kLine); }
};

struct Buffer {
  std::unique_ptr<std::byte[], Aligned> memory;
  std::size_t bytes = 0;
};

}  // namespace

#ifndef _OPENMP
#error "compile this file with -fopenmp, else at::parallel_for is a loop of one thread"
#endif

void SetLoopThreads(int threads, const cpu_set_t& cpus) {
  loop_threads = threads;
#pragma omp parallel num_threads(threads)
  ::sched_setaffinity(0, sizeof(cpus), &cpus);
}

LoopThreadsGuard::LoopThreadsGuard() : own_(omp_get_max_threads()) {
  if (loop_threads > 0) omp_set_num_threads(loop_threads);
}
LoopThreadsGuard::~LoopThreadsGuard() { omp_set_num_threads(own_); }

void RunParallel(std::int64_t n, void (*run)(const void* context, std::int64_t begin, std::int64_t end),
                 const void* context) {
  const LoopThreadsGuard guard;
  at::parallel_for(0, n, 1, [&](std::int64_t begin, std::int64_t end) { run(context, begin, end); });
}

std::byte* Scratch(ScratchSlot slot, std::size_t bytes) {
  thread_local std::array<Buffer, kScratchSlots> buffers;
  Buffer& buffer = buffers[static_cast<std::size_t>(slot)];
  if (buffer.bytes < bytes) {
    buffer.memory.reset();
    buffer.memory.reset(static_cast<std::byte*>(::operator new[](bytes, kLine)));
    buffer.bytes = bytes;
  }
  return buffer.memory.get();
}

}  // namespace inlier::layer::cpu
