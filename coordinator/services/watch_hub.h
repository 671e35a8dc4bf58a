// Everybody who watches a sweep: the present state at once, then an update when something changed, at most
// ten a second, until the sweep is over. A slow watcher gets fewer updates, never a queue of them.
//
// Thread safety: Open from any thread; the rest on the coordinator's thread.
#ifndef INLIER_COORDINATOR_SERVICES_WATCH_HUB_H_
#define INLIER_COORDINATOR_SERVICES_WATCH_HUB_H_

#include <grpcpp/grpcpp.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <set>
#include <string>

#include "coordinator/services/calls.h"

namespace inlier {

class WatchHub {
 public:
  static constexpr Duration kPeriod = std::chrono::milliseconds(100);
  static constexpr int kWatchersMax = 1000;

  // Both outlive the hub, and the hub outlives the server that uses it.
  WatchHub(boost::asio::io_context& io, Calls& calls) : calls_(calls), timer_(io) {}

  // The reactor of one WatchSweep call; gRPC owns it until it is done.
  grpc::ServerWriteReactor<v1::SweepUpdate>* Open(const std::string& sweep);

  int watchers() const { return static_cast<int>(watchers_.size()); }
  // No updates any more.
  void Stop();

 private:
  class Watcher;

  void Add(Watcher* watcher);
  void Remove(Watcher* watcher);
  void Arm();

  Calls& calls_;
  boost::asio::steady_timer timer_;
  std::set<Watcher*> watchers_;
  bool armed_ = false;
  bool stopped_ = false;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_WATCH_HUB_H_
