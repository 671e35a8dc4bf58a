// Expressions of the views. For the .cc files of this folder.
#ifndef INLIER_COORDINATOR_STORE_VIEW_SQL_H_
#define INLIER_COORDINATOR_STORE_VIEW_SQL_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace inlier {

inline constexpr char kIsoTime[] = "'%Y-%m-%dT%H:%M:%fZ'";

// "2026-11-25T01:30:00.000Z" of a column of milliseconds.
inline std::string Utc(const std::string& milliseconds) {
  return absl::StrCat("strftime(", kIsoTime, ", ", milliseconds, " / 1000.0, 'unixepoch')");
}

// "t-17" of a column of numbers.
inline std::string Id(const std::string& prefix, const std::string& column) {
  return absl::StrCat("'", prefix, "' || ", column);
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_VIEW_SQL_H_
