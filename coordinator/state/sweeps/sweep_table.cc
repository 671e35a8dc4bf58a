#include "coordinator/state/sweeps/sweep_table.h"

#include <algorithm>
#include <utility>

namespace inlier {

Sweep& SweepTable::Add(Sweep sweep) {
  if (!sweep.order.removed) newest_by_name_[sweep.spec.name()][sweep.owner] = sweep.id;
  return IdTable::Add(std::move(sweep));
}

void SweepTable::FindAgain(const std::string& name, const std::string& owner) {
  std::map<std::string, SweepId>& by_owner = newest_by_name_[name];
  by_owner.erase(owner);
  for (const Sweep& sweep : *this) {
    if (sweep.spec.name() == name && sweep.owner == owner && !sweep.order.removed) by_owner[owner] = sweep.id;
  }
  if (by_owner.empty()) newest_by_name_.erase(name);
}

std::optional<SweepId> SweepTable::FindRemoved(std::string_view name, const std::string& owner) const {
  std::optional<SweepId> found;
  for (const Sweep& sweep : *this) {
    if (sweep.spec.name() != name || !sweep.order.removed) continue;
    const bool foreign = sweep.owner != owner && !owner.empty();
    if (!foreign || !found || at(*found).owner != owner) found = sweep.id;
  }
  return found;
}

std::optional<SweepId> SweepTable::FindNewest(std::string_view name, const std::string& owner) const {
  const auto* const by_owner = NewestByOwner(name);
  if (by_owner == nullptr) return std::nullopt;
  if (const auto own = by_owner->find(owner); own != by_owner->end() && !owner.empty()) return own->second;
  return std::ranges::max_element(*by_owner, [](const auto& a, const auto& b) { return a.second < b.second; })
      ->second;
}

const std::map<std::string, SweepId>* SweepTable::NewestByOwner(std::string_view name) const {
  const auto at = newest_by_name_.find(std::string(name));
  return at == newest_by_name_.end() ? nullptr : &at->second;
}

std::vector<std::string> SweepTable::NewestNames(std::size_t max) const {
  std::vector<std::string> names;
  for (auto at = end(); at != begin() && names.size() < max;) {
    if (!(--at)->order.removed) names.push_back(at->spec.name());
  }
  return names;
}

std::optional<SweepId> SweepTable::FindRequest(std::string_view request_id) const {
  const auto at = by_request_.find(std::string(request_id));
  return at == by_request_.end() ? std::nullopt : std::optional<SweepId>(at->second);
}

}  // namespace inlier
