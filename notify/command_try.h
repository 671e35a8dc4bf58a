// A notification as the input of a command.
#ifndef INLIER_NOTIFY_COMMAND_TRY_H_
#define INLIER_NOTIFY_COMMAND_TRY_H_

#include <string>

#include "inlier/v1/config.pb.h"
#include "notify/try_outcome.h"

namespace inlier {

// Runs the program, without a shell, in a process group of its own and in the folder "/": the body on its standard input; of
// the environment PATH, HOME and LANG, and INLIER_EVENT and INLIER_DELIVERY. Taken with exit status 0. The group is killed
// after hook.timeout_seconds. `output`: the last lines that it wrote. The program is checked (CheckProgram) at each try.
TryOutcome RunCommand(const v1::HookConfig& hook, const Notification& notification, const MustStop& must_stop,
                      std::string& output);

}  // namespace inlier

#endif  // INLIER_NOTIFY_COMMAND_TRY_H_
