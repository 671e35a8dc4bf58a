// The points of a sweep when another specification replaces its own: kept, moved, withdrawn.
//
// A point is identified by its value on each axis (label and patch), over the same base. So the mapping is made axis
// by axis, and costs the values of the axes, not their product. Axes may change their order, and conditions and
// exclusions may change: a point stays when it is a point of both grids and the same axes apply to it; where its
// training starts from another point's, that one must stay too.
//
//   ASSIGN_OR_RETURN(const SweepEdit edit, SweepEdit::Create(old_spec, old_grid, new_spec, new_grid));
//   edit.NewIndex(index)   // Where the old point is now; nullopt: it has left.
//
// Memory: O(values of the axes). Thread safety: const after Create.
#ifndef INLIER_SPEC_SWEEP_SWEEP_EDIT_H_
#define INLIER_SPEC_SWEEP_SWEEP_EDIT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

class SweepEdit {
 public:
  // FailedPrecondition, with the place and the remedy, where name, base, ties, pruning, the names of the axes or the points
  // of a sampled sweep differ. REQUIRES: the grids are those of the specifications.
  static absl::StatusOr<SweepEdit> Create(const v1::SweepSpec& from, SweepGrid from_grid,
                                          const v1::SweepSpec& to, SweepGrid to_grid);

  // Index in the new grid of the point with this index in the old one; nullopt when it has left.
  std::optional<std::uint64_t> NewIndex(std::uint64_t old_index) const;

  // Points that are in both; nullopt where counting takes too long: more than kCountedMax points with conditions or
  // exclusions, or trainings that start from those of other points.
  std::optional<std::uint64_t> common() const { return common_; }

  // Every old point is a new one under the same index, and every new one lies behind the old grid: values were added
  // to the end of the first axis, or the grid is the same.
  bool only_appends() const { return only_appends_; }

  const SweepGrid& to() const { return to_; }

 private:
  SweepEdit(SweepGrid from, SweepGrid to) : from_(std::move(from)), to_(std::move(to)) {}

  static constexpr std::uint64_t kCountedMax = 100'000;  // Some 50 ms.
  std::uint64_t CountCommon() const;
  // NewIndex without regard to the point whose training it starts from.
  std::optional<std::uint64_t> NewIndexAlone(std::uint64_t old_index) const;

  static constexpr std::uint32_t kGone = 0xffffffffu;

  SweepGrid from_;
  SweepGrid to_;
  std::vector<int> axis_of_;  // Old axis -> new axis.
  std::vector<std::vector<std::uint32_t>>
      digit_of_;  // Old axis, old digit -> digit on the new axis, or kGone.
  std::optional<std::uint64_t> common_;
  bool only_appends_ = false;
};

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_SWEEP_EDIT_H_
