// A line of a trial's log as `inlier logs` prints it.
#ifndef INLIER_CLI_LOG_LINE_H_
#define INLIER_CLI_LOG_LINE_H_

#include <string>

#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

// "2026-11-23T14:27:26.083Z  TEXT\n": the time when the line was received, or the text's own where it begins with one.
// Shown (output.h).
std::string LogLine(const v1::LoggedLine& line);

}  // namespace inlier

#endif  // INLIER_CLI_LOG_LINE_H_
