#include "fleet/slurm.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/environment.h"
#include "base/files/atomic_file.h"
#include "base/files/file.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr char kPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr char kScript[] = "#!/bin/sh\nexec \"$@\"\n";
// A queue of this length is read whole; of a longer output the end would be kept.
constexpr std::size_t kOutputBytesMax = 64 << 20;

absl::StatusOr<std::string> FindProgram(const v1::SlurmConfig& slurm, const std::string& name) {
  const std::string folders =
      slurm.programs().empty() ? EnvironmentVariableOr("PATH", kPath) : slurm.programs();
  const std::vector<std::string> each = absl::StrSplit(folders, ':', absl::SkipEmpty());
  for (const std::string& folder : each) {
    std::string path = absl::StrCat(folder, "/", name);
    if (::access(path.c_str(), X_OK) != 0) continue;
    if (slurm.has_programs()) RETURN_IF_ERROR(Annotate(CheckProgram(path), "checking fleet.slurm.programs"));
    return path;
  }
  return absl::NotFoundError(absl::StrCat(name, " is not in ", folders,
                                          "; install Slurm's client programs, or name their folder in "
                                          "fleet.slurm.programs"));
}

std::vector<std::string> EnvironmentOf(const v1::SlurmConfig& slurm) {
  std::vector<std::string> environment = {absl::StrCat("PATH=", EnvironmentVariableOr("PATH", kPath)),
                                          absl::StrCat("HOME=", EnvironmentVariableOr("HOME", "/")),
                                          "LANG=C.UTF-8"};
  const std::string conf = slurm.conf().empty() ? EnvironmentVariableOr("SLURM_CONF", "") : slurm.conf();
  if (!conf.empty()) environment.push_back(absl::StrCat("SLURM_CONF=", conf));
  return environment;
}

// Why a program failed; OK where it did not.
absl::Status FailureOf(const char* program, const v1::FleetConfig& config, const ProgramEnd& end) {
  if (end.Succeeded()) return absl::OkStatus();
  const std::string error = FirstError(end.errors);
  if (!end.status)
    return absl::DeadlineExceededError(absl::StrCat(
        program, " did not end within ", config.call_seconds(), " s (fleet.call_seconds) and was killed",
        error.empty() ? "" : absl::StrCat("; it had printed: ", error)));
  return absl::UnavailableError(absl::StrCat(program, ": ", error.empty() ? end.HowText() : error));
}

// inlier-worker in the folder of this program.
std::string WorkerProgram(const v1::FleetConfig& config) {
  if (config.has_worker_program()) return config.worker_program();
  std::error_code error;
  return (fs::read_symlink("/proc/self/exe", error).parent_path() / "inlier-worker").string();
}

}  // namespace

Slurm::Slurm(fs::path state_dir) : folder_(std::move(state_dir) / "fleet") {}

absl::StatusOr<ProgramEnd> Slurm::Run(const v1::FleetConfig& config, const std::string& program,
                                      std::vector<std::string> arguments) const {
  ASSIGN_OR_RETURN(std::string path, FindProgram(config.slurm(), program));
  return RunToEnd({.program = std::move(path),
                   .arguments = std::move(arguments),
                   .environment = EnvironmentOf(config.slurm()),
                   .input = "",
                   .limit = std::chrono::seconds(config.call_seconds()),
                   .output_bytes_max = kOutputBytesMax},
                  [this] { return stopping_.load(); });
}

absl::StatusOr<std::string> Slurm::Script() const {
  RETURN_IF_ERROR(MakeWritableFolder(folder_));
  const std::string path = (folder_ / "worker.sh").string();
  if (const absl::StatusOr<std::string> there = ReadFile(path); there.ok() && *there == kScript) return path;
  RETURN_IF_ERROR(WriteFileAtomically(path, kScript));
  return path;
}

absl::StatusOr<std::vector<EngineJob>> Slurm::List(const FleetStep& fleet) {
  ASSIGN_OR_RETURN(const ProgramEnd end, Run(fleet.config, "squeue", SqueueArguments()));
  RETURN_IF_ERROR(FailureOf("squeue", fleet.config, end));
  if (end.output.size() >= kOutputBytesMax)  // Jobs of its beginning may be missing.
    return absl::ResourceExhaustedError("squeue printed more than can be read: this user has too many jobs");
  return ParseSqueue(fleet.id, end.output);
}

Submitted Slurm::Submit(const FleetStep& fleet) {
  Submitted refused{.number = fleet.submit->number, .kind = Submitted::Kind::kRefused};
  const absl::StatusOr<std::string> script = Script();
  const std::string& given = fleet.config.slurm().output_folder();
  const std::string output = given.empty() ? folder_.string() : given;
  if (!script.ok() || absl::StrContains(output, "%")) {
    refused.message = script.ok() ? "state_dir has a %, which Slurm replaces; set fleet.slurm.output_folder"
                                  : std::string(script.status().message());
    return refused;
  }
  const absl::StatusOr<ProgramEnd> end =
      Run(fleet.config, "sbatch", SbatchArguments(fleet, *script, WorkerProgram(fleet.config), output));
  if (end.ok()) return ParseSbatch(fleet.submit->number, *end);
  refused.message = std::string(end.status().message());  // It was not started.
  return refused;
}

absl::Status Slurm::Cancel(const FleetStep& fleet) {
  ASSIGN_OR_RETURN(const ProgramEnd end, Run(fleet.config, "scancel", fleet.cancel));
  if (absl::StrContains(end.errors, "Invalid job id")) return absl::OkStatus();
  return FailureOf("scancel", fleet.config, end);
}

}  // namespace inlier
