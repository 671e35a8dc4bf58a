// A TCP proxy on loopback that can hold back a client's bytes: a test stops an upload in its middle with it.
//
// Thread safety: every function on any thread.
#ifndef INLIER_TESTS_WORKER_HOLDING_PROXY_H_
#define INLIER_TESTS_WORKER_HOLDING_PROXY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace inlier {

class HoldingProxy {
 public:
  // `target` returns the port on 127.0.0.1 to connect to; called for each connection.
  explicit HoldingProxy(std::function<int()> target);
  ~HoldingProxy();

  std::string address() const;
  // Lets `bytes` of each connection pass from client to server; the rest waits.
  void HoldAfter(std::uint64_t bytes) { limit_ = bytes; }
  void LetPass() { limit_ = std::numeric_limits<std::uint64_t>::max(); }
  // True when a connection has bytes that wait.
  bool holds() const { return holding_ > 0; }

 private:
  void Accept();
  void Serve(int client, int server);

  const std::function<int()> target_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<std::uint64_t> limit_ = std::numeric_limits<std::uint64_t>::max();
  std::atomic<int> holding_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_WORKER_HOLDING_PROXY_H_
