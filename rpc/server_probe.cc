#include "rpc/server_probe.h"

#include <netdb.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/files/descriptor.h"
#include "rpc/rpc.h"

namespace inlier {
namespace {

bool WaitFor(int fd, short events, Duration wait) {
  pollfd ready{fd, events, 0};
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(wait).count();
  return ::poll(&ready, 1, static_cast<int>(milliseconds)) == 1 && (ready.revents & events) != 0;
}

bool Connects(int fd, const addrinfo& to, Duration wait) {
  if (::connect(fd, to.ai_addr, to.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS || !WaitFor(fd, POLLOUT, wait)) return false;
  int error = 0;
  socklen_t size = sizeof(error);
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

// A non-blocking connection.
std::optional<Descriptor> Connect(const std::string& address, Duration wait) {
  const absl::StatusOr<Address> parsed = ParseAddress(address, "address");
  if (!parsed.ok()) return std::nullopt;
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(parsed->host.c_str(), std::to_string(parsed->port).c_str(), &hints, &found) != 0)
    return std::nullopt;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, &::freeaddrinfo);
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    Descriptor socket(::socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol));
    if (socket.fd() >= 0 && Connects(socket.fd(), *at, wait)) return socket;
  }
  return std::nullopt;
}

// The first message of a TLS client; empty when OpenSSL makes none.
std::string ClientHello() {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(::SSL_CTX_new(::TLS_client_method()),
                                                             &::SSL_CTX_free);
  if (context == nullptr) return "";
  const std::unique_ptr<SSL, void (*)(SSL*)> client(::SSL_new(context.get()), &::SSL_free);
  if (client == nullptr) return "";
  BIO* in = ::BIO_new(::BIO_s_mem());
  BIO* out = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(client.get(), in, out);  // Owns both.
  ::SSL_set_connect_state(client.get());
  ::SSL_do_handshake(client.get());  // Writes its message, and fails for want of an answer.
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : "";
}

}  // namespace

bool AcceptsConnections(const std::string& address, Duration wait) {
  return Connect(address, wait).has_value();
}

bool Answers(const std::string& address, bool tls, Duration wait) {
  const std::optional<Descriptor> socket = Connect(address, wait);
  if (!socket) return false;
  const std::string hello = tls ? ClientHello() : "";
  static_cast<void>(::send(socket->fd(), hello.data(), hello.size(), MSG_NOSIGNAL));
  return WaitFor(socket->fd(), POLLIN, wait);
}

bool SpeaksTls(const std::string& address, Duration wait) {
  constexpr unsigned char kHandshake = 22, kAlert = 21, kMajorVersion = 3;  // RFC 8446, section 5.1.
  const std::optional<Descriptor> socket = Connect(address, wait);
  const std::string hello = ClientHello();
  if (!socket || hello.empty()) return false;
  if (::send(socket->fd(), hello.data(), hello.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(hello.size()))
    return false;
  std::array<unsigned char, 2> head{};
  if (!WaitFor(socket->fd(), POLLIN, wait) || ::recv(socket->fd(), head.data(), head.size(), 0) != 2)
    return false;
  return (head[0] == kHandshake || head[0] == kAlert) && head[1] == kMajorVersion;
}

}  // namespace inlier
