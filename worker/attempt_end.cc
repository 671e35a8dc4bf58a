#include "worker/attempt_end.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "spec/trial/outcome.h"
#include "worker/processes/event_reader.h"

namespace inlier {
namespace {

constexpr size_t kQuotedLinesMax = 8;
constexpr size_t kQuotedLineBytesMax = 300;

bool NamesCuda(const std::deque<std::string>& lines) {
  return std::ranges::any_of(lines, [](const std::string& line) {
    const std::string lower = absl::AsciiStrToLower(line);
    return absl::StrContains(lower, "cuda") && absl::StrContains(lower, "out of memory");
  });
}

std::string QuoteOutput(const std::deque<std::string>& lines) {
  if (lines.empty()) return "; it printed nothing";
  std::string quoted = "; its last output:";
  const size_t first = lines.size() > kQuotedLinesMax ? lines.size() - kQuotedLinesMax : 0;
  for (size_t i = first; i < lines.size(); ++i)
    absl::StrAppend(&quoted, "\n  ", Printable(lines[i], kQuotedLineBytesMax));
  return quoted;
}

// The value after `key` in a file of "key value" lines.
std::uint64_t CounterIn(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  std::string name;
  std::uint64_t value = 0;
  while (in >> name >> value) {
    if (name == key) return value;
  }
  return 0;
}

}  // namespace

std::string DescribeExit(const ProcessExit& exit) {
  if (exit.signal == 0) return absl::StrCat("exited with status ", exit.status);
  const char* name = ::strsignal(exit.signal);
  return absl::StrCat("was killed by signal ", exit.signal, " (", name == nullptr ? "unknown" : name, ")");
}

std::uint64_t OutOfMemoryKills() {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("0::", 0) != 0) continue;
    const std::string file = absl::StrCat("/sys/fs/cgroup", line.substr(3), "/memory.events");
    if (std::ifstream(file).good()) return CounterIn(file, "oom_kill");
  }
  return CounterIn("/proc/vmstat", "oom_kill");
}

v1::Outcome ClassifyEnd(const AttemptEnd& end) {
  if (end.reported) return *end.reported;
  const std::string how = DescribeExit(end.exit);
  if (end.stopped != StopKind::kNone)
    return FailedOutcome(end.stopped == StopKind::kLeaseLost ? v1::LOST : v1::PREEMPTED,
                         absl::StrCat("stopped by its worker: ", end.stop_reason));
  const std::string output = QuoteOutput(end.last_output);
  if (end.exit.signal == SIGKILL && end.out_of_memory_kill) {
    return FailedOutcome(
        v1::OUT_OF_MEMORY,
        absl::StrCat("the kernel killed the trial because memory was out; use a smaller model or batch, "
                     "or fewer slots on this worker",
                     output));
  }
  if (std::ranges::any_of(end.last_output, ReportsOutOfMemory)) {
    v1::Outcome outcome =
        FailedOutcome(v1::OUT_OF_MEMORY,
                      absl::StrCat("the trial ran out of memory and ", how,
                                   "; use a smaller model or batch, or fewer slots on this worker", output));
    if (NamesCuda(end.last_output)) outcome.set_gpu_out_of_memory(true);
    return outcome;
  }
  if (end.garbage_lines > 0) {
    return FailedOutcome(
        v1::CRASHED,
        absl::StrCat("the trial ", how, " without an outcome, after ", end.garbage_lines,
                     " lines on its event descriptor that are no events, the first: \"", end.first_garbage,
                     "\"; is trial_program inlier-trial of this version?", output));
  }
  // An engine that ends a job sends SIGTERM to all its processes, and the worker may get it last. A trial that has just
  // started cannot handle it yet; one that waits for its next evaluation ends without reading which that is.
  const bool stopped =
      end.exit.signal == SIGTERM || (end.exit.signal == 0 && end.exit.status == kExitStopped);
  const v1::FailureClass failure = stopped ? v1::PREEMPTED : v1::CRASHED;
  return FailedOutcome(failure, absl::StrCat("the trial ", how, " without an outcome", output));
}

}  // namespace inlier
