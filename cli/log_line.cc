#include "cli/log_line.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/time.h"
#include "cli/output.h"

namespace inlier {
namespace {

// "2026-11-23T14:27:26.083Z ", as our programs begin each line.
bool BeginsWithTime(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z ";
  return std::equal(
      kForm.begin(), kForm.end(), text.begin(), text.begin() + std::min(text.size(), kForm.size()),
      [](char form, unsigned char c) { return form == '0' ? absl::ascii_isdigit(c) : form == c; });
}

}  // namespace

std::string LogLine(const v1::LoggedLine& line) {
  const std::string text = Shown(line.text(), Layout::kLine);
  return BeginsWithTime(text) ? absl::StrCat(text, "\n")
                              : absl::StrCat(FormatUtc({line.time_unix_ms()}), "  ", text, "\n");
}

}  // namespace inlier
