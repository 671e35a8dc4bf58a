// Turns the points of a sweep's grid into trials, a bounded number at a time.
//
// A grid of 10^9 points costs its axes; trials are made as they come near dispatch. A point whose spec cannot
// be resolved or is invalid still becomes a trial: one that has failed, with the reason.
//
// Next() is a pure function of the grid and the position.
#ifndef INLIER_COORDINATOR_STATE_SWEEPS_SWEEP_EXPANDER_H_
#define INLIER_COORDINATOR_STATE_SWEEPS_SWEEP_EXPANDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/arena.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/trial/validator.h"

namespace inlier {

// Data by which a stage is found or made.
struct StagePart {
  std::string fingerprint;
  std::string spec;  // Its part of the resolved TrialSpec, serialised (canonical.h).
  std::string json;  // The same as JSON.
  std::shared_ptr<const std::string>
      names;            // DataSourceNames; null for an evaluation without files of its own.
  std::string version;  // TRAIN of a program: the digest of its source, hexadecimal.
  bool asks_first =
      false;  // TRAIN: it begins once a worker has found its data, which not every worker may have.
};

struct ExpandedTrial {
  std::uint64_t point = 0;
  PointLabels labels;
  // The resolved spec of a trial whose training starts from another one of this coordinator: it has no `train` and
  // `evaluate` until SweepExpander::SetStart.
  std::shared_ptr<v1::TrialSpec> unlinked;
  std::optional<std::uint64_t> start_point;  // With training.start_from.point: the index of that point.
  absl::Status problem;                      // Not OK: the trial can never run and has no stages.
  std::shared_ptr<const StagePart> train;    // Of several trials, where consecutive ones share it.
  StagePart evaluate;
  std::string spec_json;    // With `problem`: the TrialSpec as the grid gave it.
  std::uint32_t steps = 0;  // Updates of its training; 0 where it counts epochs.
};

class SweepExpander {
 public:
  // Continues at index `next_point` of the grid.
  SweepExpander(SweepGrid grid, std::uint64_t next_point);

  // The next trials, at most `limit`; fewer at the end of the grid, or when `pass_limit` points of `taken`,
  // which have a trial already, have been skipped. They are removed from `taken`.
  std::vector<ExpandedTrial> Next(std::uint64_t limit, std::unordered_set<std::uint64_t>& taken,
                                  std::uint64_t pass_limit);
  std::vector<ExpandedTrial> Next(std::uint64_t limit) {
    std::unordered_set<std::uint64_t> none;
    return Next(limit, none, 0);
  }

  // The training of `trial` starts from the one with this fingerprint. REQUIRES: trial.unlinked.
  void SetStart(ExpandedTrial& trial, const std::string& training);

  // Goes back to `point`, which is one of the latest Next(): the points after it come again, and those of them
  // that Next() removed from `taken` are put back.
  void ReturnTo(std::uint64_t point, std::unordered_set<std::uint64_t>& taken);

  const SweepGrid& grid() const { return grid_; }
  // Index from which Next() continues; the grid's decided() when it is exhausted.
  std::uint64_t next_point() const { return next_point_; }
  bool exhausted() const { return next_point_ >= grid_.decided(); }

 private:
  // DataSourceNames(source); that of the latest one where the two agree.
  const std::shared_ptr<const std::string>& NamesOf(const v1::TrialSpec& source);
  // Resets `arena` and makes the spec in it.
  void Make(std::uint64_t point, google::protobuf::Arena& arena, ExpandedTrial& trial);
  // Fills the parts of `trial`.
  void SetParts(const v1::TrialSpec& spec, ExpandedTrial& trial);

  SweepGrid grid_;
  std::uint64_t next_point_;
  SeriesValidator validator_;
  std::shared_ptr<const StagePart> latest_train_;
  std::string latest_source_;  // The latest of NamesOf, serialised.
  std::shared_ptr<const std::string> latest_names_;
  std::vector<std::uint64_t> passed_;  // Points that the latest Next() skipped.
  std::unique_ptr<char[]> arena_block_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_SWEEPS_SWEEP_EXPANDER_H_
