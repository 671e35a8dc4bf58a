// Matchers of a status, or of a result that has one in place of a value.
#ifndef INLIER_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define INLIER_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <gmock/gmock.h>

#include <string>

#include "absl/status/statusor.h"

namespace inlier {

inline const absl::Status& StatusIn(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusIn(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "") {
  *result_listener << "which is " << StatusIn(arg);
  return StatusIn(arg).ok();
}

// `message` is a text or a matcher.
MATCHER_P2(StatusIs, code, message, "") {
  const absl::Status& status = StatusIn(arg);
  *result_listener << "which is " << status << " ";
  return status.code() == code &&
         testing::ExplainMatchResult(message, std::string(status.message()), result_listener);
}

// The same of a grpc::Status.
MATCHER_P2(FailsWith, code, message, "") {
  *result_listener << "which has code " << arg.error_code() << " and message \"" << arg.error_message()
                   << "\" ";
  return arg.error_code() == code &&
         testing::ExplainMatchResult(message, arg.error_message(), result_listener);
}

}  // namespace inlier

#endif  // INLIER_TESTS_SUPPORT_STATUS_MATCHERS_H_
