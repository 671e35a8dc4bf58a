// Additions to the help of each verb: its group in `inlier --help`, and an example or two.
#ifndef INLIER_CLI_COMMANDS_VERBS_H_
#define INLIER_CLI_COMMANDS_VERBS_H_

#include "CLI/CLI.hpp"

namespace inlier {

// Gives each verb of `app` its group and its examples. After the verbs are added. A verb that the table has not stays as it is.
void DescribeVerbs(CLI::App& app);

// Not listed: a verb for programs, such as shells.
inline constexpr char kHiddenGroup[] = "";
inline bool IsHidden(const CLI::App& verb) { return verb.get_group() == kHiddenGroup; }

}  // namespace inlier

#endif  // INLIER_CLI_COMMANDS_VERBS_H_
