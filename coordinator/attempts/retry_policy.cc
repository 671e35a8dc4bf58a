#include "coordinator/attempts/retry_policy.h"

#include "absl/strings/str_cat.h"
#include "base/backoff.h"
#include "base/check.h"
#include "base/deliberate_bug.h"

namespace inlier {
namespace {

// A crash may come from something that passes (a full disk, a busy GPU), so a stage that crashed waits a
// little; the waits are long enough to see and short enough that a person who watches does not think it
// hangs.
constexpr Backoff kCrashBackoff{.first = std::chrono::seconds(1), .longest = std::chrono::seconds(60)};

RetryDecision WithinLimit(std::uint32_t count, std::uint32_t limit, const char* did, const char* field,
                          Duration wait) {
  if (count < limit || (INLIER_BUG("retry_cap_off_by_one") && count == limit))
    return {.again = true, .wait = wait, .why_not = ""};
  return {.why_not = absl::StrCat(did, count == 1 ? " once" : absl::StrCat(" ", count, " times"), " (", field,
                                  " = ", limit, ")")};
}

}  // namespace

void CountFailure(v1::FailureClass failure, StageFailures& counts) {
  switch (failure) {
    case v1::INVALID_SPEC:
      ++counts.invalid;
      return;
    case v1::OUT_OF_MEMORY:
      ++counts.out_of_memory;
      return;
    case v1::CRASHED:
    case v1::TIMED_OUT:
    case v1::STALLED:
      ++counts.crashes;
      return;
    case v1::LOST:
    case v1::PREEMPTED:
      ++counts.losses;
      return;
  }
  INLIER_CHECK(false && "a FailureClass that the retry policy does not know");
}

RetryDecision DecideRetry(v1::FailureClass failure, const StageFailures& counts,
                          const v1::RetrySpec& policy) {
  switch (failure) {
    case v1::INVALID_SPEC:
      if (INLIER_BUG("invalid_spec_tried_again"))
        return {.again = true, .wait = Duration::zero(), .why_not = ""};
      return {.why_not = "can never run as it is"};
    case v1::OUT_OF_MEMORY:
      return WithinLimit(counts.out_of_memory, policy.max_out_of_memory(), "ran out of memory",
                         "retry.max_out_of_memory", Duration::zero());
    case v1::CRASHED:
    case v1::TIMED_OUT:
    case v1::STALLED:
      return WithinLimit(counts.crashes, policy.max_crashes(), "crashed, stalled or timed out",
                         "retry.max_crashes", kCrashBackoff.Wait(static_cast<int>(counts.crashes), 0.5));
    case v1::LOST:
    case v1::PREEMPTED:
      return WithinLimit(counts.losses, policy.max_losses(), "lost its worker", "retry.max_losses",
                         Duration::zero());
  }
  INLIER_CHECK(false && "a FailureClass that the retry policy does not know");
  return {};
}

}  // namespace inlier
