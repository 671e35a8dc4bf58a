#include "tests/worker/holding_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.h"

namespace inlier {
namespace {

constexpr int kLookMs = 5;

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool SendAll(int fd, const char* bytes, ssize_t count) {
  while (count > 0) {
    const ssize_t sent = ::send(fd, bytes, static_cast<size_t>(count), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    count -= sent;
  }
  return true;
}

}  // namespace

HoldingProxy::HoldingProxy(std::function<int()> target) : target_(std::move(target)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  INLIER_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  INLIER_CHECK(::listen(listener_, 64) == 0);
  INLIER_CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

HoldingProxy::~HoldingProxy() {
  stop_ = true;
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_);
}

std::string HoldingProxy::address() const { return "127.0.0.1:" + std::to_string(port_); }

void HoldingProxy::Accept() {
  while (!stop_) {
    pollfd ready{listener_, POLLIN, 0};
    if (::poll(&ready, 1, kLookMs) <= 0) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Loopback(target_());
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      ::close(client);
      ::close(server);
      continue;
    }
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, client, server] { Serve(client, server); });
  }
}

void HoldingProxy::Serve(int client, int server) {
  std::vector<char> buffer(1 << 16);
  std::uint64_t passed = 0;
  bool held = false;
  for (bool open = true; open && !stop_;) {
    const std::uint64_t limit = limit_;
    const bool may_pass = passed < limit;
    // Peeks, so that a held connection's waiting bytes and its end are noticed.
    char next = 0;
    const bool waits = !may_pass && ::recv(client, &next, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
    if (waits != held) {
      held = waits;
      holding_ += held ? 1 : -1;
    }
    pollfd fds[2] = {{client, static_cast<short>(may_pass ? POLLIN : 0), 0}, {server, POLLIN, 0}};
    if (::poll(fds, 2, kLookMs) <= 0) continue;
    if (fds[0].revents != 0) {
      if (!may_pass) break;  // An error or a hang-up of the client.
      const std::uint64_t most = std::min<std::uint64_t>(buffer.size(), limit - passed);
      const ssize_t got = ::recv(client, buffer.data(), most, 0);
      open = got > 0 && SendAll(server, buffer.data(), got);
      if (got > 0) passed += static_cast<std::uint64_t>(got);
    }
    if (open && fds[1].revents != 0) {
      const ssize_t got = ::recv(server, buffer.data(), buffer.size(), 0);
      open = got > 0 && SendAll(client, buffer.data(), got);
    }
  }
  if (held) --holding_;
  ::close(client);
  ::close(server);
}

}  // namespace inlier
