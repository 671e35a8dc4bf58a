// Outcomes of failed attempts, made by the trial itself and by its worker in the same form.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_TRIAL_OUTCOME_H_
#define INLIER_SPEC_TRIAL_OUTCOME_H_

#include <string_view>

#include "inlier/v1/attempt.pb.h"

namespace inlier {

// FAILED with `message`, cut to 4,000 bytes.
v1::Outcome FailedOutcome(v1::FailureClass failure, std::string_view message);

// The status of a trial's process that a request to stop has ended.
inline constexpr int kExitStopped = 75;

// True for a message of C++, LibTorch or CUDA that memory ran out; on the CPU LibTorch has no error class for it.
bool ReportsOutOfMemory(std::string_view message);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_OUTCOME_H_
