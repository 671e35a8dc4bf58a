// A child process that ends when its parent does, however that ends.
#ifndef INLIER_BASE_PROCESSES_END_WITH_PARENT_H_
#define INLIER_BASE_PROCESSES_END_WITH_PARENT_H_

#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

namespace inlier {

// For a child between fork and exec: it gets `signal` when `parent`, or the thread of it that made the child, has
// ended. The signal stays over exec. Safe after a fork of a process with threads.
inline void EndWithParent(pid_t parent, int signal) {
  ::prctl(PR_SET_PDEATHSIG, signal);
  if (::getppid() != parent) ::_exit(127);  // It ended in between.
}

}  // namespace inlier

#endif  // INLIER_BASE_PROCESSES_END_WITH_PARENT_H_
