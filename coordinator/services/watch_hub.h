// The watchers of sweeps: each gets the present state at once, then an update after a change, at most ten a
// second, until the sweep is over. A slow watcher gets fewer updates, never a queue of them, and misses no
// notice: those that are no longer in memory are read from the database. One that does not read at all times
// out (CallBounds), with a code after which `inlier watch` resumes. A watch ends with its caller's token.
//
// Thread safety: Open from any thread; the rest on the coordinator's thread.
#ifndef INLIER_COORDINATOR_SERVICES_WATCH_HUB_H_
#define INLIER_COORDINATOR_SERVICES_WATCH_HUB_H_

#include <grpcpp/grpcpp.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <set>
#include <string>

#include "coordinator/services/calls.h"
#include "coordinator/store/reader.h"

namespace inlier {

class WatchHub {
 public:
  static constexpr Duration kPeriod = std::chrono::milliseconds(100);
  static constexpr std::size_t kWatchersMax = 1000;
  static constexpr int kWatchersOfOneCallerMax = 100;      // Of one with a name.
  static constexpr std::uint32_t kNoticesPerUpdate = 500;  // Read from the database.

  // All outlive the hub, and the hub outlives the server.
  WatchHub(boost::asio::io_context& io, Calls& calls, Reader& reader)
      : calls_(calls), reader_(reader), timer_(io) {}

  // One WatchSweep call, which deletes itself.
  grpc::ServerGenericBidiReactor* Open(AdmittedCall call);

  // Ends every watch; no updates follow.
  void Stop();

 private:
  class Watcher;

  void Arm();
  void UpdateAll();

  Calls& calls_;
  Reader& reader_;
  boost::asio::steady_timer timer_;
  std::set<Watcher*> watchers_;
  std::map<std::string, int> by_caller_;  // Number of watchers.
  Timestamp rechecked_;                   // When their credentials were checked last.
  bool armed_ = false;
  bool stopped_ = false;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_WATCH_HUB_H_
