#include "coordinator/attempts/retry_policy.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/backoff.h"
#include "base/check.h"
#include "base/deliberate_bug.h"

namespace inlier {
namespace {

// A crash may come from something that passes (a full disk, a busy GPU), so a stage that crashed waits a little: long enough
// to see, and short enough not to seem to hang.
constexpr Backoff kCrashBackoff{.first = std::chrono::seconds(1), .longest = std::chrono::seconds(60)};

RetryDecision WithinLimit(std::uint32_t count, std::uint32_t limit, const char* did, const char* field,
                          Duration wait) {
  if (count < limit || (INLIER_BUG("retry_cap_off_by_one") && count == limit))
    return {.again = true, .wait = wait, .why_not = ""};
  return {.why_not = absl::StrCat(did, count == 1 ? " once" : absl::StrCat(" ", count, " times"), " (", field,
                                  " = ", limit, ")")};
}

}  // namespace

RetryDecision CountFailure(v1::FailureClass failure, const v1::RetrySpec& policy, StageFailures& counts) {
  switch (failure) {
    case v1::INVALID_SPEC:
      ++counts.invalid;
      return {.why_not = "can never run as it is"};
    case v1::OUT_OF_MEMORY:
      return WithinLimit(++counts.out_of_memory, policy.max_out_of_memory(), "ran out of memory",
                         "retry.max_out_of_memory", Duration::zero());
    case v1::CRASHED:
    case v1::TIMED_OUT:
    case v1::STALLED:
      ++counts.crashes;
      return WithinLimit(counts.crashes, policy.max_crashes(), "crashed, stalled or timed out",
                         "retry.max_crashes", kCrashBackoff.Wait(static_cast<int>(counts.crashes), 0.5));
    case v1::LOST:
    case v1::PREEMPTED:
    case v1::SICK_DEVICE:
      return WithinLimit(++counts.losses, policy.max_losses(), "lost its worker or ran on a sick device",
                         "retry.max_losses", Duration::zero());
    case v1::OTHER_DATA:
      return {.again = true, .wait = Duration::zero(), .why_not = ""};  // On a worker that has the data.
  }
  INLIER_CHECK(false && "a FailureClass that the retry policy does not know");
  return {};
}

std::string RaiseMemory(Context& context, const Stage& stage, const Attempt& attempt) {
  State& state = context.state;
  const WorkerEntry* worker = state.workers.Find(attempt.worker);
  if (worker == nullptr) return "";
  const std::uint32_t slot = attempt.assignment.slot();
  const bool of_gpu = attempt.memory.gpu_ran_out;
  // Each process of a gang gets a part of the machine, and a GPU of its own.
  const std::uint32_t processes = attempt.request.processes;
  const auto whole = [of_gpu, processes](const WorkerResources& resources) {
    if (!of_gpu) return resources.memory_mib() / processes;
    std::uint64_t most = 0;
    for (const WorkerResources::Gpu& gpu : resources.gpus()) most = std::max(most, gpu.memory_mib);
    return most;
  };
  const ResourceRequest charge = worker->resources.Charge(slot, attempt.request);
  const std::uint64_t had = of_gpu ? charge.gpu_memory_mib : charge.memory_mib;
  const std::uint64_t peak = of_gpu ? attempt.memory.peak_gpu_mib : attempt.memory.peak_mib;
  std::uint64_t largest = 0;
  for (const auto& [incarnation, known] : state.workers.all()) {
    // The largest machine may have too few slots for a gang.
    if (known.connected && (processes == 1 || known.resources.CouldEverFit(attempt.request)))
      largest = std::max(largest, whole(known.resources));
  }
  if (largest == 0) return "";  // No worker reports it: retried with the same request.
  if (had >= largest) {
    return absl::StrCat("it had ", had, " MiB, all that the largest registered ",
                        of_gpu ? "GPU has" : "worker has",
                        "; give the training less to hold (a smaller batch with more "
                        "training.gradient_accumulation, a shorter context, a smaller model) or start a "
                        "worker with more memory, then retry it");
  }
  StageMemory& raised = state.raised_memory[stage.id];
  raised.id = stage.id;
  std::uint64_t& next = of_gpu ? raised.gpu_memory_mib : raised.memory_mib;
  next = std::max(next, std::min(MoreMemory(had, peak), largest) * (of_gpu ? 1 : processes));
  context.out.changes.Add(raised);
  return "";
}

Feature RaisedMemory() {
  return {.attempt_ended = [](Context& context, const Attempt& attempt, const AttemptEnd& end) {
    if (IsResult(end.outcome)) context.state.raised_memory.erase(attempt.stage);
  }};
}

}  // namespace inlier
