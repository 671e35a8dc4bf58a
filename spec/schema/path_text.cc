#include "spec/schema/path_text.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inlier/v1/param_options.pb.h"

namespace inlier {
namespace {

absl::StatusOr<std::string> ValueOf(const std::string& name, const Environment& environment) {
  const char* const value = environment(name.c_str());
  if (value != nullptr && *value != '\0') return std::string(value);
  return absl::InvalidArgumentError(
      absl::StrCat("the environment variable ", name, " is not set; set it, or write the path out"));
}

bool IsVariable(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

}  // namespace

absl::StatusOr<std::string> ExpandPath(std::string_view text, const Environment& environment) {
  std::string path;
  std::string_view rest = text;
  if (rest == "~" || rest.starts_with("~/")) {
    ASSIGN_OR_RETURN(path, ValueOf("HOME", environment));
    rest.remove_prefix(1);
  }
  for (std::size_t at = rest.find("${"); at != std::string_view::npos; at = rest.find("${")) {
    const std::size_t end = rest.find('}', at);
    const std::string name(end == std::string_view::npos ? "" : rest.substr(at + 2, end - at - 2));
    if (!IsVariable(name))
      return absl::InvalidArgumentError(absl::StrCat(
          Quoted(text), " has a \"${\" without the name of a variable and \"}\"; write ${NAME}"));
    ASSIGN_OR_RETURN(const std::string value, ValueOf(name, environment));
    absl::StrAppend(&path, std::string(rest.substr(0, at)), value);
    rest.remove_prefix(end + 1);
  }
  return path + std::string(rest);
}

bool MayBePath(const google::protobuf::FieldDescriptor* field) {
  const v1::FileUse use = field->options().GetExtension(v1::param).file();
  return use == v1::FILE_PATH || use == v1::NAME_OR_PATH;
}

}  // namespace inlier
