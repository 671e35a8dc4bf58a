// A text as a condition of a table names it.
#ifndef INLIER_TESTS_RESULTS_TABLES_TEXT_VALUE_H_
#define INLIER_TESTS_RESULTS_TABLES_TEXT_VALUE_H_

#include <google/protobuf/struct.pb.h>

#include <string>

namespace inlier {

inline google::protobuf::Value TextValue(const std::string& text) {
  google::protobuf::Value value;
  value.set_string_value(text);
  return value;
}

}  // namespace inlier

#endif  // INLIER_TESTS_RESULTS_TABLES_TEXT_VALUE_H_
