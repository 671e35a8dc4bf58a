#include "coordinator/logs/logs.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/state/reported_text.h"
#include "coordinator/state/transitions.h"
#include "spec/schema/limits.h"

namespace inlier {
namespace {

std::string WhyNoMore(const Sweep& sweep) {
  const std::string id = sweep.id.ToString();
  return absl::StrCat("limits.log_lines of ", id, " is ", sweep.spec.limits().log_lines(),
                      "; for more lines: inlier edit ", id, " --set limits.log_lines=LINES");
}

}  // namespace

void TakeLogLine(Context& context, Attempt& attempt, const v1::LogLine& line, WallTime at) {
  AttemptLog& log = attempt.log;
  if (log.lines > Limits::kLogLinesMax || log.bytes > Limits::kLogBytesMax) return;
  Sweep& sweep = context.state.sweeps.at(attempt.sweep);
  const v1::LimitsSpec& limits = sweep.spec.limits();
  LogRow row{.token = attempt.token, .at = at};
  if (limits.has_log_lines() && sweep.time.log_lines >= limits.log_lines()) {
    if (std::exchange(log.left_out, true)) return;
    row.text = absl::StrCat("[this line and later ones are left out: ", WhyNoMore(sweep), "]");
    context.out.changes.Add(std::move(row));
    return;
  }
  log.left_out = false;
  row.text = Shortened(line.text(), Limits::kLogLineBytesMax);
  ++log.lines;
  log.bytes += row.text.size();
  if (log.lines > Limits::kLogLinesMax || log.bytes > Limits::kLogBytesMax)
    row.text = absl::StrCat("[the coordinator keeps ", Limits::kLogLinesMax, " lines and ",
                            Limits::kLogBytesMax >> 20,
                            " MiB of an attempt's log; this line and later ones are left out]");
  context.out.changes.Add(std::move(row));
  if (++sweep.time.log_lines == limits.log_lines())
    Notice(context, sweep, "log_full",
           absl::StrCat("no more lines of its attempts' logs are kept: ", WhyNoMore(sweep)));
}

}  // namespace inlier
