// Names in SQL that this program builds.
#ifndef INLIER_COORDINATOR_STORE_SQL_NAME_H_
#define INLIER_COORDINATOR_STORE_SQL_NAME_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace inlier {

// Quotes the name of a table or a column: SQLite reads any text in it as that one name.
inline std::string SqlName(const std::string& name) {
  return absl::StrCat("\"", absl::StrReplaceAll(name, {{"\"", "\"\""}}), "\"");
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SQL_NAME_H_
