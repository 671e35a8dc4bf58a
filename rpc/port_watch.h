// Checks that a daemon's own gRPC port answers a client: a server whose listener or threads are dead is
// not healthy, even where the rest of the process works.
//
// Thread safety: answers() from any thread; Stop from one.
#ifndef INLIER_RPC_PORT_WATCH_H_
#define INLIER_RPC_PORT_WATCH_H_

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/time.h"

namespace inlier {

class PortWatch {
 public:
  // Asks every `period`, and waits as long for an answer.
  PortWatch(std::string address, bool tls, Duration period = std::chrono::seconds(5));
  ~PortWatch() { Stop(); }

  // False after two failures in a row.
  bool answers() const { return failures_ < kFailuresMax; }

  void Stop();

 private:
  static constexpr int kFailuresMax = 2;

  void Run();
  void Ask();

  const std::string address_;
  const bool tls_;
  const Duration period_;
  std::atomic<int> failures_{0};  // In a row.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace inlier

#endif  // INLIER_RPC_PORT_WATCH_H_
