// An optimizer whose state is spread over the ranks of a gang: each rank updates some of the parameters and sends them
// to the others. (ZeRO, stage 1: Rajbhandari et al. 2020)
//
// Parameters are updated one by one by every optimizer, so that this changes no bit of a training, only its memory: a
// rank holds about 1 / ranks of the state. A parameter is on one rank as a whole.
#ifndef INLIER_CORE_OPTIM_SHARDED_OPTIMIZER_H_
#define INLIER_CORE_OPTIM_SHARDED_OPTIMIZER_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/gang/gang.h"
#include "core/optim/optimizer.h"

namespace inlier {

class ShardedOptimizer : public Optimizer {
 public:
  using Make = std::function<std::unique_ptr<Optimizer>(const std::vector<NamedParameter>&)>;

  // `parameters`: the same list on every rank. `make` is called for this rank's ones. `gang` outlives the optimizer.
  ShardedOptimizer(const std::vector<NamedParameter>& parameters, Gang& gang, const Make& make);

  // Every rank calls it.
  void Step(double learning_rate) override;
  // Every rank calls it. Of all ranks, as copies in the CPU's memory, on rank 0; elsewhere empty.
  std::vector<NamedParameter> State() const override;
  // `state`: of all ranks, or of an optimizer that is not sharded.
  absl::Status LoadState(const std::map<std::string, at::Tensor>& state) override;

 private:
  Gang& gang_;
  std::vector<std::vector<at::Tensor>> parameters_;  // By rank, outside autograd.
  std::set<std::string> of_others_;                  // Names of the parameters that other ranks update.
  std::unique_ptr<Optimizer> own_;                   // Null where there are more ranks than parameters.
};

// The rank that updates each of the parameters: the largest first, each to the rank with the fewest elements so far.
std::vector<int> RanksOf(const std::vector<NamedParameter>& parameters, int ranks);

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_SHARDED_OPTIMIZER_H_
