// Probes of an address, for error messages and for choosing a coordinator: short connections, no call.
//
// Thread safety: free functions, all thread-safe. They block for at most `wait` an address of the host.
#ifndef INLIER_RPC_SERVER_PROBE_H_
#define INLIER_RPC_SERVER_PROBE_H_

#include <string>

#include "base/time.h"

namespace inlier {

// True if a connection to "host:port" is accepted; false also for an invalid address.
bool AcceptsConnections(const std::string& address, Duration wait = std::chrono::seconds(1));

// True if the server at "host:port" sends something, or closes, within `wait`: a gRPC server speaks first, and one with
// TLS answers the first message of TLS. A connection alone shows nothing: the system accepts those of a dead server, too.
bool Answers(const std::string& address, bool tls, Duration wait);

// True if the server at "host:port" answers the first message of TLS with one of TLS.
bool SpeaksTls(const std::string& address, Duration wait = std::chrono::seconds(1));

}  // namespace inlier

#endif  // INLIER_RPC_SERVER_PROBE_H_
