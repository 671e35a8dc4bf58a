// From a sweep file to a submitted sweep: shared by `submit`, `check` and `run`.
#ifndef INLIER_CLI_SWEEPS_SWEEP_SUBMISSION_H_
#define INLIER_CLI_SWEEPS_SWEEP_SUBMISSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "cli/connection/session.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// Largest number of trials without --yes.
inline constexpr uint64_t kTrialsWithoutYes = 10000;

struct SweepArguments {
  std::string file;
  std::vector<std::string> overrides;  // --set path=value, on the base.
  std::string scale;                   // --scale NAME, merged before them.
  std::string data_dir;                // Where its corpora are expected; the build's own when empty.
  bool yes = false;
  bool again = false;
};

// Adds the file, --scale, --set and (when `may_submit`) --yes and --again.
void AddSweepArguments(CLI::App& command, SweepArguments& arguments, bool may_submit);

struct CheckedSweep {
  v1::SweepSpec spec;
  SweepGrid grid;
  std::string text;  // Of its file.
};

absl::StatusOr<CheckedSweep> ReadAndCheck(const SweepArguments& arguments);
// The same of its text: a pipe can be read once.
absl::StatusOr<CheckedSweep> CheckText(const std::string& text, const SweepArguments& arguments);

// Submits with a new request id; repeated with the same id during a short outage of the coordinator.
absl::StatusOr<v1::SubmitSweepResponse> Submit(Session& session, const CheckedSweep& sweep,
                                               const SweepArguments& arguments);

// With the coordinator of this user's own folder: lets its worker read what the sweep names (local_roots.h).
absl::Status ShareNamedFiles(Session& session, const v1::SweepSpec& sweep);

// What a command asks of the data that a sweep names.
enum class DataMust {
  kBeNothing,  // The workers may be elsewhere, with other files.
  kBeRight,    // Where they are on this machine.
  kBeHere,     // The worker is on this machine.
};

// Prints warnings, of data too, on standard error. InvalidArgument with a line for each problem of data that `must` excludes.
absl::Status PrintWarnings(const CheckedSweep& checked, const SweepArguments& arguments, DataMust must);

// "12 trials"; "12 trials, 4 with known results if a worker finds their data unchanged".
std::string TrialsText(std::uint64_t trials);
std::string TrialsText(const v1::SubmitSweepResponse& submitted);

}  // namespace inlier

#endif  // INLIER_CLI_SWEEPS_SWEEP_SUBMISSION_H_
