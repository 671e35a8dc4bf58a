#include "cli/log_line.h"

#include <cctype>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/time.h"
#include "cli/output.h"

namespace inlier {
namespace {

// "2026-11-23T14:27:26.083Z ", as our programs begin each line.
bool BeginsWithTime(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z ";
  if (text.size() < kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    if (kForm[i] == '0' ? !digit : text[i] != kForm[i]) return false;
  }
  return true;
}

}  // namespace

std::string LogLine(const v1::LoggedLine& line) {
  const std::string text = Shown(line.text(), Layout::kLine);
  return BeginsWithTime(text) ? absl::StrCat(text, "\n")
                              : absl::StrCat(FormatUtc({line.time_unix_ms()}), "  ", text, "\n");
}

}  // namespace inlier
