#include "worker/programs/program_runner.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <sys/prctl.h>

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "base/time.h"
#include "inlier/v1/attempt.pb.h"
#include "spec/program/find_program.h"
#include "spec/schema/read_json.h"
#include "spec/trial/outcome.h"
#include "worker/programs/program_attempt.h"

namespace inlier {
namespace {

constexpr int kWorkerEvents = 3;
constexpr int kExitFailed = 1;

void Emit(v1::TrialEvent event) {
  event.set_time_unix_ms(WallNow().unix_ms);
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string line;
  if (!google::protobuf::util::MessageToJsonString(event, &line, options).ok()) return;
  [[maybe_unused]] const bool written = WriteAll(kWorkerEvents, line + "\n");
}

}  // namespace

int RunProgram(const std::vector<std::string>& arguments) {
  // Who kills workers by their name must not kill what ends their programs.
  ::prctl(PR_SET_NAME, "inlier-program");
  ::fcntl(kWorkerEvents, F_SETFD, FD_CLOEXEC);  // What it starts cannot report in its place.
  const absl::Status blocked = ProgramProcess::Block();
  const auto spec = arguments.empty() ? absl::InvalidArgumentError("no attempt is named")
                                      : ReadJson<v1::AttemptSpec>(arguments.back());
  if (!blocked.ok() || !spec.ok()) {
    std::fprintf(stderr, "inlier-worker %s: %s\n", kRunProgram,
                 std::string((blocked.ok() ? spec.status() : blocked).message()).c_str());
    return 2;
  }
  ProgramAttempt attempt(*spec, arguments.size() == 3 ? arguments[1] : "", Emit);
  v1::TrialEvent event;
  *event.mutable_outcome() = attempt.Run();
  const v1::Outcome outcome = event.outcome();
  Emit(std::move(event));
  if (outcome.kind() != v1::Outcome::FAILED) return 0;
  return outcome.failure() == v1::PREEMPTED ? kExitStopped : kExitFailed;
}

int PrintProgramDigest(const std::string& spec_file) {
  const auto digest = [&]() -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const v1::AttemptSpec spec, ReadJson<v1::AttemptSpec>(spec_file));
    ASSIGN_OR_RETURN(const v1::ProgramUse use, UseOfProgram(spec.program_root()));
    const v1::ProgramTrial& program = spec.spec().program();
    if (program.has_source() && use.digest() != program.source())
      return absl::FailedPreconditionError(
          absl::StrCat("the source of ", program.name(), " in ", spec.program_root(), " has digest ",
                       use.digest().substr(0, 12), ", the sweep ", program.source().substr(0, 12),
                       "; put that source there, or submit the sweep again"));
    return DigestWithData(spec, use.digest(), spec_file);
  }();
  if (!digest.ok()) {
    std::fprintf(stderr, "%s\n", std::string(digest.status().message()).c_str());
    return kExitFailed;
  }
  [[maybe_unused]] const bool written = WriteAll(kWorkerEvents, *digest + "\n");
  return 0;
}

}  // namespace inlier
