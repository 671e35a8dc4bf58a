#include "rpc/service_manager.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace inlier {
namespace {

using std::chrono::milliseconds;

// The manager's end of the socket, and the environment that names it.
class ServiceManagerTest : public testing::Test {
 protected:
  ServiceManagerTest() {
    std::string name = (std::filesystem::temp_directory_path() / "inlier-notify-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    Listen((folder_ / "notify").string());
  }
  ~ServiceManagerTest() override {
    ::close(fd_);
    for (const char* variable : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(variable);
    std::filesystem::remove_all(folder_);
  }

  void Listen(const std::string& name) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    ASSERT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), length), 0) << std::strerror(errno);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }

  // The next notice; "" when none comes in `wait`.
  std::string Received(milliseconds wait) {
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, static_cast<int>(wait.count())) != 1) return "";
    std::array<char, 64> text{};
    const ssize_t size = ::recv(fd_, text.data(), text.size(), 0);
    return {text.data(), static_cast<std::size_t>(size)};
  }

  std::filesystem::path folder_;
  int fd_ = -1;
};

TEST_F(ServiceManagerTest, EachNoticeIsADatagram) {
  const ServiceManager manager = ServiceManager::FromEnvironment();
  manager.Ready();
  manager.Alive();
  manager.Stopping();
  EXPECT_EQ(Received(milliseconds(1000)), "READY=1");
  EXPECT_EQ(Received(milliseconds(1000)), "WATCHDOG=1");
  EXPECT_EQ(Received(milliseconds(1000)), "STOPPING=1");
}

TEST_F(ServiceManagerTest, ASocketWithoutAFileIsReached) {
  Listen("@" + folder_.filename().string());
  ServiceManager::FromEnvironment().Ready();
  EXPECT_EQ(Received(milliseconds(1000)), "READY=1");
}

TEST_F(ServiceManagerTest, ChildrenAreNotNamedTheSocket) {
  ::setenv("WATCHDOG_USEC", "60000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  const ServiceManager manager = ServiceManager::FromEnvironment();
  EXPECT_EQ(manager.watchdog(), std::chrono::seconds(60));
  for (const char* variable : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
    EXPECT_EQ(std::getenv(variable), nullptr) << variable;
}

TEST_F(ServiceManagerTest, AWatchdogIsForTheNamedProcessAlone) {
  ::setenv("WATCHDOG_USEC", "60000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid() + 1).c_str(), 1);
  EXPECT_EQ(ServiceManager::FromEnvironment().watchdog(), std::nullopt);
}

TEST_F(ServiceManagerTest, ALongerWatchdogIsAskedForWhereThereIsOne) {
  ServiceManager::FromEnvironment().SetWatchdog(std::chrono::minutes(30));
  ::setenv("WATCHDOG_USEC", "60000000", 1);
  Listen((folder_ / "other").string());
  ServiceManager::FromEnvironment().SetWatchdog(std::chrono::minutes(30));
  EXPECT_EQ(Received(milliseconds(1000)), "WATCHDOG_USEC=1800000000");
  EXPECT_EQ(Received(milliseconds(0)), "");
}

TEST_F(ServiceManagerTest, WithoutAManagerNothingIsSent) {
  ::unsetenv("NOTIFY_SOCKET");
  ::setenv("WATCHDOG_USEC", "60000000", 1);
  const ServiceManager manager = ServiceManager::FromEnvironment();
  manager.Ready();
  EXPECT_EQ(manager.watchdog(), std::nullopt);
  EXPECT_EQ(Received(milliseconds(0)), "");
}

// As in the coordinator: the timer's thread posts to the loop, and only the loop reports.
TEST_F(ServiceManagerTest, AHungLoopIsNotReportedAlive) {
  ::setenv("WATCHDOG_USEC", "30000", 1);
  const ServiceManager manager = ServiceManager::FromEnvironment();
  boost::asio::io_context timers;
  boost::asio::io_context loop;
  const Watchdog watchdog(timers, manager, [&] { boost::asio::post(loop, [&] { manager.Alive(); }); });
  timers.run_for(milliseconds(100));
  EXPECT_EQ(Received(milliseconds(0)), "") << "the loop has not run";
  loop.poll();
  EXPECT_EQ(Received(milliseconds(0)), "WATCHDOG=1");
}

}  // namespace
}  // namespace inlier
