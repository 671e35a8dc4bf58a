#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/convert/conversion.h"
#include "cli/convert/yaml_values.h"
#include "cli/output.h"
#include "cli/terminal/styled_text.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

constexpr int kCommentColumns = 110;

// Without quotes where every reader of YAML takes it for the same text.
std::string YamlText(const std::string& text) {
  const bool plain = !text.empty() && absl::ascii_isalpha(text[0]) && std::ranges::all_of(text, [](char c) {
    return absl::ascii_isalnum(c) || std::string_view("_-./").find(c) != std::string_view::npos;
  });
  const std::string word = absl::AsciiStrToLower(text);
  if (plain && !PlainValue(text) && word != "null" && word != "y" && word != "n") return text;
  return absl::StrReplaceAll(ForeignValue(text).dump(-1, ' ', false, ForeignValue::error_handler_t::replace),
                             {{"\x7f", "\\x7f"}});
}

std::string FlowText(const ForeignValue& value) {
  std::vector<std::string> parts;
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) parts.push_back(YamlText(key) + ": " + FlowText(member));
    return "{" + absl::StrJoin(parts, ", ") + "}";
  }
  if (value.is_array()) {
    for (const ForeignValue& item : value) parts.push_back(FlowText(item));
    return "[" + absl::StrJoin(parts, ", ") + "]";
  }
  if (value.is_string()) return YamlText(value.get<std::string>());
  return value.is_number_float() ? FormatNumber(value.get<double>()) : value.dump();
}

// A group or a list of groups below its key, a line each; all else on the key's line.
std::string DocumentText(const ForeignValue& document) {
  std::string text;
  for (const auto& [key, value] : document.items()) {
    absl::StrAppend(&text, key, ":");
    if (value.is_object()) {
      for (const auto& [name, member] : value.items())
        absl::StrAppend(&text, "\n  ", YamlText(name), ": ", FlowText(member));
    } else if (value.is_array() && !value.empty() && value.front().is_object()) {
      for (const ForeignValue& item : value) absl::StrAppend(&text, "\n  - ", FlowText(item));
    } else {
      absl::StrAppend(&text, " ", FlowText(value));
    }
    text += "\n";
  }
  return text;
}

std::string CommentText(const std::string& text) {
  const std::string line = "# " + Shown(text, Layout::kCell);
  return absl::StrJoin(WrapText(line, kCommentColumns, line.size(), "#   "), "\n") + "\n";
}

}  // namespace

std::string SweepFileText(const Conversion& conversion, const std::string& file) {
  std::string text = CommentText("Made by `inlier convert " + file + "`, " + conversion.tool + ".");
  if (!conversion.remarks.empty()) text += CommentText("What is not as that file says it:");
  for (const Remark& remark : conversion.remarks) text += CommentText("- " + RemarkText(file, remark));
  return text + DocumentText(conversion.sweep);
}

std::string ProgramFileText(const Conversion& conversion, const std::string& file) {
  return CommentText(
             "A draft by `inlier convert " + file +
             "`: check the command, the types and the measurements. Name the source under `files` where "
             "it is more than *.py.") +
         DocumentText(conversion.program);
}

}  // namespace inlier
