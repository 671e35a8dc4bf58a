#include "core/trial/progress_log.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace inlier {

std::optional<std::string> ProgressLog::Line(const v1::Progress& progress, Timestamp now) {
  const bool trained = progress.phase() == "train" && progress.step() == progress.steps_total();
  if (!last_) last_ = now;
  if (!trained && now - *last_ < kEvery) return std::nullopt;
  last_ = now;
  std::string line = progress.phase();
  const auto step = static_cast<double>(progress.step()), total = static_cast<double>(progress.steps_total());
  if (progress.steps_total() > 0)
    absl::StrAppend(&line, " ", progress.step(), "/", progress.steps_total(),
                    absl::StrFormat(" (%d %%)", static_cast<int>(100 * step / total)));
  if (progress.has_loss()) absl::StrAppend(&line, absl::StrFormat(", loss %.4g", progress.loss()));
  if (progress.rate() <= 0) return line;
  absl::StrAppend(&line, absl::StrFormat(", %.3g updates/s", progress.rate()));
  if (total > step)
    absl::StrAppend(&line, ", about ", FormatDuration(FromSeconds((total - step) / progress.rate())),
                    " left");
  return line;
}

std::string StartedLine(const v1::Started& started) {
  std::string line =
      absl::StrCat("started on ", started.host(), ", ", started.device(), ", ", started.threads(),
                   started.threads() == 1 ? " thread: " : " threads: ", started.parameters(),
                   " parameters, inlier ", started.build(), ", LibTorch ", started.torch_version());
  if (started.processes() > 1) absl::StrAppend(&line, ", rank 0 of ", started.processes(), " processes");
  if (started.resumed_step() > 0) absl::StrAppend(&line, ", resumed from step ", started.resumed_step());
  return line;
}

std::string EndedLine(const v1::Outcome& outcome, Duration passed) {
  const bool stopped = outcome.failure() == v1::PREEMPTED;
  std::string line = stopped ? "PREEMPTED" : v1::Outcome::Kind_Name(outcome.kind());
  if (outcome.kind() == v1::Outcome::FAILED && !stopped)
    absl::StrAppend(&line, ", ", v1::FailureClass_Name(outcome.failure()));
  absl::StrAppend(&line, " after ", FormatDuration(passed));
  if (!outcome.message().empty()) absl::StrAppend(&line, ": ", outcome.message());
  return line;
}

}  // namespace inlier
