#include "cli/command_line.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "cli/commands/verbs.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {
namespace {

// Index of the first word that is neither a global option nor its value; the size when there is none.
std::size_t FirstWord(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!absl::StartsWith(arguments[i], "-")) return i;
    const CLI::Option* option = app.get_option_no_throw(arguments[i]);
    if (option != nullptr && option->get_items_expected_min() > 0) ++i;
  }
  return arguments.size();
}

std::vector<std::string> Verbs(const CLI::App& app) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (!IsHidden(*verb)) verbs.push_back(verb->get_name());
  }
  return verbs;
}

void AddOptions(const CLI::App& app, std::vector<std::string>* names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names->push_back(absl::StrCat("--", name));
  }
}

// "; did you mean "markdown"?" for "--format: markdwon not in {text,markdown}".
std::string NearestOfSet(const std::string& message) {
  constexpr char kNotIn[] = " not in {";
  const std::size_t at = message.find(kNotIn), end = message.rfind('}');
  if (at == std::string::npos || end == std::string::npos || end < at) return "";
  const std::size_t word = message.rfind(' ', at - 1) + 1;  // The whole text where there is none.
  const std::size_t first = at + sizeof(kNotIn) - 1;
  return DidYouMean(message.substr(word, at - word), absl::StrSplit(message.substr(first, end - first), ','));
}

}  // namespace

CLI::Option* AddField(CLI::App& command, const std::string& flag, google::protobuf::Message& message,
                      const std::string& help, const std::string& field) {
  using google::protobuf::FieldDescriptor;
  const FieldDescriptor* const to = message.GetDescriptor()->FindFieldByName(
      field.empty() ? absl::StrReplaceAll(absl::StripPrefix(flag, "--"), {{"-", "_"}}) : field);
  INLIER_CHECK(to != nullptr);
  const google::protobuf::Reflection& in = *message.GetReflection();
  switch (to->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return command.add_flag_callback(
          flag, [=, &in, &message] { in.SetBool(&message, to, true); }, help);
    case FieldDescriptor::CPPTYPE_UINT32:
      return command.add_option_function<std::uint32_t>(
          flag, [=, &in, &message](std::uint32_t value) { in.SetUInt32(&message, to, value); }, help);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return command.add_option_function<double>(
          flag, [=, &in, &message](double value) { in.SetDouble(&message, to, value); }, help);
    default:
      return command.add_option_function<std::string>(
          flag, [=, &in, &message](const std::string& text) { in.SetString(&message, to, text); }, help);
  }
}

void AddGlobalOptionsToHelp(CLI::App& app) {
  std::vector<std::string> names;
  AddOptions(app, &names);
  std::erase_if(names, [](const std::string& name) {
    return name == "--help" || name == "--help-all" || name == "--version";
  });
  for (CLI::App* verb : app.get_subcommands({}))
    verb->footer(absl::StrCat(verb->get_footer(), verb->get_footer().empty() ? "" : "\n",
                              "Options of every command (inlier --help):\n  ", absl::StrJoin(names, ", ")));
}

std::vector<std::string> WithoutHelpVerb(const CLI::App& app, std::vector<std::string> arguments) {
  const std::size_t at = FirstWord(app, arguments);
  if (at == arguments.size() || arguments[at] != "help") return arguments;
  arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(at));
  arguments.push_back("--help");
  return arguments;
}

std::vector<std::string> WithTagsOff(const CLI::App& app, std::vector<std::string> arguments) {
  const std::size_t at = FirstWord(app, arguments);
  if (at == arguments.size() || arguments[at] != "tag") return arguments;
  for (std::size_t i = at + 1; i < arguments.size(); ++i) {
    std::string& one = arguments[i];
    if (one.size() > 1 && one[0] == '-' && one[1] != '-' && one != "-q" && one != "-h")
      one = absl::StrCat("--off=", one.substr(1));
  }
  return arguments;
}

std::string FaultOfArguments(const CLI::App& app, const std::vector<std::string>& arguments) {
  const std::size_t at = FirstWord(app, arguments);
  const auto empty = std::ranges::find(arguments, "");
  const bool completes = at < arguments.size() && arguments[at] == "__complete";
  if (empty != arguments.end() && !completes)
    return absl::StrCat(
        empty == arguments.begin() ? "the first argument" : "the argument after " + *(empty - 1),
        " is empty: give it a value, or leave it out; a variable of the shell may not be set");
  if (at == arguments.size()) return "";
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (verb->get_name() == arguments[at]) return "";
  }
  const std::vector<std::string> verbs = Verbs(app);
  return absl::StrCat("there is no command '", arguments[at], "'", DidYouMean(arguments[at], verbs),
                      "\nCommands: ", absl::StrJoin(verbs, ", "), "\nHelp: inlier help, inlier help COMMAND");
}

std::string DescribeParseError(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  const std::string verb = given.empty() ? "" : given[0]->get_name();
  const std::string where = verb.empty() ? "" : absl::StrCat(verb, ": ");
  const std::string help = absl::StrCat("\nHelp: inlier ", verb, verb.empty() ? "" : " ", "--help");
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> extra = app.remaining(/*recurse=*/true);
    std::string hint;
    if (!extra.empty() && absl::StartsWith(extra[0], "-")) {
      std::vector<std::string> known;
      if (!given.empty()) AddOptions(*given[0], &known);
      AddOptions(app, &known);
      hint = DidYouMean(extra[0].substr(0, extra[0].find('=')), known);
    }
    return absl::StrCat(where, "unexpected ", extra.size() == 1 ? "argument" : "arguments", ": ",
                        absl::StrJoin(extra, " "), hint, help);
  }
  if (given.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return absl::StrCat("which command?\nCommands: ", absl::StrJoin(Verbs(app), ", "), help);
  return absl::StrCat(where, error.what(), NearestOfSet(error.what()), help);
}

}  // namespace inlier
