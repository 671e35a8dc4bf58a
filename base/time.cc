#include "base/time.h"

#include <ctime>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"

namespace inlier {

Timestamp MonotonicNow() { return {std::chrono::steady_clock::now().time_since_epoch()}; }

WallTime WallNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
}

std::string FormatUtc(WallTime time) {
  const std::int64_t ms = ((time.unix_ms % 1000) + 1000) % 1000;
  const std::time_t seconds = static_cast<std::time_t>((time.unix_ms - ms) / 1000);
  // A busy second is written thousands of times.
  thread_local std::pair<std::time_t, std::string> last{-1, ""};
  if (last.second.empty() || last.first != seconds) {
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    last = {seconds, absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d.", utc.tm_year + 1900, utc.tm_mon + 1,
                                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec)};
  }
  std::string text = last.second;
  text += static_cast<char>('0' + ms / 100);
  text += static_cast<char>('0' + ms / 10 % 10);
  text += static_cast<char>('0' + ms % 10);
  return text + 'Z';
}

std::string FormatDuration(Duration d) {
  const double seconds = ToSeconds(d);
  if (seconds < 10) return absl::StrFormat("%.1f s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return absl::StrFormat("%d s", whole);
  if (whole < 3600) return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  return absl::StrFormat("%d h %02d min", whole / 3600, whole % 3600 / 60);
}

}  // namespace inlier
