// Which trainings of a sweep are pruned: one sweep's rule, and the values of its trainings at each rung.
//
// A rung is a step at which trainings are compared. The value of a training there is the first point of its
// curve at or after the rung (a point above several rungs counts at the highest), and it is compared once,
// against the values that were there before it: the verdict is a function of the rule and the earlier values,
// in the order in which they were committed. So a restart, which reads them back, changes nothing, and the
// stored rows can be checked again.
//
// Median (Golovin et al. 2017, "Google Vizier"): worse than the median of the others is pruned.
//
// Asha (Li et al. 2020) in its stopping form: a training continues past a rung when it is then in the
// best 1/eta of the rung, and is stopped otherwise. The paper's form pauses trainings and promotes them when
// others have fallen behind; ours train without a pause, so the decision is taken once, when the rung is
// reached. The best so far always continues, also before eta values are there.
//
// With asha.brackets it is asynchronous Hyperband (Li et al. 2018): trainings are compared within their bracket alone, which
// they keep from their first decision on (PruningBracketOf).
//
// NaN is worse than every number. Equal values are not worse.
#ifndef INLIER_COORDINATOR_STATE_SWEEPS_PRUNER_H_
#define INLIER_COORDINATOR_STATE_SWEEPS_PRUNER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/store/changes.h"
#include "coordinator/store/snapshot.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// The rule itself: the decision about `value` with its threshold, the median of the others or the worst that asha keeps.
// REQUIRES: `spec` has a rule.
PruningDecision JudgeValue(const v1::PruningSpec& spec, std::span<const double> earlier, double value);

class Pruner {
 public:
  // REQUIRES: `spec` has a rule.
  explicit Pruner(v1::PruningSpec spec) : spec_(std::move(spec)) {}

  const v1::PruningSpec& spec() const { return spec_; }

  // The decision about `stage` with `value` at `step`; nullopt when there is none, because the training has
  // one at that rung already. `bracket`: where it belongs unless it was judged before. Sweep, token and time are left to the
  // caller. Changes nothing: Record() does.
  std::optional<PruningDecision> Judge(StageId stage, std::uint32_t bracket, std::uint64_t step,
                                       double value) const;
  void Record(const PruningDecision& decision);

  // The latest verdict about the stage was to prune it.
  bool Wants(StageId stage) const;

  // "pruned: loss 3.21 at step 400 is worse than the median 2.9 of 6 trials"; with brackets "… in bracket 2 of 4".
  std::string Reason(const PruningDecision& decision) const;

  // One line a rung and a stage, in order, by which states are compared.
  std::string State() const;

 private:
  struct Judged {
    std::uint32_t bracket = 1;
    std::uint64_t rung = 0;  // The highest so far.
    bool prune = false;
  };

  v1::PruningSpec spec_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<double>> rungs_;  // By bracket and step.
  std::map<StageId, Judged> judged_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_SWEEPS_PRUNER_H_
