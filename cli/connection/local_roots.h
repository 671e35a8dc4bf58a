// The files that sweeps of this user name, which the worker of the user's own folder may read: DIR/data_roots, a path a line.
//
// Only `inlier submit`, `run` and `edit` of the folder's user write there, and only `inlier up` and `run` tell a worker of
// it: what other submitters name stays within the worker's data_roots. Thread safety: any process.
#ifndef INLIER_CLI_CONNECTION_LOCAL_ROOTS_H_
#define INLIER_CLI_CONNECTION_LOCAL_ROOTS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

std::filesystem::path LocalRootsFile(const std::filesystem::path& dir);

// The absolute paths in the base and the axes of `sweep` that this process may read, each once, links resolved; of a folder
// also what links in it lead to, and of a file in a vocabulary's place (…vocab.json) its folder.
std::vector<std::string> ReadablePathsOf(const v1::SweepSpec& sweep);

// Adds those that are not there yet.
absl::Status AddLocalRoots(const std::filesystem::path& dir, const std::vector<std::string>& paths);

}  // namespace inlier

#endif  // INLIER_CLI_CONNECTION_LOCAL_ROOTS_H_
