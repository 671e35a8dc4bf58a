// inlier-coordinator --show-stored DIR: the state in a folder where no coordinator runs, for `inlier` alone.
//
// The process recovers a copy of the database, with its log, in a private folder: DIR stays as it is, nothing in it is
// locked, and a coordinator of DIR may start at any time. It listens on loopback and answers the calls of the role
// read; it decides nothing, so a lease does not end and a grid is not expanded. It prints one line of JSON,
// {"grpc": ADDRESS, "token": TOKEN} or {"code": absl's number, "message": TEXT}, and at SIGTERM it removes the copy.
#ifndef INLIER_COORDINATOR_PROCESS_SHOW_STORED_H_
#define INLIER_COORDINATOR_PROCESS_SHOW_STORED_H_

#include <filesystem>
#include <string>

namespace inlier {

inline constexpr char kShowStoredFlag[] = "--show-stored";

// The exit status of the process. `query_program`: the field of the configuration.
int ShowStored(const std::filesystem::path& dir, const std::string& query_program);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_PROCESS_SHOW_STORED_H_
