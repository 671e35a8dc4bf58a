#include "core/trial/failure.h"

#include <c10/util/Exception.h>

#include <exception>
#include <new>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/gang/gang.h"
#include "core/nn/attention/script.h"
#include "spec/trial/outcome.h"

namespace inlier {
namespace {

std::string MemoryAdvice(const std::string& text) {
  return absl::StrCat("out of memory: ", text,
                      "; a smaller training.batch_size with a larger training.gradient_accumulation needs "
                      "less and computes the same");
}

}  // namespace

v1::Outcome Succeeded() {
  v1::Outcome outcome;
  outcome.set_kind(v1::Outcome::SUCCEEDED);
  return outcome;
}

v1::Outcome Diverged(const std::string& message) {
  v1::Outcome outcome;
  outcome.set_kind(v1::Outcome::DIVERGED);
  outcome.set_message(message);
  return outcome;
}

v1::Outcome FailedWith(const absl::Status& status) {
  const std::string message(status.message());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
      return FailedOutcome(v1::INVALID_SPEC, message);
    case absl::StatusCode::kCancelled:
      return FailedOutcome(v1::PREEMPTED, message);
    default:
      return FailedOutcome(v1::CRASHED, message);
  }
}

v1::Outcome CatchFailures(const std::function<v1::Outcome()>& work) {
  try {
    return work();
  } catch (const GangBroken& error) {
    v1::Outcome outcome = FailedOutcome(v1::CRASHED, error.what());
    outcome.set_lost_a_rank(true);
    return outcome;
  } catch (const c10::OutOfMemoryError& error) {
    // Only allocators of devices throw this one.
    v1::Outcome outcome = FailedOutcome(v1::OUT_OF_MEMORY, MemoryAdvice(error.what_without_backtrace()));
    outcome.set_gpu_out_of_memory(true);
    return outcome;
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    if (ReportsOutOfMemory(text)) return FailedOutcome(v1::OUT_OF_MEMORY, MemoryAdvice(text));
    return FailedOutcome(v1::CRASHED, absl::StrCat("LibTorch: ", text));
  } catch (const ScriptError& error) {
    if (!ReportsOutOfMemory(error.what())) return FailedOutcome(v1::INVALID_SPEC, error.what());
    v1::Outcome outcome = FailedOutcome(v1::OUT_OF_MEMORY, MemoryAdvice(error.what()));
    if (absl::StrContains(error.what(), "CUDA")) outcome.set_gpu_out_of_memory(true);
    return outcome;
  } catch (const std::bad_alloc& error) {
    return FailedOutcome(v1::OUT_OF_MEMORY, MemoryAdvice(error.what()));
  } catch (const std::exception& error) {
    return FailedOutcome(v1::CRASHED, error.what());
  }
}

}  // namespace inlier
