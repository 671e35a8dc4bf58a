// Which versions of inlier work together.
//
// A coordinator takes calls of programs (workers, the command line, other clients) of its own minor release, with
// any patch, and of the one before: 0.3.x takes 0.3.y and 0.2.y, none of another major number. A newer program may send fields that the
// coordinator does not know, so the coordinator is upgraded first. Both ignore fields that they do not know;
// trials have their own check (spec/schema/message_form.h).
//
// Thread safety: pure functions.
#ifndef INLIER_BASE_VERSION_SKEW_H_
#define INLIER_BASE_VERSION_SKEW_H_

#include <string_view>

#include "absl/status/status.h"

namespace inlier {

// `caller` has its verb, for the message: "worker w1 runs", "the caller is". Versions are two or more numbers with
// dots. FailedPrecondition names both and which side to upgrade, or to install the same where one cannot be read.
absl::Status CheckVersionSkew(std::string_view caller, std::string_view caller_version,
                              std::string_view coordinator_version);

}  // namespace inlier

#endif  // INLIER_BASE_VERSION_SKEW_H_
