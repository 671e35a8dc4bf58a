// absl::Status helpers: context on the way up, early return, and which errors may be retried.
#ifndef INLIER_BASE_STATUS_H_
#define INLIER_BASE_STATUS_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

// `status` with ": while <context>" appended to its message; OK stays OK. Use once per layer.
absl::Status Annotate(const absl::Status& status, std::string_view context);

// True when the same call may succeed later although no one changes anything.
bool IsRetriable(const absl::Status& status);

// The status of the last failed system call (errno); `what` is the action and its object.
absl::Status ErrnoStatus(std::string_view what);

}  // namespace inlier

#define INLIER_CONCAT_INNER_(a, b) a##b
#define INLIER_CONCAT_(a, b) INLIER_CONCAT_INNER_(a, b)

// Returns from the function when `expression` is an error.
#define RETURN_IF_ERROR(expression)                          \
  do {                                                       \
    absl::Status status_macro_value = (expression);          \
    if (!status_macro_value.ok()) return status_macro_value; \
  } while (false)

// ASSIGN_OR_RETURN(auto x, StatusOrCall()): x is the value, or the function returns the error.
#define ASSIGN_OR_RETURN(lhs, expression) \
  ASSIGN_OR_RETURN_IMPL_(INLIER_CONCAT_(status_or_value_, __LINE__), lhs, expression)
#define ASSIGN_OR_RETURN_IMPL_(temporary, lhs, expression) \
  auto temporary = (expression);                           \
  if (!temporary.ok()) return temporary.status();          \
  lhs = std::move(temporary).value()

#endif  // INLIER_BASE_STATUS_H_
