#include "coordinator/state/lease_table.h"

#include "base/check.h"

namespace inlier {

void LeaseTable::Grant(std::uint64_t token, const std::string& worker, std::uint32_t slot, Timestamp now) {
  const Timestamp ends = now + term_;
  INLIER_CHECK(leases_.emplace(token, Lease{token, worker, slot, ends}).second);
  INLIER_CHECK(by_worker_[worker].emplace(slot, token).second);
  by_end_.emplace(ends, token);
}

int LeaseTable::Renew(const std::string& worker, Timestamp now) {
  const auto held = by_worker_.find(worker);
  if (held == by_worker_.end()) return 0;
  for (const auto& [slot, token] : held->second) {
    Lease& lease = leases_.at(token);
    const Timestamp ends = now + term_;
    if (ends <= lease.ends) continue;
    by_end_.erase({lease.ends, token});
    lease.ends = ends;
    by_end_.emplace(ends, token);
  }
  return static_cast<int>(held->second.size());
}

void LeaseTable::Erase(std::map<std::uint64_t, Lease>::iterator at) {
  const Lease& lease = at->second;
  by_end_.erase({lease.ends, lease.token});
  const auto held = by_worker_.find(lease.worker);
  held->second.erase(lease.slot);
  if (held->second.empty()) by_worker_.erase(held);
  leases_.erase(at);
}

void LeaseTable::End(std::uint64_t token) {
  const auto at = leases_.find(token);
  INLIER_CHECK(at != leases_.end());
  Erase(at);
}

std::vector<Lease> LeaseTable::Expire(Timestamp now) {
  std::vector<Lease> ended;
  while (!by_end_.empty() && by_end_.begin()->first <= now) {
    const auto at = leases_.find(by_end_.begin()->second);
    ended.push_back(at->second);
    Erase(at);
  }
  return ended;
}

const Lease* LeaseTable::Find(std::uint64_t token) const {
  const auto at = leases_.find(token);
  return at == leases_.end() ? nullptr : &at->second;
}

std::vector<std::uint64_t> LeaseTable::HeldBy(const std::string& worker) const {
  std::vector<std::uint64_t> tokens;
  const auto held = by_worker_.find(worker);
  if (held == by_worker_.end()) return tokens;
  for (const auto& [slot, token] : held->second) tokens.push_back(token);
  return tokens;
}

std::optional<Timestamp> LeaseTable::NextDeadline() const {
  if (by_end_.empty()) return std::nullopt;
  return by_end_.begin()->first;
}

}  // namespace inlier
