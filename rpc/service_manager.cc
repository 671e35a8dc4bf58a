#include "rpc/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/log.h"

namespace inlier {
namespace {

constexpr int kChecksInWatchdogTime = 3;

std::string Take(const char* name) {
  const char* value = std::getenv(name);
  std::string taken = value == nullptr ? "" : value;
  ::unsetenv(name);
  return taken;
}

}  // namespace

ServiceManager ServiceManager::FromEnvironment() {
  ServiceManager manager;
  manager.socket_ = Take("NOTIFY_SOCKET");
  const std::string microseconds = Take("WATCHDOG_USEC");
  const std::string pid = Take("WATCHDOG_PID");
  std::int64_t time = 0;
  std::int64_t watched = 0;
  const bool ours = pid.empty() || (absl::SimpleAtoi(pid, &watched) && watched == ::getpid());
  if (!manager.socket_.empty() && ours && absl::SimpleAtoi(microseconds, &time) && time > 0)
    manager.watchdog_ = std::chrono::microseconds(time);
  return manager;
}

void ServiceManager::SetWatchdog(Duration time) const {
  if (watchdog_)
    Notify(
        absl::StrCat("WATCHDOG_USEC=", std::chrono::duration_cast<std::chrono::microseconds>(time).count()));
}

void ServiceManager::Notify(const std::string& notice) const {
  if (socket_.empty()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A name that begins with @ is one without a file: its first byte is 0.
  const bool fits = socket_.size() < sizeof(address.sun_path);
  if (fits) std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const int fd = fits ? ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  if (fd < 0 || ::sendto(fd, notice.data(), notice.size(), MSG_NOSIGNAL,
                         reinterpret_cast<sockaddr*>(&address), length) < 0) {
    spdlog::warn("service_manager_not_notified notice={} NOTIFY_SOCKET={} reason=\"{}\"", notice,
                 LogText(socket_), fits ? std::strerror(errno) : "the name is too long");
  }
  if (fd >= 0) ::close(fd);
}

Watchdog::Watchdog(boost::asio::io_context& io, const ServiceManager& manager, std::function<void()> check)
    : timer_(io), check_(std::move(check)) {
  if (!manager.watchdog()) return;
  period_ = *manager.watchdog() / kChecksInWatchdogTime;
  Wait();
}

void Watchdog::Wait() {
  timer_.expires_after(period_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;  // The timer is gone.
    check_();
    Wait();
  });
}

}  // namespace inlier
