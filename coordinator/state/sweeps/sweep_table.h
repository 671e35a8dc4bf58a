// The sweeps, by id, by name and by the request that submitted them. Sweeps are never removed.
//
// Thread safety: none.
#ifndef INLIER_COORDINATOR_STATE_SWEEPS_SWEEP_TABLE_H_
#define INLIER_COORDINATOR_STATE_SWEEPS_SWEEP_TABLE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "coordinator/state/sweeps/sweep.h"
#include "coordinator/store/ids.h"

namespace inlier {

class SweepTable {
 public:
  // The id of the next sweep: they count from 1.
  SweepId NextId() const { return SweepId(static_cast<std::int64_t>(sweeps_.size()) + 1); }
  // REQUIRES: its id is NextId(); its name and owner do not change.
  Sweep& Add(Sweep sweep);

  std::size_t size() const { return sweeps_.size(); }
  bool contains(SweepId id) const { return sweeps_.contains(id); }
  // REQUIRES: it exists.
  Sweep& at(SweepId id) { return sweeps_.at(id); }
  const Sweep& at(SweepId id) const { return sweeps_.at(id); }
  // Oldest first.
  const std::map<SweepId, Sweep>& all() const { return sweeps_; }

  // The newest sweep of this name: of `owner` where it has one, else of anyone.
  std::optional<SweepId> FindNewest(std::string_view name, const std::string& owner) const;
  // The newest of this name of each owner, by owner; null where there is none.
  const std::map<std::string, SweepId>* NewestByOwner(std::string_view name) const;
  // Names of the newest sweeps, at most `max`.
  std::vector<std::string> NewestNames(std::size_t max) const;

  // From now on FindRequest finds the sweep by its request_id.
  void RememberRequest(const Sweep& sweep) { by_request_[sweep.submission.request_id] = sweep.id; }
  std::optional<SweepId> FindRequest(std::string_view request_id) const;

 private:
  std::map<SweepId, Sweep> sweeps_;
  absl::flat_hash_map<std::string, std::map<std::string, SweepId>> newest_by_name_;  // By name and owner.
  absl::flat_hash_map<std::string, SweepId> by_request_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_SWEEPS_SWEEP_TABLE_H_
