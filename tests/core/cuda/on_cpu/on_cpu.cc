// Fibers: the first entry is by swapcontext, later switches by setjmp and longjmp, which cost no system call.
#undef _FORTIFY_SOURCE
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "cuda_runtime_api.h"

namespace on_cpu {
namespace {

constexpr std::size_t kStack = 256 * 1024;
constexpr int kLanes = 32;

struct Fiber {
  jmp_buf place;
  ucontext_t start;
  std::unique_ptr<unsigned char[]> stack;
  unsigned index = 0;
  bool started = false, ended = false;
};

// Threads that wait for each other. Slots are used in turns, because a fast lane may reach the next exchange before a
// slow one has read this one's values.
struct Meeting {
  int size = 0, arrived = 0;
  unsigned generation = 0;
  std::uint32_t words[2][kLanes][6];
};

std::vector<Fiber> fibers;
std::vector<Meeting> warps;
Meeting block;
unsigned threads = 0, live = 0, current = 0;
unsigned long progress = 0;  // Arrivals and ends so far.
std::size_t shared_bytes = 0;
jmp_buf scheduler;
ucontext_t scheduler_start;
const std::function<void()>* body = nullptr;

void Yield() {
  if (_setjmp(fibers[current].place) == 0) _longjmp(scheduler, 1);
}

// Until all have arrived; the generation that this was.
unsigned Meet(Meeting& meeting) {
  const unsigned generation = meeting.generation;
  ++progress;
  if (++meeting.arrived == meeting.size) {
    meeting.arrived = 0;
    ++meeting.generation;
    return generation;
  }
  while (meeting.generation == generation) Yield();
  return generation;
}

void FiberMain() {
  (*body)();
  fibers[current].ended = true;
  --live;
  ++progress;
  _longjmp(scheduler, 1);
}

void Switch(unsigned index) {
  current = index;
  threadIdx = {index, 0, 0};
  Fiber& fiber = fibers[index];
  if (_setjmp(scheduler) != 0) return;
  if (fiber.started) _longjmp(fiber.place, 1);
  fiber.started = true;
  swapcontext(&scheduler_start, &fiber.start);
}

void RunBlock() {
  std::memset(dynamic_shared, 0xff, shared_bytes);
  for (unsigned i = 0; i < threads; ++i) {
    Fiber& fiber = fibers[i];
    fiber.started = fiber.ended = false;
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack.get();
    fiber.start.uc_stack.ss_size = kStack;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, FiberMain, 0);
  }
  live = threads;
  for (Meeting& warp : warps) warp.arrived = 0;
  block.arrived = 0;
  while (live > 0) {
    const unsigned long before = progress;
    for (unsigned i = 0; i < threads; ++i) {
      const unsigned index = order == Order::kForward ? i : threads - 1 - i;
      if (!fibers[index].ended) Switch(index);
    }
    if (before == progress) {
      std::fputs("on_cpu: a barrier or a collective that not every thread reaches\n", stderr);
      std::abort();
    }
  }
}

float OfBf16(std::uint32_t word, int half) {
  return std::bit_cast<float>(half == 0 ? word << 16 : word & 0xffff0000u);
}

}  // namespace

void Barrier() { Meet(block); }

std::uint32_t Shuffle(std::uint32_t value, int source) {
  Meeting& warp = warps[current / kLanes];
  warp.words[warp.generation % 2][current % kLanes][0] = value;
  const unsigned generation = Meet(warp);
  return warp.words[generation % 2][source][0];
}

std::uint32_t Ballot(bool value) {
  Meeting& warp = warps[current / kLanes];
  warp.words[warp.generation % 2][current % kLanes][0] = value ? 1 : 0;
  const auto& words = warp.words[Meet(warp) % 2];
  std::uint32_t bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) bits |= words[lane][0] << lane;
  return bits;
}

void MultiplyAdd(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  Meeting& warp = warps[current / kLanes];
  const int lane = static_cast<int>(current % kLanes), group = lane / 4, quarter = lane % 4;
  std::uint32_t(&mine)[6] = warp.words[warp.generation % 2][lane];
  for (int i = 0; i < 4; ++i) mine[i] = a[i];
  mine[4] = b0;
  mine[5] = b1;
  const auto& words = warp.words[Meet(warp) % 2];
  for (int i = 0; i < 4; ++i) {
    const int row = group + i / 2 * 8, column = 2 * quarter + i % 2;
    float sum = 0;
    for (int k = 0; k < 16; ++k) {
      const int holder = k % 8 / 2, upper = k / 8;
      sum += OfBf16(words[row % 8 * 4 + holder][row / 8 + 2 * upper], k % 2) *
             OfBf16(words[column * 4 + holder][4 + upper], k % 2);
    }
    d[i] += sum;
  }
}

void Run(const cudaLaunchConfig_t& config, const std::function<void()>& thread) {
  threads = config.blockDim.x;
  body = &thread;
  shared_bytes = config.dynamicSmemBytes;
  blockDim = config.blockDim;
  gridDim = config.gridDim;
  fibers.resize(std::max<std::size_t>(fibers.size(), threads));
  for (Fiber& fiber : fibers) {
    if (!fiber.stack) fiber.stack = std::make_unique<unsigned char[]>(kStack);
  }
  warps.resize((threads + kLanes - 1) / kLanes);
  for (std::size_t i = 0; i < warps.size(); ++i) {
    warps[i].size = std::min<int>(kLanes, static_cast<int>(threads - i * kLanes));
  }
  block.size = static_cast<int>(threads);
  const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
  for (unsigned i = 0; i < blocks; ++i) {
    const unsigned b = order == Order::kForward ? i : blocks - 1 - i;
    blockIdx = {b % gridDim.x, b / gridDim.x % gridDim.y, b / gridDim.x / gridDim.y};
    RunBlock();
  }
}

}  // namespace on_cpu
