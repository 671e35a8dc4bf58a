// The differences between results that were run once more and the earlier ones.
#ifndef INLIER_CLI_RERUN_REPORT_H_
#define INLIER_CLI_RERUN_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "cli/connection/session.h"

namespace inlier {

// Prints a line for each trial of the sweep that ran what an earlier one had run: that they are equal to the last
// digit, or the measurements that differ. Nothing in quiet mode.
absl::Status PrintReruns(Session& session, const std::string& sweep_id);

}  // namespace inlier

#endif  // INLIER_CLI_RERUN_REPORT_H_
