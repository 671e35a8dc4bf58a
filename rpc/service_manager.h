// Notices to the service manager that has started this daemon: it is ready, it stops, it is alive.
//
// The protocol is sd_notify(3) of systemd, a datagram a notice to the socket in NOTIFY_SOCKET, if there is one.
#ifndef INLIER_RPC_SERVICE_MANAGER_H_
#define INLIER_RPC_SERVICE_MANAGER_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>

#include "base/time.h"

namespace inlier {

// Thread safety: any thread.
class ServiceManager {
 public:
  // Removes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID from the environment. REQUIRES: this is the only thread.
  static ServiceManager FromEnvironment();

  void Ready() const { Notify("READY=1"); }
  void Stopping() const { Notify("STOPPING=1"); }
  void Alive() const { Notify("WATCHDOG=1"); }
  // Replaces the time of watchdog(); does nothing where that is none.
  void SetWatchdog(Duration time) const;

  // The daemon is ended when it has not been Alive for that long; nullopt where it is not watched.
  std::optional<Duration> watchdog() const { return watchdog_; }

 private:
  void Notify(const std::string& notice) const;

  std::string socket_;  // Empty without a manager.
  std::optional<Duration> watchdog_;
};

// Calls `check`, which has to lead to manager.Alive() while the daemon works, three times in the manager's watchdog
// time, and keeps the io_context running; does nothing where the daemon is not watched.
//
// Thread safety: none; used on the thread that runs the io_context.
class Watchdog {
 public:
  Watchdog(boost::asio::io_context& io, const ServiceManager& manager, std::function<void()> check);

 private:
  void Wait();

  boost::asio::steady_timer timer_;
  Duration period_{0};
  std::function<void()> check_;
};

}  // namespace inlier

#endif  // INLIER_RPC_SERVICE_MANAGER_H_
