// inlier completion SHELL: a completion script, generated from the commands.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/commands.h"
#include "cli/commands/verbs.h"

namespace inlier {
namespace {

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back(absl::StrCat("--", name));
  for (const std::string& name : option.get_snames()) names.push_back(absl::StrCat("-", name));
  return names;
}

// The long options, with a space between two.
std::string Flags(const CLI::App& app) {
  std::set<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.insert(absl::StrCat("--", name));
  }
  return absl::StrJoin(flags, " ");
}

// "a b c" for an option that takes one of a set; CLI11 has it in the type's name, "TEXT:{a,b,c}".
std::string ValuesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t from = type.find('{'), to = type.rfind('}');
  if (from == std::string::npos || to == std::string::npos || to < from) return "";
  return absl::StrReplaceAll(type.substr(from + 1, to - from - 1), {{",", " "}});
}

// The question to `inlier __complete` for the first word after the verb; "" for files.
std::string AskedFor(const CLI::App& verb) {
  static const std::map<std::string, std::string> kKinds = {
      {"sweep", "sweeps"},        {"sweeps", "sweeps"},       {"trial", "trials"},  {"model", "trials"},
      {"sweep-or-trial", "both"}, {"trial-or-sweep", "both"}, {"worker", "workers"}};
  if (verb.get_name() == "restore") return "removed";
  if (verb.get_name() == "unarchive") return "all";
  for (const CLI::Option* option : verb.get_options()) {
    if (!option->get_positional()) continue;
    const auto kind = kKinds.find(option->get_name(/*positional=*/true));
    return kind == kKinds.end() ? "" : kind->second;
  }
  return "";
}

// The same for the value of an option, by the name of its type; "files" where nothing else is known.
std::string AskedForValue(const CLI::Option& option) {
  static const std::map<std::string, std::string> kKinds = {
      {"AXIS", "axes"},    {"AXIS=LABEL", "axes"}, {"MEASUREMENT", "measurements"},
      {"SWEEP", "sweeps"}, {"TRIAL", "trials"},    {"SCALE", "scales"}};
  const auto kind = kKinds.find(option.get_type_name());
  return kind == kKinds.end() ? "files" : kind->second;
}

bool TakesValue(const CLI::Option& option) {
  return !option.get_positional() && option.get_items_expected_min() > 0;
}

// Lines of bash: what the word after each option of a verb may be, or of the program itself, whose `verb` is "".
std::string CasesOfValues(const CLI::App& app, const std::string& verb) {
  const std::string before = verb.empty() ? "*' " : absl::StrCat("'", verb, " ");
  std::string cases;
  for (const CLI::Option* option : app.get_options()) {
    const std::string set = ValuesOf(*option);
    std::vector<std::string> names = NamesOf(*option);
    if (option->get_positional()) names.push_back(verb);
    const std::string does =
        set.empty() ? absl::StrCat("value=", AskedForValue(*option)) : absl::StrCat("words='", set, "'");
    for (const std::string& name : names) {
      if (!set.empty() || TakesValue(*option))
        absl::StrAppend(&cases, "    ", before, name, "') ", does, " ;;\n");
    }
  }
  return cases;
}

// Global options with a value, which is not the verb.
std::vector<std::string> ValueFlags(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_min() == 0) continue;
    for (const std::string& name : NamesOf(*option)) flags.push_back(name);
  }
  return flags;
}

std::string BashScript(const CLI::App& app) {
  std::vector<std::string> verbs;
  std::string cases, values;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (IsHidden(*command)) continue;
    const std::string& verb = command->get_name();
    verbs.push_back(verb);
    const std::string asked = AskedFor(*command);
    absl::StrAppend(&cases, "    ", verb, ") words='", Flags(*command), "'",
                    asked.empty() ? "" : absl::StrCat("; ask=", asked), " ;;\n");
    absl::StrAppend(&values, CasesOfValues(*command, verb));
  }
  absl::StrAppend(&values, CasesOfValues(app, ""));
  return absl::StrReplaceAll(
      R"BASH(# Completion of inlier for bash: source <(inlier completion bash)
# Answers with the lines of its input that begin with $word. Names come from others: nothing in them is expanded.
_inlier_names() {
  local name
  while IFS= read -r name; do
    [[ ${name:0:${#word}} != "$word" ]] || COMPREPLY+=("$name")
  done
}
_inlier() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb= words= ask= value= first= file= where=() i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      @VALUE_FLAGS@)
        [[ $i -lt $((COMP_CWORD - 1)) ]] && where+=("${COMP_WORDS[i]}" "${COMP_WORDS[i+1]}")
        ((i++)) ;;
      -*) ;;
      *.yaml|*.yml) file=${COMP_WORDS[i]} ;;
      *) if [[ -z $verb ]]; then verb=${COMP_WORDS[i]}; else first=${first:-${COMP_WORDS[i]}}; fi ;;
    esac
  done
  COMPREPLY=()
  case "$verb $before" in
@VALUES@  esac
  if [[ -n $words ]]; then
    _inlier_names < <(compgen -W "$words" -- "$word")
    return
  fi
  if [[ -n $value ]]; then
    [[ $value == files ]] || _inlier_names < <(inlier "${where[@]}" __complete "$value" "${file:-$first}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -gt 0 ]] || _inlier_names < <(compgen -f -- "$word")
    return
  fi
  case $verb in
    '') words='@VERBS@' ;;
@CASES@  esac
  words="$words @FLAGS@"
  if [[ $word == -* || -z $verb ]]; then
    _inlier_names < <(compgen -W "$words" -- "$word")
  elif [[ -n $ask ]]; then
    _inlier_names < <(inlier "${where[@]}" __complete "$ask" 2>/dev/null)
  fi
  [[ ${#COMPREPLY[@]} -gt 0 ]] || _inlier_names < <(compgen -f -- "$word")
}
complete -o filenames -F _inlier inlier
)BASH",
      {{"@VALUE_FLAGS@", absl::StrJoin(ValueFlags(app), "|")},
       {"@VALUES@", values},
       {"@VERBS@", absl::StrJoin(verbs, " ")},
       {"@CASES@", cases},
       {"@FLAGS@", Flags(app)}});
}

std::string FishScript(const CLI::App& app) {
  std::string script = "# Completion of inlier for fish: inlier completion fish | source\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    if (IsHidden(*command)) continue;
    absl::StrAppend(&script, "complete -c inlier -n __fish_use_subcommand -f -a ", command->get_name(),
                    " -d \"", command->get_description(), "\"\n");
    const std::string seen =
        absl::StrCat("complete -c inlier -n \"__fish_seen_subcommand_from ", command->get_name(), "\"");
    if (const std::string asked = AskedFor(*command); !asked.empty())
      absl::StrAppend(&script, seen, " -a \"(inlier __complete ", asked, " 2>/dev/null)\"\n");
    for (const CLI::Option* option : command->get_options()) {
      const std::string set = ValuesOf(*option);
      if (option->get_positional() && !set.empty()) absl::StrAppend(&script, seen, " -f -a \"", set, "\"\n");
      const std::string value = AskedForValue(*option);
      const std::string takes = !set.empty()           ? absl::StrCat(" -x -a \"", set, "\"")
                                : !TakesValue(*option) ? ""
                                : value == "files"     ? " -r"
                                                       : absl::StrCat(" -x -a \"(inlier __complete ", value,
                                                                      " (commandline -opc)[3] 2>/dev/null)\"");
      for (const std::string& name : option->get_lnames())
        absl::StrAppend(&script, seen, " -l ", name, takes, "\n");
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
    if (*shell == "zsh") PrintExact("autoload -U +X bashcompinit && bashcompinit\n");
    PrintExact(*shell == "fish" ? FishScript(app) : BashScript(app));
  });
}

}  // namespace inlier
