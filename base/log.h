// Logs: one event, one line, `event key=value …`, on stderr. State changes are INFO, with ids first. A value
// with spaces is in quotes (LogText); control characters are escaped, so no value can start another line.
#ifndef INLIER_BASE_LOG_H_
#define INLIER_BASE_LOG_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/time.h"
#include "spdlog/spdlog.h"

namespace inlier {

enum class LogFormat { kText, kJson };

// Call once at the start of main. `level` is trace, debug, info, warn, error or off.
void InitLog(const std::string& program, std::string_view level = "info");

// From here on each line is "text" (as above) or "json": one object with time, level, program, event, fields
// and, where there is free text, message. InvalidArgument for another name.
absl::Status SetLogFormat(const std::string& name);

// Holds back the lines of its lifetime and writes them together; warnings, and each 64 KiB, are written at once.
class LogBatch {
 public:
  LogBatch();
  ~LogBatch();
  LogBatch(const LogBatch&) = delete;
  LogBatch& operator=(const LogBatch&) = delete;
};

// `text` in quotes, as the value of a field.
std::string LogText(absl::string_view text);

// The line without its end.
std::string FormatLogLine(LogFormat format, WallTime time, std::string_view level, std::string_view program,
                          std::string_view text);

}  // namespace inlier

#endif  // INLIER_BASE_LOG_H_
