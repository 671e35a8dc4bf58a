// CPUs that a training borrows while it runs: the worker binds its process to more of them (worker/slots/idle_cpus.h), or
// a person with `taskset -p`, and takes them back in the same way. The loops of the fused engine follow at the next update;
// their results do not depend on the number of threads.
#ifndef INLIER_CORE_TRAIN_LENT_CPUS_H_
#define INLIER_CORE_TRAIN_LENT_CPUS_H_

#include <sched.h>

#include <optional>

#include "core/train/thread_choice.h"

namespace inlier {

class LentCpus {
 public:
  // On the process' first thread, with which it computes.
  LentCpus();

  // Between two updates, of which the last took `seconds`.
  void OnUpdate(double seconds);

 private:
  const int own_;  // LibTorch's threads.
  cpu_set_t bound_;
  std::optional<ThreadChoice> choice_;  // While CPUs are lent.
};

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_LENT_CPUS_H_
