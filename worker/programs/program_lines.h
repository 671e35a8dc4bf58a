// The lines of a program (docs/reference/protocol.md) as events of its attempt.
//
// Thread safety: pure function.
#ifndef INLIER_WORKER_PROGRAMS_PROGRAM_LINES_H_
#define INLIER_WORKER_PROGRAMS_PROGRAM_LINES_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/program.pb.h"

namespace inlier {

struct ProgramLine {
  v1::TrialEvent event;   // Paths as the program wrote them.
  std::string kept_file;  // In its place: a file to keep.
};

// InvalidArgument: the line is none of the protocol, or progress or a log line that cannot be read. FailedPrecondition: a
// result, a checkpoint, a file or an outcome that would be lost: it cannot be read, or the description does not declare it.
absl::StatusOr<ProgramLine> ParseProgramLine(std::string_view line,
                                             const v1::ProgramDescription& description);

}  // namespace inlier

#endif  // INLIER_WORKER_PROGRAMS_PROGRAM_LINES_H_
