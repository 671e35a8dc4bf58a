// inlier-coordinator --show-stored DIR: the state in a folder where no coordinator runs, for `inlier` alone.
//
// The process recovers a copy of the database, with its log, in a private folder: it neither changes nor
// locks DIR, and a coordinator of DIR may start at any time. It listens on loopback, answers the calls of the
// role read, and decides nothing. It prints one line of JSON, {"grpc": ADDRESS, "token": TOKEN} or {"code":
// absl's number, "message": TEXT}, and removes the copy at SIGTERM.
#ifndef INLIER_COORDINATOR_PROCESS_SHOW_STORED_H_
#define INLIER_COORDINATOR_PROCESS_SHOW_STORED_H_

#include <filesystem>
#include <string>

namespace inlier {

inline constexpr char kShowStoredFlag[] = "--show-stored";

// Returns the exit status of the process. `query_program`: the field of the configuration.
int ShowStored(const std::filesystem::path& dir, const std::string& query_program);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_PROCESS_SHOW_STORED_H_
