#include "core/train/lent_cpus.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "core/fused/parallel.h"

namespace inlier {
namespace {

// Empty where it cannot be read (more than CPU_SETSIZE CPUs).
cpu_set_t BoundTo() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (::sched_getaffinity(0, sizeof(cpus), &cpus) != 0) CPU_ZERO(&cpus);
  return cpus;
}

}  // namespace

LentCpus::LentCpus() : own_(at::get_num_threads()), bound_(BoundTo()) {}

void LentCpus::OnUpdate(double seconds) {
  const cpu_set_t now = BoundTo();
  if (!CPU_EQUAL(&now, &bound_)) {
    bound_ = now;
    choice_.emplace(own_, std::max(own_, CPU_COUNT(&now)));
    fused::SetLoopThreads(choice_->threads(), bound_);
  } else if (choice_) {
    const int before = choice_->threads();
    choice_->Add(seconds);
    if (choice_->threads() != before) fused::SetLoopThreads(choice_->threads(), bound_);
  }
}

}  // namespace inlier
