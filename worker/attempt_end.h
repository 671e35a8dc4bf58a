// Classifies the end of an attempt: one Outcome from the child's events and the end of its process.
//
// The child's own outcome wins. Without one, the reason is that the worker stopped the child, then signs that
// memory ran out, and else a crash.
#ifndef INLIER_WORKER_ATTEMPT_END_H_
#define INLIER_WORKER_ATTEMPT_END_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "inlier/v1/attempt.pb.h"
#include "worker/processes/trial_process.h"

namespace inlier {

// Why the worker stopped a child.
enum class StopKind {
  kNone,
  kNotDesired,  // The coordinator does not want it any more.
  kDraining,    // The worker is ending.
  kLeaseLost,   // The coordinator has not answered for too long (LeaseGuard).
};

struct AttemptEnd {
  ProcessExit exit;
  std::optional<v1::Outcome> reported;  // The child's own outcome.
  StopKind stopped = StopKind::kNone;
  std::string stop_reason;
  bool out_of_memory_kill = false;  // The kernel killed for memory while it ran.
  std::uint64_t garbage_lines = 0;
  std::string first_garbage;
  std::deque<std::string> last_output;  // Last lines of stdout and stderr.
};

v1::Outcome ClassifyEnd(const AttemptEnd& end);

// "was killed by signal 11 (Segmentation fault)", "exited with status 3".
std::string DescribeExit(const ProcessExit& exit);

// Number of kills for lack of memory so far: in this process' control group, else on the machine; 0 when
// neither is known.
std::uint64_t OutOfMemoryKills();

}  // namespace inlier

#endif  // INLIER_WORKER_ATTEMPT_END_H_
