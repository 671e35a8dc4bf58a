#include "core/train/loop_threads.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "core/layer_cpu/parallel.h"

namespace inlier {
namespace {

// The CPUs of this process; empty where they cannot be read (more than CPU_SETSIZE of them).
cpu_set_t BoundTo() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (::sched_getaffinity(0, sizeof(cpus), &cpus) != 0) CPU_ZERO(&cpus);
  return cpus;
}

}  // namespace

LoopThreads::LoopThreads() : own_(at::get_num_threads()), bound_(BoundTo()), choice_(1, own_) {}

void LoopThreads::OnUpdate(double seconds) {
  const cpu_set_t now = BoundTo();
  const int before = choice_.threads();
  if (!CPU_EQUAL(&now, &bound_)) {
    bound_ = now;
    choice_ = ThreadChoice(1, std::max(own_, CPU_COUNT(&now)));
  } else {
    choice_.Add(seconds);
    if (choice_.threads() == before) return;
  }
  layer::cpu::SetLoopThreads(choice_.threads(), bound_);
}

}  // namespace inlier
