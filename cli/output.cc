#include "cli/output.h"

#include <google/protobuf/util/json_util.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/check.h"

namespace inlier {
namespace {

// Width in columns of a UTF-8 text: its code points (the output has no wide characters).
size_t DisplayWidth(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool LooksNumeric(const std::string& text) {
  if (text.empty() || text == "-") return true;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return end != text.c_str() && (*end == '\0' || *end == '%');
}

std::string Json(const google::protobuf::Message& message, bool unset_too, bool spaced) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = unset_too;
  options.add_whitespace = spaced;
  std::string json;
  INLIER_CHECK(google::protobuf::util::MessageToJsonString(message, &json, options).ok());
  return json;
}

}  // namespace

std::string TextTable::ToString() const {
  std::vector<size_t> widths;
  std::vector<bool> numeric(headings_.size(), !rows_.empty());
  for (const std::string& heading : headings_) widths.push_back(DisplayWidth(heading));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
      numeric[i] = numeric[i] && LooksNumeric(row[i]);
    }
  }
  std::string out;
  auto append = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string cell = i < row.size() ? row[i] : "";
      const std::string padding(widths[i] - DisplayWidth(cell), ' ');
      if (i > 0) line += "  ";
      line += numeric[i] ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  append(headings_);
  for (const auto& row : rows_) append(row);
  return out;
}

std::string ToJson(const google::protobuf::Message& message) { return Json(message, true, true); }

std::string SpecToJson(const google::protobuf::Message& message) { return Json(message, false, true); }

std::string ToJsonLine(const google::protobuf::Message& message) {
  return Json(message, false, false) + "\n";
}

bool StdoutIsTerminal() { return isatty(STDOUT_FILENO) == 1; }
bool StderrIsTerminal() { return isatty(STDERR_FILENO) == 1; }

int TerminalWidth() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
  return 100;
}

}  // namespace inlier
