#include "cli/terminal/trial_page.h"

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/explanation_tree.h"
#include "cli/log_line.h"

namespace inlier {
namespace {

constexpr double kPageSeconds = 5;
constexpr std::uint32_t kLogLines = 200;

}  // namespace

TrialPage FetchTrialPage(Session& session, const std::string& trial) {
  TrialPage page;
  page.trial = trial;
  page.loaded = true;
  v1::ExplainRequest explain;
  explain.set_trial(trial);
  const auto explanation = session.Call(&SweepStub::Explain, explain, kPageSeconds);
  const std::string text =
      explanation.ok() ? ExplanationTree(*explanation) : std::string(explanation.status().message());
  page.explanation = absl::StrSplit(absl::StripSuffix(text, "\n"), '\n');
  v1::GetLogsRequest logs;
  logs.set_trial(trial);
  logs.set_max_lines(kLogLines);
  logs.set_newest(true);
  const auto lines = session.Call(&SweepStub::GetLogs, logs, kPageSeconds);
  if (!lines.ok()) {
    page.log.emplace_back(lines.status().message());
    return page;
  }
  for (const v1::LoggedLine& line : lines->lines())
    page.log.emplace_back(absl::StripSuffix(LogLine(line), "\n"));
  return page;
}

}  // namespace inlier
