// A coordinator that waits while another one has the state folder, and gets the folder when that one ends.
//
// A takeover loses nothing that was acknowledged: it is committed to inlier.db and its log in that folder,
// from which the next coordinator starts. The lock is that of LockStateFolder; the file system must hold it
// between the machines and release it when its holder dies (docs/guides/standby.md).
//
// Meanwhile http_listen answers /healthz (200, "standby"), /readyz (503, "standby") and /metrics
// (inlier_standby 1), unless another program has the port or the address is on another machine. The port of
// gRPC stays free, so that clients with several addresses go to the one that works.
//
// Thread safety: none; everything on the thread that runs the io_context.
#ifndef INLIER_COORDINATOR_PROCESS_STANDBY_H_
#define INLIER_COORDINATOR_PROCESS_STANDBY_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/file_lock.h"
#include "base/time.h"
#include "inlier/v1/config.pb.h"
#include "rpc/http/http_server.h"
#include "rpc/metrics_registry.h"

namespace inlier {

class Standby {
 public:
  // A takeover begins within this time.
  static constexpr Duration kPeriod = std::chrono::milliseconds(200);
  // With the folder, it waits so long for ports that a dead coordinator of this machine still has, or for an
  // address that moves to this machine; then the start reports what is wrong.
  static constexpr Duration kPortsPatience = std::chrono::seconds(30);

  // The lock for Coordinator::Start, or why the folder can never be taken.
  using Done = std::function<void(absl::StatusOr<FileLock>)>;

  // `done` is called once, on the io_context, at the end of the wait; the HTTP port is free then. A folder
  // without inlier.db is waited for: its disk may not be mounted yet.
  Standby(boost::asio::io_context& io, const v1::CoordinatorConfig& config, Done done);

  // InvalidArgument for an http_listen that is not an address, or for bad files of TLS.
  absl::Status Start();

  // Empty: the port could not be bound.
  const std::string& http_address() const { return http_address_; }

 private:
  void Poll();
  // Nullopt: the folder cannot be taken yet, for `reason`.
  absl::StatusOr<std::optional<FileLock>> TryTake(std::string& reason) const;
  absl::Status PortsFree() const;
  // Logs a reason that is not the last one.
  void Wait(const std::string& reason);

  const v1::CoordinatorConfig config_;
  const Done done_;
  boost::asio::steady_timer timer_;
  HttpServer http_;
  MetricsRegistry metrics_;
  std::string http_address_;
  std::string reason_;
  std::optional<FileLock> lock_;
  Timestamp taken_at_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_PROCESS_STANDBY_H_
