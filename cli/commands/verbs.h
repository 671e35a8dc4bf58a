// All verbs, each with its group in `inlier --help` and its examples.
#ifndef INLIER_CLI_COMMANDS_VERBS_H_
#define INLIER_CLI_COMMANDS_VERBS_H_

#include "CLI/CLI.hpp"
#include "cli/connection/session.h"

namespace inlier {

void AddVerbs(CLI::App& app, Session& session);

// The group of a verb for programs, such as shells, which no help lists.
inline constexpr char kHiddenGroup[] = "";
inline bool IsHidden(const CLI::App& verb) { return verb.get_group() == kHiddenGroup; }

}  // namespace inlier

#endif  // INLIER_CLI_COMMANDS_VERBS_H_
