// Which lines of attempts' logs are kept: of an attempt up to Limits::kLogLinesMax lines and kLogBytesMax bytes, of a
// sweep up to limits.log_lines, counted for the attempts that are charged to it. Where lines are left out, a line of the
// attempt reports it.
//
// The count of a sweep is stored with its sums of time at each end of an attempt: after a restart the lines of live
// attempts from before are not in it.
#ifndef INLIER_COORDINATOR_LOGS_LOGS_H_
#define INLIER_COORDINATOR_LOGS_LOGS_H_

#include "base/time.h"
#include "coordinator/state/attempt.h"
#include "coordinator/state/context.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

void TakeLogLine(Context& context, Attempt& attempt, const v1::LogLine& line, WallTime at);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_LOGS_LOGS_H_
