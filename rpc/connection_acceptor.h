// Accepts the connections of a gRPC server, in place of gRPC's own listener, which stops for good at the first accept
// that fails, such as in a moment without a free descriptor.
//
// It never takes the descriptors that are kept for the rest of the process (open_files.h): connections beyond are closed
// at once, with the reason where the port is not encrypted. An accept that fails is tried again.
//
// Thread safety: none; it has a thread of its own.
#ifndef INLIER_RPC_CONNECTION_ACCEPTOR_H_
#define INLIER_RPC_CONNECTION_ACCEPTOR_H_

#include <cstddef>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/files/descriptor.h"
#include "base/time.h"
#include "rpc/rpc.h"

namespace inlier {

// Sockets that listen on every address of the host; a port of 0 becomes the bound one. Errors as StartServer.
absl::StatusOr<std::vector<Descriptor>> Listen(Address& address, std::string_view field);

class ConnectionAcceptor {
 public:
  // `take` owns the descriptor of a connection from then on. `plain`: without TLS.
  ConnectionAcceptor(std::vector<Descriptor> listeners, bool plain,
                     std::function<void(int listener, int connection)> take);
  ~ConnectionAcceptor();
  ConnectionAcceptor(const ConnectionAcceptor&) = delete;
  ConnectionAcceptor& operator=(const ConnectionAcceptor&) = delete;

 private:
  void Run();
  // False where the process has no room for another one now.
  bool Accept(int listener);
  void Refuse(const Descriptor& connection);
  // True at most once a second, so that a flood of connections does not fill the log.
  bool MayLog();

  const std::vector<Descriptor> listeners_;
  const bool plain_;
  const std::function<void(int, int)> take_;
  std::size_t refused_ = 0;  // Since the last line of the log about them.
  Timestamp logged_;
  Descriptor stop_;  // An eventfd.
  std::thread thread_;
};

}  // namespace inlier

#endif  // INLIER_RPC_CONNECTION_ACCEPTOR_H_
