#include "worker/machines/launch.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/files/atomic_file.h"
#include "base/status.h"
#include "worker/processes/trial_environment.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

// {trial}: the command. It is the leader of a group of its own, so that a signal reaches its children too.
constexpr char kScript[] = R"script(#!/bin/bash
# Runs a trial for a worker on another machine. Lines of the input are names of signals for it, or empty; the end of the
# input and a long silence kill it.
cd {folder} || exit 1
{ echo 500 >/proc/self/oom_score_adj; } 2>/dev/null
killed_without_memory() { sed -n 's/^oom_kill //p' /proc/vmstat; }
before=$(killed_without_memory)
exec 4<&0
setsid env -i {trial} 3>&1 1>&2 </dev/null 4<&- &
trial=$!
{
  while read -r -t {seconds} signal; do
    [ -z "$signal" ] || kill -s "$signal" -- "-$trial" || kill -s "$signal" "$trial"  # It has no group yet.
  done
  kill -s KILL -- "-$trial" || kill -s KILL "$trial"
} <&4 >/dev/null 2>&1 &
reader=$!
exec 4<&-
trap : TERM  # At the end of a job every process gets it: the trial ends by itself.
while :; do
  wait "$trial" 2>/dev/null  # It would name a signal, and the whole command.
  status=$?
  kill -0 "$trial" 2>/dev/null || break
done
kill "$reader" 2>/dev/null
if [ "$status" = 137 ] && [ "$(killed_without_memory)" != "$before" ]; then
  echo "out of memory: the kernel of $(hostname) killed the trial" >&2
fi
exit "$status"
)script";

std::string Quoted(const std::string& word) {
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

// `launch` and `words` as one command, looked for in PATH by a shell that runs `exec`.
Command Launched(const std::string& exec, const std::vector<std::string>& launch,
                 const std::vector<std::string>& words) {
  Command command{.program = "/bin/sh",
                  .arguments = {"-c", exec, "sh"},
                  .environment = TrialEnvironment({"*"}, {}),  // All of it, for ssh and srun, but no tokens.
                  .working_folder = "/"};
  command.arguments.insert(command.arguments.end(), launch.begin(), launch.end());
  command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  return command;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LaunchWords(const std::vector<std::string>& launch,
                                                     const std::string& machine) {
  const bool is_name =
      !machine.empty() && machine.front() != '-' && std::ranges::all_of(machine, [](unsigned char c) {
        return absl::ascii_isalnum(c) ||
               std::string_view(".-_:@").find(static_cast<char>(c)) != std::string_view::npos;
      });
  if (!is_name)
    return absl::InvalidArgumentError(
        absl::StrCat("machines.name: '", machine, "' is not valid; use letters, digits and . - _ : @"));
  std::vector<std::string> words;
  for (const std::string& word : launch) words.push_back(absl::StrReplaceAll(word, {{"{machine}", machine}}));
  if (words == launch)
    return absl::InvalidArgumentError(
        "launch: no word has {machine}, so that every command would run on one machine; for example [ssh, "
        "-o, BatchMode=yes, \"{machine}\"]");
  return words;
}

absl::Status CheckPlainPath(const std::string& path, const std::string& what) {
  for (const char c : path) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
        std::string_view("/._-+:@%,").find(c) != std::string_view::npos)
      continue;
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": '", path, "' has the character '", std::string(1, c),
                     "', which a shell on another machine may read as something else; a worker with machines "
                     "needs a path of letters, digits and / . _ - + : @ % ,"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Command> OnMachine(const std::vector<std::string>& launch, const Command& command,
                                  Duration silence_max) {
  std::vector<std::string> words = command.environment;
  words.push_back(command.program);
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  const std::string trial =
      absl::StrJoin(words, " ", [](std::string* text, const std::string& word) { *text += Quoted(word); });
  const std::string script = (fs::path(command.working_folder) / kStartScriptName).string();
  // The environment may hold a secret of the user's.
  RETURN_IF_ERROR(WriteSecretFile(
      script, absl::StrReplaceAll(kScript, {{"{folder}", Quoted(command.working_folder)},
                                            {"{trial}", trial},
                                            {"{seconds}", absl::StrCat(ToSeconds(silence_max))}})));
  Command there = Launched("exec \"$@\" >&3 3>&-", launch, {"bash", script});  // Its output is the events.
  there.working_folder = command.working_folder;
  there.has_input = there.elsewhere = true;
  return there;
}

Command DirectlyOnMachine(const std::vector<std::string>& launch, const std::vector<std::string>& words) {
  return Launched("exec \"$@\"", launch, words);
}

}  // namespace inlier
