// inlier completion SHELL: a completion script, generated from the commands.
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"

namespace inlier {
namespace {

std::vector<std::string> Flags(const CLI::App& app) {
  std::set<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.insert(absl::StrCat("--", name));
  }
  return {flags.begin(), flags.end()};
}

std::string BashScript(const CLI::App& app) {
  std::vector<std::string> verbs;
  std::string cases;
  for (const CLI::App* command : app.get_subcommands({})) {
    verbs.push_back(command->get_name());
    absl::StrAppend(&cases, "    ", command->get_name(), ") words='", absl::StrJoin(Flags(*command), " "),
                    "' ;;\n");
  }
  return absl::StrCat(
      "# Completion of inlier for bash: source <(inlier completion bash)\n"
      "_inlier() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} verb= words= i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${COMP_WORDS[i]} in\n"
      "      --server|--dir) ((i++)) ;;\n"
      "      -*) ;;\n"
      "      *) verb=${COMP_WORDS[i]}; break ;;\n"
      "    esac\n"
      "  done\n"
      "  case $verb in\n"
      "    '') words='",
      absl::StrJoin(verbs, " "), "' ;;\n", cases,
      "  esac\n"
      "  words=\"$words ",
      absl::StrJoin(Flags(app), " "),
      "\"\n"
      "  COMPREPLY=()\n"
      "  if [[ $word == -* || -z $verb ]]; then mapfile -t COMPREPLY < <(compgen -W \"$words\" -- "
      "\"$word\"); fi\n"
      "  [[ ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
      "}\n"
      "complete -o filenames -F _inlier inlier\n");
}

std::string FishScript(const CLI::App& app) {
  std::string script = "# Completion of inlier for fish: inlier completion fish | source\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    absl::StrAppend(&script, "complete -c inlier -n __fish_use_subcommand -f -a ", command->get_name(),
                    " -d \"", command->get_description(), "\"\n");
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        absl::StrAppend(&script, "complete -c inlier -n \"__fish_seen_subcommand_from ", command->get_name(),
                        "\" -l ", name, "\n");
      }
    }
  }
  return script;
}

}  // namespace

void AddCompletionCommand(CLI::App& app, Session& session) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Print a completion script: source <(inlier completion bash)");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, shell] {
    if (*shell == "fish") {
      PrintExact(FishScript(app));
    } else {
      if (*shell == "zsh") PrintExact("autoload -U +X bashcompinit && bashcompinit\n");
      PrintExact(BashScript(app));
    }
  });
}

}  // namespace inlier
