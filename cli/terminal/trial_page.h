// The content of the view of a trial, from the coordinator.
#ifndef INLIER_CLI_TERMINAL_TRIAL_PAGE_H_
#define INLIER_CLI_TERMINAL_TRIAL_PAGE_H_

#include <string>

#include "cli/connection/session.h"
#include "cli/terminal/views.h"

namespace inlier {

// Blocks for a few seconds at most; errors are in the explanation. On any thread, once the session is connected.
TrialPage FetchTrialPage(Session& session, const std::string& trial);

}  // namespace inlier

#endif  // INLIER_CLI_TERMINAL_TRIAL_PAGE_H_
