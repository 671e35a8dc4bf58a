// Which versions of inlier work together.
//
// A coordinator takes calls of programs (workers, the command line, other clients) of its own minor release, with any
// patch, and of the minor release before: 0.3.x takes 0.3.y and 0.2.y. A newer program may send fields that the coordinator
// does not know, so the coordinator is upgraded first; across major numbers nothing works together. Both ignore the fields
// that they do not know; trials are protected by their own check (spec/schema/message_form.h).
//
// Thread safety: pure functions.
#ifndef INLIER_BASE_VERSION_SKEW_H_
#define INLIER_BASE_VERSION_SKEW_H_

#include <string_view>

#include "absl/status/status.h"

namespace inlier {

// `caller`: with its verb, for the message: "worker w1 runs", "the caller is". Versions as of Version(): numbers with dots,
// at least two. FailedPrecondition names both versions and which side to upgrade, and "install the same version on both"
// where a version cannot be read and they are not equal.
absl::Status CheckVersionSkew(std::string_view caller, std::string_view caller_version,
                              std::string_view coordinator_version);

}  // namespace inlier

#endif  // INLIER_BASE_VERSION_SKEW_H_
