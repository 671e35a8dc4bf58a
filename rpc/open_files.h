// The shares of a daemon's descriptors: connections never take the last ones, which files and the other port need.
//
// Thread safety: free functions, all thread-safe.
#ifndef INLIER_RPC_OPEN_FILES_H_
#define INLIER_RPC_OPEN_FILES_H_

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>

namespace inlier {

struct OpenFileShares {
  std::size_t all = 0;               // RLIMIT_NOFILE.
  std::size_t http_connections = 0;  // Of one HTTP server.
  std::size_t grpc_end = 0;          // Connections to the gRPC port have descriptors below it.

  static OpenFileShares Now() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = 1024;
    const std::size_t all = std::min<std::size_t>(limit.rlim_cur, 1 << 30);
    const std::size_t kept = std::min<std::size_t>(all / 2, 1024);
    return {.all = all,
            .http_connections = std::clamp<std::size_t>(all / 8, 8, 256),
            .grpc_end = std::min<std::size_t>(all - kept, 1 << 17)};
  }
};

}  // namespace inlier

#endif  // INLIER_RPC_OPEN_FILES_H_
