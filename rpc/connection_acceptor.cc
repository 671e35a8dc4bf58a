#include "rpc/connection_acceptor.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "rpc/open_files.h"

namespace inlier {
namespace {

constexpr int kPauseMs = 100;  // After an accept that failed.
constexpr Duration kLogPeriod = std::chrono::seconds(1);

constexpr char kTooManyConnections[] =
    "the coordinator has as many connections as its limit of open files allows; raise it (LimitNOFILE of its "
    "unit, ulimit -n), or end other programs that are connected";

// An answer in HTTP/1.1 makes a gRPC client wait before it connects again; after a GOAWAY of HTTP/2 it would come
// again at once, hundreds of times a second.
std::string Refusal() {
  return absl::StrCat(
      "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n",
      kTooManyConnections, "\n");
}

std::uint16_t PortOf(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

void SetPort(sockaddr& address, std::uint16_t port) {
  (address.sa_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                 : reinterpret_cast<sockaddr_in&>(address).sin_port) = htons(port);
}

}  // namespace

absl::StatusOr<std::vector<Descriptor>> Listen(Address& address, std::string_view field) {
  const std::string name(field), shown = address.ToString();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int looked_up =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (looked_up != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": cannot resolve the host of ", shown, ": ", ::gai_strerror(looked_up)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, &::freeaddrinfo);
  std::vector<Descriptor> sockets;
  std::set<std::string> addresses;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    // A host may be listed twice.
    if (!addresses.emplace(reinterpret_cast<const char*>(info->ai_addr), info->ai_addrlen).second) continue;
    Descriptor socket(
        ::socket(info->ai_family, info->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, info->ai_protocol));
    if (socket.fd() < 0) continue;  // This address family does not exist here.
    const int on = 1, off = 0;
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // Its connections inherit it.
    if (info->ai_family == AF_INET6) ::setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    SetPort(*info->ai_addr, address.port);
    if (::bind(socket.fd(), info->ai_addr, info->ai_addrlen) != 0 || ::listen(socket.fd(), SOMAXCONN) != 0) {
      const int error = errno;
      if (error == EADDRINUSE) {
        return absl::AlreadyExistsError(absl::StrCat(
            name, ": ", shown,
            " is already in use; stop the program that listens there (`ss -ltnp 'sport = :", address.port,
            "'` names it), or give ", name, " another port (0 takes a free one)"));
      }
      return absl::FailedPreconditionError(
          absl::StrCat(name, ": cannot listen on ", shown, ": ", std::strerror(error)));
    }
    address.port = PortOf(socket.fd());
    sockets.push_back(std::move(socket));
  }
  if (sockets.empty())
    return absl::FailedPreconditionError(
        absl::StrCat(name, ": cannot listen on ", shown, ": ", std::strerror(errno)));
  return sockets;
}

ConnectionAcceptor::ConnectionAcceptor(std::vector<Descriptor> listeners, bool plain,
                                       std::function<void(int listener, int connection)> take)
    : listeners_(std::move(listeners)),
      plain_(plain),
      take_(std::move(take)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  INLIER_CHECK(stop_.fd() >= 0);
  thread_ = std::thread([this] { Run(); });
}

ConnectionAcceptor::~ConnectionAcceptor() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(stop_.fd(), &one, sizeof(one)));
  thread_.join();
}

void ConnectionAcceptor::Run() {
  std::vector<pollfd> watched = {{stop_.fd(), POLLIN, 0}};
  for (const Descriptor& listener : listeners_) watched.push_back({listener.fd(), POLLIN, 0});
  bool has_room = true;
  for (;;) {
    // During a pause it waits for the end alone.
    const int ready = ::poll(watched.data(), has_room ? watched.size() : 1, has_room ? -1 : kPauseMs);
    if (ready > 0 && watched[0].revents != 0) return;
    has_room = true;
    if (ready <= 0) continue;
    for (std::size_t i = 1; i < watched.size() && has_room; ++i) {
      if (watched[i].revents != 0) has_room = Accept(watched[i].fd);
    }
  }
}

bool ConnectionAcceptor::Accept(int listener) {
  const int connection = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (connection < 0) {
    // Other errors concern this connection alone.
    const bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (exhausted && MayLog()) spdlog::error("connection_not_accepted reason=\"{}\"", std::strerror(errno));
    return !exhausted;
  }
  // The system gives the lowest free number, which is thus the number of open descriptors.
  const bool has_room = static_cast<std::size_t>(connection) < OpenFileShares::Now().grpc_end;
  has_room ? take_(listener, connection) : Refuse(Descriptor(connection));
  return true;
}

void ConnectionAcceptor::Refuse(const Descriptor& connection) {
  if (plain_) {
    const std::string reason = Refusal();
    static_cast<void>(::send(connection.fd(), reason.data(), reason.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    ::shutdown(connection.fd(), SHUT_WR);
  }
  ++refused_;
  if (!MayLog()) return;
  spdlog::warn("connections_refused refused={} open_files_max={} reason=\"{}\"", std::exchange(refused_, 0),
               OpenFileShares::Now().all, kTooManyConnections);
}

bool ConnectionAcceptor::MayLog() {
  const Timestamp now = MonotonicNow();
  if (logged_ != Timestamp() && now - logged_ < kLogPeriod) return false;
  logged_ = now;
  return true;
}

}  // namespace inlier
