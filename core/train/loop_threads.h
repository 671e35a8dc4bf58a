// The threads of the fused engine's loops while a training runs: as many as are fastest, of those that the training has and
// of the CPUs that it borrows. The worker binds its process to more CPUs (worker/slots/idle_cpus.h), or a user with
// `taskset -p`, and takes them back in the same way; other programs on the same CPUs come and go. The loops follow at the next
// update; their results do not depend on the number of threads.
#ifndef INLIER_CORE_TRAIN_LOOP_THREADS_H_
#define INLIER_CORE_TRAIN_LOOP_THREADS_H_

#include <sched.h>

#include "core/train/thread_choice.h"

namespace inlier {

class LoopThreads {
 public:
  // On the process' first thread, with which it computes.
  LoopThreads();

  // Between two updates, of which the last took `seconds`.
  void OnUpdate(double seconds);

 private:
  const int own_;  // LibTorch's threads.
  cpu_set_t bound_;
  ThreadChoice choice_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_LOOP_THREADS_H_
