// A file with one message, as JSON.
#ifndef INLIER_SPEC_SCHEMA_READ_JSON_H_
#define INLIER_SPEC_SCHEMA_READ_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "google/protobuf/util/json_util.h"
#include "spec/schema/yaml_reader.h"

namespace inlier {

// InvalidArgument names the file, the message's type and the error.
template <typename Message>
absl::StatusOr<Message> ReadJson(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  Message message;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &message);
  if (status.ok()) return message;
  const std::string& type = Message::descriptor()->name();
  const bool vowel = std::string("AEIOU").find(type[0]) != std::string::npos;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": not ", vowel ? "an " : "a ", type, " in JSON: ", status.message().ToString()));
}

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_READ_JSON_H_
