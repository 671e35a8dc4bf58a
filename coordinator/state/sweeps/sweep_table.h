// The sweeps, by id, by name and by the request that submitted them. One that a user removed keeps its id, and has no name.
#ifndef INLIER_COORDINATOR_STATE_SWEEPS_SWEEP_TABLE_H_
#define INLIER_COORDINATOR_STATE_SWEEPS_SWEEP_TABLE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "coordinator/state/id_table.h"
#include "coordinator/state/sweeps/sweep.h"
#include "coordinator/store/ids.h"

namespace inlier {

class SweepTable : private IdTable<SweepId, Sweep> {
 public:
  using IdTable::at, IdTable::begin, IdTable::contains, IdTable::end, IdTable::NextId, IdTable::size;

  // REQUIRES: its id is NextId(); its owner does not change.
  Sweep& Add(Sweep sweep);
  // Looks for the newest sweep of this name and owner again: one was renamed, removed or restored.
  void FindAgain(const std::string& name, const std::string& owner);

  // The newest sweep of this name: of `owner` where it has one, else of anyone.
  std::optional<SweepId> FindNewest(std::string_view name, const std::string& owner) const;
  // The newest of this name of each owner, by owner; null where there is none.
  const std::map<std::string, SweepId>* NewestByOwner(std::string_view name) const;
  // The newest removed sweep of this name, as FindNewest.
  std::optional<SweepId> FindRemoved(std::string_view name, const std::string& owner) const;
  // Names of the newest sweeps, at most `max`.
  std::vector<std::string> NewestNames(std::size_t max) const;

  void RememberRequest(const Sweep& sweep) { by_request_[sweep.submission.request_id] = sweep.id; }
  std::optional<SweepId> FindRequest(std::string_view request_id) const;

 private:
  absl::flat_hash_map<std::string, std::map<std::string, SweepId>> newest_by_name_;  // By name and owner.
  absl::flat_hash_map<std::string, SweepId> by_request_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_SWEEPS_SWEEP_TABLE_H_
