// Extensions of CLI11: `inlier help`, unknown verbs, options that set fields of messages, global options in the help of
// every verb, and messages that name the word and the remedy.
#ifndef INLIER_CLI_COMMAND_LINE_H_
#define INLIER_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "google/protobuf/message.h"

namespace inlier {

// Adds an argument, an option or a flag that sets a field of `message` where it is given: a text, a bool, a uint32 or a
// double. The field has its name, --keep-days is keep_days, unless `field` names it. `message` outlives the app.
CLI::Option* AddField(CLI::App& command, const std::string& flag, google::protobuf::Message& message,
                      const std::string& help, const std::string& field = "");

// The help of each verb ends with the names of the options that all of them take. After the verbs are added.
void AddGlobalOptionsToHelp(CLI::App& app);

// The arguments, with `help` as --help and `help VERB` as VERB --help.
std::vector<std::string> WithoutHelpVerb(const CLI::App& app, std::vector<std::string> arguments);

// The arguments of `inlier tag SWEEP +a -b`, with --off=b for -b.
std::vector<std::string> WithTagsOff(const CLI::App& app, std::vector<std::string> arguments);

// "there is no command 'statu'; did you mean "status"? …" when the first word of the arguments is not a verb; the place of
// an empty argument, which an unset variable of a shell leaves; or "".
std::string FaultOfArguments(const CLI::App& app, const std::vector<std::string>& arguments);

// The message for arguments that `app` has refused with `error`, with the verb that they were given to.
std::string DescribeParseError(const CLI::App& app, const CLI::ParseError& error);

}  // namespace inlier

#endif  // INLIER_CLI_COMMAND_LINE_H_
