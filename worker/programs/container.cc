#include "worker/programs/container.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/environment.h"
#include "base/processes/other_user.h"
#include "base/status.h"
#include "spec/program/program_description.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr char kPodman[] = "podman", kDocker[] = "docker", kApptainer[] = "apptainer";
constexpr std::array kRuntimes = {kPodman, kDocker, kApptainer};

// $1: the named pipe of events, $2: that of replies, then the command. It is read and written, so that no opening waits. A
// signal ends a wait: the status of the program is that of the last one.
constexpr char kShell[] = R"(exec 3<>"$1" 4<&0 5<>"$2"; shift 2
"$@" <&5 4<&- 5<&- & program=$!
trap 'kill -TERM $program' TERM
{ while read -r line; do echo "$line" >&5; done <&4; kill -KILL $program; } 3>&- 2>/dev/null &
while wait $program; status=$?; kill -0 $program 2>/dev/null; do :; done
[ $status = 143 ] && wait $program 2>/dev/null && status=0
exit $status)";

// Variables of the machine, which are others in an image.
constexpr char kOfTheMachine[] = "PATH HOME SHELL TMPDIR TEMP TMP LD_LIBRARY_PATH LD_PRELOAD";

std::string KindOf(const std::string& runtime) { return fs::path(runtime).filename().string(); }

std::string InPath(const std::string& name) {
  for (const absl::string_view folder : absl::StrSplit(EnvironmentVariableOr("PATH", "/usr/bin:/bin"), ':')) {
    const fs::path path = fs::path(std::string(folder)) / name;
    if (path.is_absolute() && ::access(path.c_str(), X_OK) == 0) return path.string();
  }
  return "";
}

std::string NameOf(const v1::AttemptSpec& spec) {
  return absl::StrCat("inlier-", spec.stage_id(), "-", spec.token(), "-", spec.gang().rank());
}

absl::Status MakePipe(const fs::path& path, const std::string& user) {
  ::unlink(path.c_str());
  if (::mkfifo(path.c_str(), 0600) != 0) return ErrnoStatus(absl::StrCat("cannot make ", path.string()));
  return GiveTo(user, path);
}

void Append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

// "--env=NAME" for each variable that the container gets; the runtime has the values.
Words VariablesOf(const ProgramCommand& command) {
  const std::set<std::string> left_out = absl::StrSplit(kOfTheMachine, ' ');
  std::set<std::string> words = {"--env=HOME=/tmp"};
  for (const std::string& variable : command.variables)
    words.insert("--env=" + variable.substr(0, variable.find('=')));
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::string_view(*entry).find('='));
    if (!left_out.contains(name)) words.insert("--env=" + name);
  }
  return {words.begin(), words.end()};
}

// Of podman and docker.
Words Run(const v1::AttemptSpec& spec, const ProgramCommand& command, const Words& options, bool podman) {
  const passwd* const user = command.user.empty() ? nullptr : ::getpwnam(command.user.c_str());
  const uid_t uid = user != nullptr ? user->pw_uid : ::geteuid();
  const gid_t gid = user != nullptr ? user->pw_gid : ::getegid();
  const std::string root = command.folder.string(), attempt = spec.output_dir();
  Words words =
      absl::StrSplit("run --rm --interactive --log-driver=none --security-opt=label=disable --ipc=host", ' ');
  Append(words, {"--name=" + NameOf(spec), absl::StrCat("--user=", uid, ":", gid), "--workdir=" + root,
                 absl::StrCat("--volume=", root, ":", root, ":ro"),
                 absl::StrCat("--volume=", attempt, ":", attempt)});
  const auto is_network = [](const std::string& option) { return absl::StartsWith(option, "--net"); };
  if (std::ranges::none_of(options, is_network)) words.emplace_back("--network=host");
  if (podman && uid != 0) words.emplace_back("--userns=keep-id");
  if (spec.device() == "cuda") words.emplace_back(podman ? "--device=nvidia.com/gpu=all" : "--gpus=all");
  if (!podman && !command.cpus.empty())  // Its containers are no children of this process.
    words.push_back("--cpuset-cpus=" + absl::StrJoin(command.cpus, ","));
  Append(words, VariablesOf(command));
  Append(words, options);
  words.emplace_back("--entrypoint=sh");
  return words;
}

Words Exec(const v1::AttemptSpec& spec, const ProgramCommand& command, const Words& options) {
  const std::string root = command.folder.string();
  Words words = {"exec",   "--pwd",          root, "--bind", absl::StrCat(root, ":", root, ":ro"),
                 "--bind", spec.output_dir()};
  if (spec.device() == "cuda") words.emplace_back("--nv");
  Append(words, options);
  return words;
}

}  // namespace

absl::StatusOr<std::string> FindContainerRuntime(const std::optional<std::string>& wanted) {
  if (!wanted) {
    for (const char* name : kRuntimes) {
      if (const std::string path = InPath(name); !path.empty()) return path;
    }
    return "";
  }
  if (wanted->empty()) return "";
  if (std::ranges::find(kRuntimes, KindOf(*wanted)) == kRuntimes.end())
    return absl::InvalidArgumentError(absl::StrCat("container_runtime: ", *wanted, " is not ",
                                                   absl::StrJoin(kRuntimes, ", "),
                                                   " or a path that ends so; give one of them"));
  const bool is_path = absl::StrContains(*wanted, '/');
  const std::string path = is_path ? fs::absolute(*wanted).string() : InPath(*wanted);
  if (!path.empty() && ::access(path.c_str(), X_OK) == 0) return path;
  return absl::NotFoundError(absl::StrCat("container_runtime: there is no program ", *wanted,
                                          is_path ? "" : " in PATH",
                                          "; install it, or leave the setting out"));
}

absl::Status PutIntoContainer(const v1::AttemptSpec& spec, const std::string& image, const fs::path& own,
                              ProgramCommand& command) {
  const auto refuse = [&image](const std::string& why) {
    return absl::FailedPreconditionError(
        absl::StrCat("environment.image: ", image, " cannot run here: ", why));
  };
  if (spec.container().empty())
    return refuse(
        "no container_runtime is installed or allowed; install podman, docker or apptainer, or name it in "
        "the worker's configuration");
  const std::string kind = KindOf(spec.container(0));
  if (IsImageFile(image) != (kind == kApptainer) &&
      (IsImageFile(image) || absl::StartsWith(image, "sha256:")))
    return refuse(absl::StrCat(kind, " runs no ", IsImageFile(image) ? ".sif file" : "image by its id",
                               "; give NAME@sha256:DIGEST, which each of them runs"));
  command.events = own / "events";
  const fs::path replies = own / "replies";
  RETURN_IF_ERROR(MakePipe(command.events, command.user));
  RETURN_IF_ERROR(MakePipe(replies, command.user));
  const Words options(spec.container().begin() + 1, spec.container().end());
  Words words =
      kind == kApptainer ? Exec(spec, command, options) : Run(spec, command, options, kind == kPodman);
  words.insert(words.begin(), spec.container(0));
  words.push_back(kind != kApptainer   ? image
                  : IsImageFile(image) ? (command.folder / image).string()
                                       : "docker://" + image);
  if (kind == kApptainer) words.emplace_back("sh");
  Append(words, {"-c", kShell, "sh", command.events.string(), replies.string()});
  Append(words, command.words);
  command.words = std::move(words);
  return absl::OkStatus();
}

void RemoveContainer(const v1::AttemptSpec& spec, const ProgramCommand& command) {
  if (KindOf(spec.container(0)) == kApptainer) return;  // It is a child of this process.
  ProgramProcess removal;
  const absl::Status started = removal.Start({.words = {spec.container(0), "rm", "-f", NameOf(spec)},
                                              .variables = {},
                                              .folder = command.folder,
                                              .user = command.user});
  if (started.ok()) removal.Wait([](std::string_view) {});
}

}  // namespace inlier
