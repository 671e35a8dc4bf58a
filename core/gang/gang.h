// The processes that train one trial together, a rank each: their sums, broadcasts and agreements.
//
// Every rank makes the same calls in the same order, with tensors of the same shapes; a call ends once all have made
// theirs. A result has the same bits on every rank, and again in another run with as many ranks: the order of a sum
// depends on the shapes and the number of ranks alone. With another number of ranks a sum is rounded in another order.
//
// LibTorch's c10d, with Gloo over 127.0.0.1, or between machines that share a folder over their addresses. Tensors of a
// GPU travel through the machine's memory.
//
// Ranks may also be threads of one process, with a Gang each.
#ifndef INLIER_CORE_GANG_GANG_H_
#define INLIER_CORE_GANG_GANG_H_

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"

namespace inlier {

// Another rank has ended or cannot be reached: this one cannot continue.
class GangBroken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Gang {
 public:
  struct Place {
    int rank = 0;
    int processes = 1;
    std::filesystem::path meeting;      // The first rank makes this file; another one for every gang.
    std::string address = "127.0.0.1";  // Of this rank's machine, by which the others reach it.
  };

  // Of one process: sums are what they are.
  Gang();
  // Returns once all ranks have called it. Unavailable, with the reason, where they do not come within `patience`.
  static absl::StatusOr<Gang> Meet(const Place& place, Duration patience);
  Gang(Gang&&) noexcept;
  Gang& operator=(Gang&&) noexcept;
  ~Gang();

  int rank() const { return rank_; }
  int processes() const { return processes_; }

  // Throw GangBroken, or LibTorch's error where memory for a copy is lacking.
  // Each tensor becomes the sum of those in its place on all ranks.
  void Sum(const std::vector<at::Tensor>& tensors);
  // Each tensor becomes that of the rank `root`.
  void Broadcast(const std::vector<at::Tensor>& tensors, int root);
  // True where `value` is true on a rank.
  bool Any(bool value);

 private:
  struct Group;
  Gang(int rank, int processes, std::unique_ptr<Group> group);

  int rank_ = 0;
  int processes_ = 1;
  std::unique_ptr<Group> group_;  // Null: one process.
};

}  // namespace inlier

#endif  // INLIER_CORE_GANG_GANG_H_
