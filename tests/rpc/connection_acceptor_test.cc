// Connections when the process has few descriptors. Those of the clients are this process's, too.
#include "rpc/connection_acceptor.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rpc/open_files.h"

namespace inlier {
namespace {

using testing::HasSubstr;

class ConnectionAcceptorTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit low = before_;
    low.rlim_cur = kLimit;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    auto sockets = Listen(address_, "listen").value();
    acceptor_.emplace(std::move(sockets), /*plain=*/true, [this](int, int connection) {
      EXPECT_LT(static_cast<std::size_t>(connection), OpenFileShares::Now().grpc_end);
      const std::lock_guard lock(mutex_);
      taken_.emplace_back(connection);
    });
  }
  void TearDown() override {
    acceptor_.reset();
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }

  static Descriptor Socket() { return Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }
  // The system accepts it, whether or not this process does.
  Descriptor Connect(Descriptor socket = Socket()) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address_.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.fd(), reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    return socket;
  }
  std::size_t taken() {
    const std::lock_guard lock(mutex_);
    return taken_.size();
  }
  // The bytes that come until the server closes; none: it takes the connection, as number `count`.
  std::optional<std::string> Refusal(const Descriptor& socket, std::size_t count) {
    for (int i = 0; i < 6000; ++i) {
      if (taken() == count) return std::nullopt;
      pollfd ready{socket.fd(), POLLIN, 0};
      if (::poll(&ready, 1, 10) != 1) continue;
      std::string text;
      std::array<char, 1024> bytes{};
      for (ssize_t got = 0; (got = ::recv(socket.fd(), bytes.data(), bytes.size(), 0)) > 0;)
        text.append(bytes.data(), static_cast<std::size_t>(got));
      return text;
    }
    ADD_FAILURE() << "neither taken nor refused";
    return std::nullopt;
  }

  static constexpr std::size_t kLimit = 200;
  rlimit before_{};
  Address address_{.host = "127.0.0.1", .port = 0};
  std::mutex mutex_;
  std::vector<Descriptor> taken_;
  std::optional<ConnectionAcceptor> acceptor_;
};

TEST_F(ConnectionAcceptorTest, TheLastDescriptorsAreKeptAndThoseThatComeAreToldWhy) {
  std::vector<Descriptor> clients;
  std::optional<std::string> refusal;
  while (!refusal && clients.size() < kLimit) {
    clients.push_back(Connect());
    refusal = Refusal(clients.back(), clients.size());
  }
  ASSERT_TRUE(refusal);
  EXPECT_GT(taken(), 20u);
  EXPECT_THAT(*refusal,
              HasSubstr("as many connections as its limit of open files allows; raise it (LimitNOFILE"));
  EXPECT_THAT(*refusal, testing::StartsWith("HTTP/1.1 503 "));
  EXPECT_TRUE(Refusal(Connect(), clients.size()));
  // Others have ended: there is room again.
  {
    const std::lock_guard lock(mutex_);
    taken_.clear();
  }
  EXPECT_FALSE(Refusal(Connect(), 1));
}

TEST_F(ConnectionAcceptorTest, AnAcceptThatFailsIsTriedAgain) {
  Descriptor client = Socket();
  std::vector<Descriptor> all;
  for (int fd = ::dup(client.fd()); fd >= 0; fd = ::dup(client.fd())) all.emplace_back(fd);
  client = Connect(std::move(client));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(taken(), 0u);
  all.clear();
  EXPECT_FALSE(Refusal(client, 1));
}

}  // namespace
}  // namespace inlier
