#include "rpc/rpc.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/support/client_interceptor.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/version.h"
#include "rpc/connection_acceptor.h"
#include "rpc/server_tls.h"

namespace inlier {
namespace {

using grpc::experimental::InterceptionHookPoints;

// In the error of a client whose server has answered in HTTP/1.1.
constexpr char kHttp1Server[] = "http1.x server";

// Limits of one connection to a server.
constexpr int kStreamsMax = 4096;           // Calls at once; a client keeps further ones back.
constexpr int kIdleConnectionMs = 600'000;  // A connection without a call is closed.
constexpr int kHandshakeMs = 20'000;        // A connection that sends nothing is closed.
// Memory for incoming data of all connections, in largest messages; above it gRPC cuts connections.
constexpr std::size_t kMessagesHeld = 64;

// Adds the version, the token and the database id to every call.
class ShowCredentials final : public grpc::experimental::Interceptor {
 public:
  explicit ShowCredentials(const ClientSecurity& security) : security_(security) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      auto* metadata = methods->GetSendInitialMetadata();
      metadata->emplace(kVersionHeader, Version());
      if (!security_.token.empty()) metadata->emplace(kTokenHeader, kTokenScheme + security_.token);
      if (!security_.database_id.empty()) metadata->emplace(kDatabaseHeader, security_.database_id);
    }
    methods->Proceed();
  }

 private:
  const ClientSecurity& security_;  // The factory's.
};

class ShowCredentialsFactory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit ShowCredentialsFactory(ClientSecurity security) : security_(std::move(security)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo*) override {
    return new ShowCredentials(security_);
  }

 private:
  const ClientSecurity security_;
};

grpc::ChannelArguments MakeChannelArguments(int message_bytes_max) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(message_bytes_max);
  arguments.SetMaxSendMessageSize(message_bytes_max);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Also the least time for an attempt to connect: over a long line, or on a busy machine, the first frames of the
  // server take more than the 100 ms after which a refused connection is tried again.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  // Channels of one process to one address must not share a broken connection's back-off.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Addresses are the cluster's own; a proxy from the environment would only get in the way.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Retries and channelz are not used; each costs time in every call.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
  return arguments;
}

// Listens on both address families where the host is 0.0.0.0, as gRPC does.
absl::StatusOr<std::vector<Descriptor>> ListenForServer(Address& address, std::string_view field) {
  Address both{.host = "::", .port = address.port};
  absl::StatusOr<std::vector<Descriptor>> sockets;
  if (address.host == "0.0.0.0") sockets = Listen(both, field);
  if (!sockets.ok()) return Listen(address, field);
  address.port = both.port;
  return sockets;
}

}  // namespace

void ListeningServer::Shutdown(std::chrono::system_clock::time_point deadline) {
  acceptor.reset();
  if (server != nullptr) server->Shutdown(deadline);
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
      absl::StrContains(status.error_message(), kHttp1Server)) {
    return absl::UnavailableError(
        "it answers as an http_listen does, or as a coordinator that has as many connections as its limit of "
        "open files allows: its log names which, and the remedy");
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

std::string Address::ToString() const {
  const bool v6 = host.find(':') != std::string::npos;
  return absl::StrCat(v6 ? "[" : "", host, v6 ? "]" : "", ":", port);
}

absl::StatusOr<Address> ParseAddress(std::string_view text, std::string_view field) {
  const std::string shown(text), name(field);
  const auto wrong = [&](const std::string& reason) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": '", shown, "' is not an address: ", reason,
                                                   "; expected host:port, for example 127.0.0.1:7420"));
  };
  const size_t colon = shown.rfind(':');
  if (colon == std::string::npos || shown.back() == ']') return wrong("there is no port");
  Address address;
  address.host = shown.substr(0, colon);
  if (!address.host.empty() && address.host.front() == '[') {
    if (address.host.back() != ']') return wrong("a bracket is not closed");
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find(':') != std::string::npos) {
    return wrong("an IPv6 host needs brackets");
  }
  if (address.host.empty()) return wrong("there is no host");
  for (const char c : address.host) {
    if (c == ' ' || c == '/' || c == '@') return wrong("the host has a character that no host name has");
  }
  std::uint32_t port = 0;
  const std::string digits = shown.substr(colon + 1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos ||
      !absl::SimpleAtoi(digits, &port) || port > 65535) {
    return wrong("the port is not a number from 0 to 65535");
  }
  address.port = static_cast<std::uint16_t>(port);
  return address;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeSecureChannel(const std::string& address,
                                                                 const ClientSecurity& security,
                                                                 int message_bytes_max) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ChannelCredentials> credentials,
                   MakeChannelCredentials(security, address));
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<ShowCredentialsFactory>(security));
  grpc::ChannelArguments arguments = MakeChannelArguments(message_bytes_max);
  // A handshake of TLS takes longer still.
  if (!security.tls_ca.empty()) arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10000);
  return grpc::experimental::CreateCustomChannelWithInterceptors(address, credentials, arguments,
                                                                 std::move(interceptors));
}

absl::Status ProbeBind(Address address, std::string_view field) { return Listen(address, field).status(); }

absl::StatusOr<ListeningServer> StartServer(const std::string& address, const std::string& field,
                                            const std::vector<grpc::Service*>& services,
                                            const ServerOptions& options) {
  ASSIGN_OR_RETURN(Address wanted, ParseAddress(address, field));
  ListeningServer listening;
  ASSIGN_OR_RETURN(listening.credentials, MakeServerCredentials(options.tls));
  ASSIGN_OR_RETURN(std::vector<Descriptor> sockets, ListenForServer(wanted, field));
  grpc::ServerBuilder builder;
  std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> connections =
      builder.experimental().AddExternalConnectionAcceptor(
          grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, listening.credentials);
  builder.SetMaxReceiveMessageSize(options.request_bytes_max);
  builder.SetMaxSendMessageSize(std::max(options.request_bytes_max, kRpcMessageBytesMax));
  // A compressed message would be unpacked whole before its size can be checked.
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP})
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  grpc::ResourceQuota quota("server");
  quota.Resize(kMessagesHeld * static_cast<std::size_t>(options.request_bytes_max));
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsMax);
  // Bytes that no handler has requested stay with the caller, but for the 64 KiB of a stream.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleConnectionMs);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  for (grpc::Service* service : services) builder.RegisterService(service);
  if (options.door != nullptr) builder.RegisterCallbackGenericService(options.door);
  listening.server = builder.BuildAndStart();
  if (listening.server == nullptr)
    return absl::InternalError(absl::StrCat(field, ": gRPC cannot serve ", wanted.ToString()));
  const auto take = [connections](int listener, int connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters taken;
    taken.listener_fd = listener;
    taken.fd = connection;
    connections->HandleNewConnection(&taken);
  };
  listening.acceptor =
      std::make_shared<ConnectionAcceptor>(std::move(sockets), options.tls.certificate.empty(), take);
  listening.address = wanted.ToString();
  return listening;
}

}  // namespace inlier
