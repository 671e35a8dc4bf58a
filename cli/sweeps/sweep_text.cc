#include "cli/sweeps/sweep_text.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace inlier {

std::string SweepStateWord(v1::SweepState state) {
  const std::string& name = v1::SweepState_Name(state);
  return absl::StrReplaceAll(absl::AsciiStrToLower(absl::StripPrefix(name, "SWEEP_")), {{"_", " "}});
}

std::string SweepWord(const v1::SweepStatus& sweep) {
  if (sweep.has_imported()) return "imported";
  if (sweep.state() == v1::COMPLETE) return DescribeEnd(sweep.trials());
  return sweep.state() == v1::ACTIVE && sweep.paused() ? "paused" : SweepStateWord(sweep.state());
}

uint64_t TotalTrials(const v1::TrialCounts& counts) {
  return counts.pending() + counts.running() + EndedTrials(counts);
}

uint64_t EndedTrials(const v1::TrialCounts& counts) {
  return counts.succeeded() + counts.diverged() + counts.failed() + counts.cancelled();
}

std::string DescribeTrials(const v1::TrialCounts& counts) {
  std::string text = absl::StrCat(EndedTrials(counts), "/", TotalTrials(counts), " trials");
  if (counts.known() > 0) absl::StrAppend(&text, ", ", counts.known(), " known before");
  if (counts.diverged() > 0) absl::StrAppend(&text, ", ", counts.diverged(), " diverged");
  if (counts.failed() > 0) absl::StrAppend(&text, ", ", counts.failed(), " FAILED");
  if (counts.pruned() > 0) absl::StrAppend(&text, ", ", counts.pruned(), " pruned");
  if (counts.cancelled() > counts.pruned())
    absl::StrAppend(&text, ", ", counts.cancelled() - counts.pruned(), " cancelled");
  return text;
}

std::string DescribeStages(const v1::SweepStatus& status) {
  return absl::StrFormat("trained %d/%d, evaluated %d/%d", status.train_stages().ended(),
                         status.train_stages().total(), status.evaluate_stages().ended(),
                         status.evaluate_stages().total());
}

std::string DescribeEnd(const v1::TrialCounts& counts) {
  if (counts.failed() == 0) return "complete";
  const uint64_t all = TotalTrials(counts);
  if (counts.failed() == all) return absl::StrCat("failed: all ", all, all == 1 ? " trial" : " trials");
  return absl::StrCat("partly failed: ", counts.failed(), " of ", all, " trials");
}

const char* AwayWord(const v1::WorkerStatus& worker) {
  return worker.draining() && worker.busy() == 0 ? "stopped" : "lost";
}

std::string RunTimeText(const v1::SweepStatus& status, WallTime now) {
  if (!status.has_submitted_unix_ms()) return "";
  const std::int64_t end = status.has_ended_unix_ms() ? status.ended_unix_ms() : now.unix_ms;
  return FormatDuration(
      std::chrono::milliseconds(std::max<std::int64_t>(0, end - status.submitted_unix_ms())));
}

std::string FormatLocal(WallTime time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S %z", absl::FromUnixMillis(time.unix_ms), absl::LocalTimeZone());
}

std::string FormatClock(WallTime time) {
  return absl::FormatTime("%H:%M:%S", absl::FromUnixMillis(time.unix_ms), absl::LocalTimeZone());
}

}  // namespace inlier
