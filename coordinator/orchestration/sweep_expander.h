// Turns the points of a sweep's grid into trials, a bounded number at a time.
//
// A grid of 10^9 points costs its axes; trials are made as they come near dispatch. A point whose spec cannot
// be resolved or is invalid still becomes a trial: one that has failed, with the reason.
//
// What needs no state of the coordinator can be done before it is its turn: CheckedExpander.
//
// Thread safety: none. Next() is a pure function of the grid and the position.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_SWEEP_EXPANDER_H_
#define INLIER_COORDINATOR_ORCHESTRATION_SWEEP_EXPANDER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/arena.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "inlier/v1/trial_spec.pb.h"
#include "proto/spec/canonical.h"
#include "proto/spec/sweep_grid.h"

namespace inlier {

struct ExpandedTrial {
  std::uint64_t point = 0;
  PointLabels labels;
  absl::Status problem;     // Not OK: the trial can never run; the fingerprints are then empty.
  std::string spec;         // Serialised TrialSpec, resolved; empty when that failed.
  std::uint32_t steps = 0;  // Updates of its training; 0 where it counts epochs.
  TrialIdentity identity;   // With `problem`, only rest_json: all of the spec, as the grid gave it.
};

// {"gamma": "-0.03"} as the store keeps labels.
std::string LabelsJson(const PointLabels& labels);
// The inverse; empty when `json` is not an object of strings.
PointLabels LabelsFromJson(const std::string& json);

class SweepExpander {
 public:
  // Goes on at index `next_point` of the grid.
  SweepExpander(SweepGrid grid, std::uint64_t next_point);

  // The next trials, at most `limit`; fewer at the end of the grid, or when `pass_limit` points of `taken`,
  // which have a trial already, have been passed over. Those are taken out of `taken`.
  std::vector<ExpandedTrial> Next(std::uint64_t limit, std::unordered_set<std::uint64_t>& taken,
                                  std::uint64_t pass_limit);
  std::vector<ExpandedTrial> Next(std::uint64_t limit) {
    std::unordered_set<std::uint64_t> none;
    return Next(limit, none, 0);
  }

  // Makes every trial that is left, for Next() to hand out. Returns whether all are valid.
  bool Prepare();

  const SweepGrid& grid() const { return grid_; }
  // Index from which Next() goes on; the grid's size when it is exhausted.
  std::uint64_t next_point() const { return next_point_; }
  bool exhausted() const { return next_point_ >= grid_.size(); }

 private:
  // With arena_block_.
  google::protobuf::ArenaOptions Options();
  // The spec is made in `arena`, which is reset.
  void Make(std::uint64_t point, google::protobuf::Arena& arena, IdentityWriter& identities,
            ExpandedTrial& trial) const;

  SweepGrid grid_;
  std::uint64_t next_point_;
  std::deque<ExpandedTrial> prepared_;  // From next_point_ on.
  IdentityWriter identities_;
  std::unique_ptr<char[]> arena_block_;
};

// The expander of a sweep that a client sent, from its first point, with the errors of CheckedGrid. Of a grid
// of at most `trials_at_once` points all trials are made, and with that checked.
absl::StatusOr<std::unique_ptr<SweepExpander>> CheckedExpander(const v1::SweepSpec& sweep,
                                                               std::uint64_t trials_at_once);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_SWEEP_EXPANDER_H_
