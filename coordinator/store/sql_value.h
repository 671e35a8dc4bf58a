// Values that go into SQL, and come out of it.
#ifndef INLIER_COORDINATOR_STORE_SQL_VALUE_H_
#define INLIER_COORDINATOR_STORE_SQL_VALUE_H_

#include <cstdint>
#include <string>
#include <variant>

namespace inlier {

// A value of SQL: NULL, INTEGER, REAL, TEXT.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string>;
// Returns the value; zero or empty for one of another type. Real converts integers.
inline std::int64_t Integer(const SqlValue& value) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  return integer == nullptr ? 0 : *integer;
}
inline double Real(const SqlValue& value) {
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? static_cast<double>(Integer(value)) : *real;
}
inline std::string Text(const SqlValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : *text;
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SQL_VALUE_H_
