// Turns the points of a sweep's grid into trials, a bounded number at a time.
//
// A grid of 10^9 points costs its axes; trials are made as they come near dispatch. A point whose spec cannot
// be resolved or is invalid still becomes a trial: one that has failed, with the reason.
//
// Thread safety: none. Next() is a pure function of the grid and the position.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_SWEEP_EXPANDER_H_
#define INLIER_COORDINATOR_ORCHESTRATION_SWEEP_EXPANDER_H_

#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "inlier/v1/trial_spec.pb.h"
#include "proto/spec/sweep_grid.h"

namespace inlier {

struct ExpandedTrial {
  std::uint64_t point = 0;
  std::vector<std::pair<std::string, std::string>> labels;  // Axis name -> label.
  absl::Status problem;   // Not OK: the trial can never run; the fingerprints are then empty.
  v1::TrialSpec spec;     // Resolved; as the grid gave it when that failed.
  std::string spec_json;  // ResolvedJson of `spec`.
  std::string train_fingerprint;
  std::string evaluate_fingerprint;
};

// {"gamma": "-0.03"} as the store keeps labels.
std::string LabelsJson(const std::vector<std::pair<std::string, std::string>>& labels);
// The inverse; empty when `json` is not an object of strings.
std::vector<std::pair<std::string, std::string>> LabelsFromJson(const std::string& json);

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

  const SweepGrid& grid() const { return grid_; }
  // Index from which Next() goes on; the grid's size when it is exhausted.
  std::uint64_t next_point() const { return next_point_; }
  bool exhausted() const { return next_point_ >= grid_.size(); }

 private:
  SweepGrid grid_;
  std::uint64_t next_point_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_SWEEP_EXPANDER_H_
