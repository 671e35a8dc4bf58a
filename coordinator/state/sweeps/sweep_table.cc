#include "coordinator/state/sweeps/sweep_table.h"

#include <algorithm>
#include <utility>

namespace inlier {

Sweep& SweepTable::Add(Sweep sweep) {
  newest_by_name_[sweep.spec.name()][sweep.owner] = sweep.id;
  return IdTable::Add(std::move(sweep));
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
  for (auto at = end(); at != begin() && names.size() < max;) names.push_back((--at)->spec.name());
  return names;
}

std::optional<SweepId> SweepTable::FindRequest(std::string_view request_id) const {
  const auto at = by_request_.find(std::string(request_id));
  return at == by_request_.end() ? std::nullopt : std::optional<SweepId>(at->second);
}

}  // namespace inlier
