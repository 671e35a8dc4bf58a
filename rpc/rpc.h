// gRPC: statuses, addresses, channels and servers.
//
// absl's and gRPC's status codes are the same numbers. Free functions, all thread-safe.
#ifndef INLIER_RPC_RPC_H_
#define INLIER_RPC_RPC_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rpc/credentials.h"

namespace inlier {

// Largest answer that a client accepts and a server sends, unless the configuration sets a larger one.
inline constexpr int kRpcMessageBytesMax = 64 << 20;

grpc::Status ToGrpcStatus(const absl::Status& status);
// Explains gRPC's error for a server that takes no more connections (connection_acceptor.h).
absl::Status FromGrpcStatus(const grpc::Status& status);

// "127.0.0.1:7420", "localhost:7420", "[::1]:7420", "0.0.0.0:0".
struct Address {
  std::string host;  // Without brackets.
  std::uint16_t port = 0;
  std::string ToString() const;  // With brackets around an IPv6 host.
};

// `field` is the configuration's name for it: "listen", "coordinator". InvalidArgument names the error and an example.
absl::StatusOr<Address> ParseAddress(std::string_view text, std::string_view field);

// A channel to `address` (host:port) with the message limits, keep-alive and a reconnect back-off of 0.1 to 2 s. It
// connects at the first call; the files of `security` are read now. Every call carries this program's version, the
// token, and the database that the coordinator must have, where one is known.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeSecureChannel(const std::string& address,
                                                                 const ClientSecurity& security,
                                                                 int message_bytes_max = kRpcMessageBytesMax);

// Names in a call's metadata.
inline constexpr char kVersionHeader[] = "inlier-version";
inline constexpr char kDatabaseHeader[] = "inlier-database";
inline constexpr char kTokenHeader[] = "authorization";
// After an answer: a note for the user on the whole coordinator, such as that its disk is full.
inline constexpr char kNoticeHeader[] = "inlier-notice-bin";
inline constexpr char kTokenScheme[] = "Bearer ";
// A note for the user on this answer; may be repeated.
inline constexpr char kNoteHeader[] = "inlier-note-bin";

class ConnectionAcceptor;

// A server that is listening. Destroy or Shutdown() it to stop.
struct ListeningServer {
  // Accepts no more connections, and ends the calls that are open at `deadline`.
  void Shutdown(std::chrono::system_clock::time_point deadline = std::chrono::system_clock::now());

  std::shared_ptr<grpc::ServerCredentials> credentials;  // The server uses them until it is destroyed.
  std::unique_ptr<grpc::Server> server;
  std::shared_ptr<ConnectionAcceptor> acceptor;  // Destroyed before the server.
  std::string address;                           // With the port that was bound.
};

struct ServerOptions {
  ServerTls tls = {};
  int request_bytes_max = kRpcMessageBytesMax;   // Larger messages of callers are refused.
  grpc::CallbackGenericService* door = nullptr;  // Gets every call of no registered service.
};

// Starts `services` on `address`, with limits for calls at once on a connection, memory of messages and idle
// connections, and without compression. Services and door must outlive the server. AlreadyExists names an address in
// use and the remedy; InvalidArgument a bad address.
absl::StatusOr<ListeningServer> StartServer(const std::string& address, const std::string& field,
                                            const std::vector<grpc::Service*>& services,
                                            const ServerOptions& options = {});

// The error of bind(2) on `address`, as StartServer and HttpServer report it; OK when it can be bound now.
absl::Status ProbeBind(Address address, std::string_view field);

}  // namespace inlier

#endif  // INLIER_RPC_RPC_H_
