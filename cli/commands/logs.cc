// inlier logs TRIAL: the lines of its attempts.
#include <memory>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/log_line.h"

namespace inlier {
namespace {

constexpr Duration kFollowEvery = std::chrono::seconds(1);

struct LogsArguments {
  std::string trial;
  std::optional<std::uint32_t> tail;
  bool follow = false;
};

absl::StatusOr<v1::Explanation> Explain(Session& session, const std::string& trial) {
  v1::ExplainRequest request;
  request.set_trial(trial);
  return session.Call(&SweepStub::Explain, request);
}

// "trial t-17 (method=clipped, seed=1)", as far as it can be asked for.
std::string DescribeTrial(Session& session, const std::string& trial) {
  const auto explanation = Explain(session, trial);
  return explanation.ok() ? explanation->text() : trial;
}

bool HasEnded(Session& session, const std::string& trial) {
  const auto explanation = Explain(session, trial);
  return explanation.ok() && explanation->state() != v1::TrialState_Name(v1::PENDING) &&
         explanation->state() != v1::TrialState_Name(v1::RUNNING);
}

// Prints lines as they come, with a heading for each attempt.
class LogPrinter {
 public:
  LogPrinter(Session& session, const LogsArguments& arguments) : session_(session), arguments_(arguments) {}

  void Print(const v1::GetLogsResponse& logs) {
    std::string text;
    for (const v1::LoggedLine& line : logs.lines()) {
      last_ = line.line();
      if (session_.mode() == OutputMode::kJson) {
        text += ToJsonLine(line);
        continue;
      }
      if (line.token() != token_ && session_.people()) {
        if (!any_)
          absl::StrAppend(&text, Shown(DescribeTrial(session_, arguments_.trial), Layout::kCell), "\n");
        absl::StrAppend(&text, "--- ", line.stage_id(), line.stage_id() == stage_ ? ", next attempt" : "",
                        "\n");
      }
      token_ = line.token();
      stage_ = line.stage_id();
      any_ = true;
      text += LogLine(line);
    }
    PrintExact(text);
  }
  bool any() const { return any_; }
  std::uint64_t last() const { return last_; }

 private:
  Session& session_;
  const LogsArguments& arguments_;
  std::uint64_t token_ = 0, last_ = 0;
  std::string stage_;
  bool any_ = false;
};

// Returns when the trial has ended, or at Ctrl-C.
absl::Status Follow(Session& session, const LogsArguments& arguments, LogPrinter& printer) {
  v1::GetLogsRequest request;
  request.set_trial(arguments.trial);
  Timestamp answered = MonotonicNow();
  while (!Interrupted()) {
    const bool ended = HasEnded(session, arguments.trial);  // Before the lines, so that none is missed.
    request.set_after_line(printer.last());
    const auto logs = session.Call(&SweepStub::GetLogs, request);
    if (!logs.ok() && (!IsRetriable(logs.status()) || MonotonicNow() - answered > std::chrono::seconds(60)))
      return logs.status();
    if (logs.ok()) {
      answered = MonotonicNow();
      printer.Print(*logs);
      if (ended && logs->lines().empty()) return absl::OkStatus();
      if (!logs->lines().empty()) continue;
    }
    for (Duration waited{0}; waited < kFollowEvery && !Interrupted();
         waited += std::chrono::milliseconds(100))
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return absl::OkStatus();
}

absl::Status Logs(Session& session, const LogsArguments& arguments) {
  v1::GetLogsRequest request;
  request.set_trial(arguments.trial);
  request.set_newest(true);
  if (arguments.tail) request.set_max_lines(*arguments.tail);
  ASSIGN_OR_RETURN(const v1::GetLogsResponse logs, session.Call(&SweepStub::GetLogs, request));
  if (session.mode() == OutputMode::kJson && !arguments.follow) {
    PrintExact(ToJson(logs));
    return absl::OkStatus();
  }
  LogPrinter printer(session, arguments);
  printer.Print(logs);
  if (arguments.follow) return Follow(session, arguments, printer);
  if (!printer.any() && session.people())
    Print(absl::StrCat("No log lines of ", DescribeTrial(session, arguments.trial), "\n"));
  return absl::OkStatus();
}

}  // namespace

void AddLogsCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<LogsArguments>();
  CLI::App* command = app.add_subcommand("logs", "Print the log lines of a trial's attempts, oldest first");
  command->add_option("trial", arguments->trial, "Trial id, for example t-17")->required();
  command
      ->add_option(
          "--tail,-n,--max-lines", arguments->tail,
          absl::StrCat("Only the newest lines, so many; default: ", v1::GetLogsRequest().max_lines()))
      ->check(CLI::PositiveNumber);
  command->add_flag("--follow,-f", arguments->follow,
                    "Print further lines as they come, until the trial has ended");
  command->callback([&session, arguments] {
    if (arguments->follow) CatchInterrupts();
    session.Finish(Logs(session, *arguments));
  });
}

}  // namespace inlier
