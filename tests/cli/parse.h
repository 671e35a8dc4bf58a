// Messages for tests, in text format.
#ifndef INLIER_TESTS_CLI_PARSE_H_
#define INLIER_TESTS_CLI_PARSE_H_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace inlier {

template <typename Message>
Message& Set(Message& message, const std::string& fields) {
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(fields, &message)) << fields;
  return message;
}

template <typename Message>
Message Parse(const std::string& fields) {
  Message message;
  return Set(message, fields);
}

}  // namespace inlier

#endif  // INLIER_TESTS_CLI_PARSE_H_
