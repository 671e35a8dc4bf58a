// The network between the coordinator and one other process: it delays, loses, doubles and reorders messages,
// and may be cut in one direction or in both for longer than any lease.
#ifndef INLIER_TESTS_SIMULATION_NETWORK_H_
#define INLIER_TESTS_SIMULATION_NETWORK_H_

#include <algorithm>
#include <functional>
#include <utility>

#include "tests/simulation/world.h"

namespace inlier {

class Link {
 public:
  explicit Link(World& world) : world_(world) {}

  enum class Way { kRequest, kReply };

  // `ordered`: as a stream does it, each message after the one before, and none after a lost one until Renew.
  void Send(Way way, bool ordered, std::function<void()> arrive) {
    const int to = way == Way::kRequest ? 0 : 1;
    const bool cut = world_.now() < cut_until_[to];
    if (cut || broken_[to] || world_.Chance(world_.plan().drop)) {
      if (ordered) broken_[to] = true;
      world_.Count("messages lost");
      return;
    }
    if (world_.Chance(world_.plan().copy)) {
      // A copy, at any time: also long after its sender has gone.
      world_.Count("messages doubled");
      world_.After(world_.random().Between(Duration(0), longest_), arrive);
    }
    Duration delay = world_.random().Between(std::chrono::microseconds(100), std::chrono::milliseconds(3));
    if (world_.Chance(world_.plan().reorder))
      delay += world_.random().Between(Duration(0), std::chrono::seconds(1));
    if (world_.Chance(world_.plan().late))
      delay += world_.random().Between(Duration(0), std::chrono::seconds(20));
    Timestamp at = world_.now() + delay;
    if (ordered) {
      at = std::max(at, last_[to]);
      last_[to] = at;
    }
    world_.At(at, std::move(arrive));
  }

  // A new connection.
  void Renew() { broken_[0] = broken_[1] = false; }

  void Cut(Way way, Duration for_long) { cut_until_[way == Way::kRequest ? 0 : 1] = world_.now() + for_long; }
  void Mend() {
    cut_until_[0] = cut_until_[1] = Timestamp{};
    Renew();
  }
  void set_longest_copy(Duration longest) { longest_ = longest; }

 private:
  World& world_;
  Timestamp cut_until_[2], last_[2];
  bool broken_[2] = {false, false};
  Duration longest_ = std::chrono::seconds(90);
};

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_NETWORK_H_
