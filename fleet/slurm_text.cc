#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/utf8.h"
#include "fleet/config_check.h"
#include "fleet/slurm.h"

namespace inlier {
namespace {

// Id, state, reason, nodes, name; the name last, because a user's other jobs may have any.
constexpr char kFormat[] = "%i|%T|%r|%N|%j";
constexpr std::size_t kFields = 5;

// A reason to wait, its spaces underscores in later versions: the prolog failed on the job's node.
constexpr char kStuck[] = "launch failed requeued held";

constexpr std::size_t kErrorBytesMax = 1000;

// States that are not listed here are those of a job that has nodes.
constexpr std::string_view kQueued[] = {"PENDING",      "REQUEUED",      "REQUEUE_FED", "REQUEUE_HOLD",
                                        "SPECIAL_EXIT", "RESV_DEL_HOLD", "CONFIGURING"};
constexpr std::string_view kEnded[] = {"COMPLETED", "CANCELLED", "FAILED",   "TIMEOUT",       "NODE_FAIL",
                                       "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "REVOKED"};

// sbatch had sent its request when it printed one of these: Slurm may have taken it.
constexpr const char* kAfterTheRequest[] = {"timed out",
                                            "Zero Bytes",
                                            "send/recv",
                                            "receive",
                                            "Unexpected message",
                                            "Connection reset",
                                            "temporarily unable to accept job"};

EngineJob::Phase PhaseOf(std::string_view state) {
  const auto is_in = [&](const auto& names) { return std::ranges::find(names, state) != std::end(names); };
  if (is_in(kQueued)) return EngineJob::Phase::kQueued;
  return is_in(kEnded) ? EngineJob::Phase::kEnded : EngineJob::Phase::kRunning;
}

bool IsJobId(std::string_view text) {
  return !text.empty() && text.size() <= 32 &&
         absl::ascii_isdigit(static_cast<unsigned char>(text.front())) &&
         std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isdigit(c) || c == '_'; });
}

}  // namespace

std::vector<std::string> SbatchArguments(const FleetStep& fleet, const std::string& script,
                                         const std::string& worker, const std::string& output_folder) {
  const v1::FleetConfig& config = fleet.config;
  const v1::SlurmConfig& slurm = config.slurm();
  std::vector<std::string> arguments = {
      "--parsable",
      absl::StrCat("--job-name=", FleetJobName(fleet.id, fleet.submit->number)),
      "--requeue",
      "--open-mode=append",
      "--chdir=/",
      "--propagate=NONE",  // Not the limits of the coordinator.
      absl::StrCat("--output=", output_folder, fleet.submit->jobs > 1 ? "/%x.%A_%a.out" : "/%x.%j.out"),
      absl::StrCat("--time=", slurm.time_limit_minutes()),
      absl::StrCat("--signal=B:TERM@", slurm.notice_seconds())};
  const auto add = [&arguments](const char* option, const std::string& value) {
    if (!value.empty()) arguments.push_back(absl::StrCat(option, "=", value));
  };
  if (fleet.submit->jobs > 1) add("--array", absl::StrCat("0-", fleet.submit->jobs - 1));
  add("--partition", slurm.partition());
  add("--account", slurm.account());
  add("--qos", slurm.qos());
  add("--gres", slurm.gres());
  add("--constraint", slurm.constraint());
  if (slurm.has_nodes()) arguments.push_back(absl::StrCat("--nodes=", slurm.nodes()));
  if (slurm.has_cpus()) arguments.push_back(absl::StrCat("-c", slurm.cpus()));
  if (slurm.has_memory_mib()) add("--mem", absl::StrCat(slurm.memory_mib(), "M"));
  arguments.insert(arguments.end(), slurm.options().begin(), slurm.options().end());
  arguments.insert(arguments.end(), {script, worker, "--config", config.worker_config()});
  const auto set = [&arguments](const std::string& assignment) {
    arguments.insert(arguments.end(), {"--set", assignment});
  };
  set(absl::StrCat("job_seconds=", JobSeconds(config)));
  set("http_listen=127.0.0.1:0");  // Several workers may share a node.
  if (config.has_slots()) set(absl::StrCat("slots=", config.slots()));
  if (slurm.has_memory_mib()) set(absl::StrCat("memory_mib=", slurm.memory_mib()));
  if (slurm.nodes() > 1) set("job_nodes=true");
  for (const std::string& further : config.worker_set()) set(further);
  return arguments;
}

std::vector<std::string> SqueueArguments() {
  return {"--noheader",
          "--all",  // Also in partitions that are hidden.
          "--array",
          "--local",
          "--states=all",
          absl::StrCat("--user=", ::getuid()),
          absl::StrCat("--format=", kFormat)};
}

absl::StatusOr<std::vector<EngineJob>> ParseSqueue(const std::string& fleet_id, const std::string& output) {
  std::vector<EngineJob> jobs;
  const std::vector<std::string> lines = absl::StrSplit(output, '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits('|', kFields - 1));
    const bool whole = fields.size() == kFields;
    const std::uint64_t submission = whole ? SubmissionOf(fleet_id, fields[4]) : 0;
    if (whole && submission == 0) continue;  // Another job of the user: its id may be "12+0".
    if (!whole || !IsJobId(fields[0]))
      return absl::InternalError(
          absl::StrCat("squeue printed a line of another form than --format asked for: ",
                       std::string(CutUtf8(line, 200))));
    EngineJob& job = jobs.emplace_back();
    job.id = fields[0];
    job.submission = submission;
    job.state = fields[1];
    job.phase = PhaseOf(fields[1]);
    if (fields[2] != "None") job.reason = fields[2];
    job.stuck = job.phase == EngineJob::Phase::kQueued &&
                absl::StrContains(absl::StrReplaceAll(fields[2], {{"_", " "}}), kStuck);
    job.node = fields[3];
  }
  return jobs;
}

std::string FirstError(const std::string& errors) {
  const std::vector<std::string> lines = absl::StrSplit(errors, '\n', absl::SkipEmpty());
  if (lines.empty()) return "";
  constexpr std::string_view kSign = "error: ";
  std::string error = lines.front();
  for (const std::string& line : lines) {  // A site's own lines may come before.
    const std::size_t at = line.find(kSign);
    if (at == std::string::npos) continue;
    error = line.substr(at + kSign.size());
    break;
  }
  return ReplaceInvalidUtf8(CutUtf8(error, kErrorBytesMax));
}

Submitted ParseSbatch(std::uint64_t number, const ProgramEnd& end) {
  Submitted submitted{.number = number};
  if (!end.status) {
    submitted.message = "sbatch did not end in time and was killed";
    if (const std::string error = FirstError(end.errors); !error.empty())
      absl::StrAppend(&submitted.message, "; it had printed: ", error);
    return submitted;
  }
  // "17" or "17;cluster".
  const std::string first(absl::StripAsciiWhitespace(end.output.substr(0, end.output.find_first_of(";\n"))));
  if (end.Succeeded()) {
    if (IsJobId(first)) {
      submitted.kind = Submitted::Kind::kTaken;
      submitted.job = first;
    } else {
      submitted.message = "sbatch succeeded and printed no job id";
    }
    return submitted;
  }
  submitted.message = FirstError(end.errors);
  if (submitted.message.empty()) submitted.message = end.HowText();
  const bool sent = std::any_of(std::begin(kAfterTheRequest), std::end(kAfterTheRequest),
                                [&](const char* sign) { return absl::StrContains(end.errors, sign); });
  if (!sent && WIFEXITED(*end.status)) submitted.kind = Submitted::Kind::kRefused;
  return submitted;
}

}  // namespace inlier
