// Extensions of CLI11: `inlier help`, words that are no verb, global options in the help of
// every verb, and messages that name the word and the remedy.
//
// Pure but for AddGlobalOptionsToHelp.
#ifndef INLIER_CLI_COMMAND_LINE_H_
#define INLIER_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace inlier {

// The help of each verb ends with the names of the options that all of them take. After the verbs are added.
void AddGlobalOptionsToHelp(CLI::App& app);

// The arguments, with `help` as --help and `help VERB` as VERB --help.
std::vector<std::string> WithoutHelpVerb(const CLI::App& app, std::vector<std::string> arguments);

// "there is no command 'statu'; did you mean "status"? …" when the first word of the arguments is no verb, the place of an
// argument without a character, which an unset variable of a shell leaves, or "".
std::string FaultOfArguments(const CLI::App& app, const std::vector<std::string>& arguments);

// The message for arguments that `app` has refused with `error`, with the verb that they were given to.
std::string DescribeParseError(const CLI::App& app, const CLI::ParseError& error);

}  // namespace inlier

#endif  // INLIER_CLI_COMMAND_LINE_H_
