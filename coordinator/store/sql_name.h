// Names in SQL that this program builds.
#ifndef INLIER_COORDINATOR_STORE_SQL_NAME_H_
#define INLIER_COORDINATOR_STORE_SQL_NAME_H_

#include <string>
#include <string_view>

namespace inlier {

// The name of a table or a column, quoted: whatever it contains, SQLite reads it as that one name.
inline std::string SqlName(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SQL_NAME_H_
