#include "coordinator/orchestration/spec_pool.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace inlier {

std::uint32_t SpecPool::TextOf(std::string_view text, std::uint32_t guess) {
  if (text.empty()) return 0;
  if (guess != 0 && texts_[guess - 1].users > 0 && texts_[guess - 1].value == text) return guess;
  if (const auto known = number_of_text_.find(text); known != number_of_text_.end()) return known->second;
  std::uint32_t number = 0;
  if (free_texts_.empty()) {
    texts_.emplace_back();
    number = static_cast<std::uint32_t>(texts_.size());
  } else {
    number = free_texts_.back();
    free_texts_.pop_back();
  }
  texts_[number - 1].value = text;
  number_of_text_.emplace(texts_[number - 1].value, number);
  return number;
}

std::uint32_t SpecPool::GroupsOf(const Groups& groups) {
  const auto [known, is_new] = number_of_groups_.try_emplace(groups, 0);
  if (!is_new) return known->second;
  for (const std::uint32_t text : groups) {
    if (text != 0) ++texts_[text - 1].users;
  }
  if (free_groups_.empty()) {
    known->second = static_cast<std::uint32_t>(groups_.size());
    groups_.emplace_back();
  } else {
    known->second = free_groups_.back();
    free_groups_.pop_back();
  }
  groups_[known->second] = {groups, 0};
  return known->second;
}

SpecHandle SpecPool::Add(std::string_view packed) {
  PackedParts parts = SplitPacked(packed);
  if (parts.seed.size() > kSeedMax) parts.rest += std::exchange(parts.seed, "");
  Groups groups{};
  for (std::size_t i = 0; i < parts.groups.size(); ++i) groups[i] = TextOf(parts.groups[i], latest_[i]);
  groups.back() = TextOf(parts.rest, latest_.back());
  latest_ = groups;
  Spec spec;
  spec.groups = GroupsOf(groups);
  ++groups_[spec.groups].users;
  spec.users = 1;
  spec.seed_size = static_cast<std::uint16_t>(parts.seed.size());
  std::copy(parts.seed.begin(), parts.seed.end(), spec.seed);
  if (free_.empty()) {
    specs_.push_back(spec);
    return static_cast<SpecHandle>(specs_.size());
  }
  const SpecHandle handle = free_.back();
  free_.pop_back();
  specs_[handle - 1] = spec;
  return handle;
}

SpecHandle SpecPool::Share(SpecHandle handle) {
  Spec& spec = specs_.at(handle - 1);
  INLIER_CHECK(spec.users > 0);
  if (spec.users == std::numeric_limits<std::uint16_t>::max()) return Add(Get(handle));
  ++spec.users;
  return handle;
}

void SpecPool::Release(SpecHandle handle) {
  if (handle == kNoSpec) return;
  Spec& spec = specs_.at(handle - 1);
  INLIER_CHECK(spec.users > 0);
  if (--spec.users > 0) return;
  free_.push_back(handle);
  Counted<Groups>& groups = groups_[spec.groups];
  if (--groups.users > 0) return;
  number_of_groups_.erase(groups.value);
  free_groups_.push_back(spec.groups);
  for (const std::uint32_t number : groups.value) {
    if (number == 0 || --texts_[number - 1].users > 0) continue;
    number_of_text_.erase(texts_[number - 1].value);
    texts_[number - 1].value = std::string();
    free_texts_.push_back(number);
  }
}

std::string SpecPool::Get(SpecHandle handle) const {
  const Spec& spec = specs_.at(handle - 1);
  INLIER_CHECK(spec.users > 0);
  const Groups& groups = groups_[spec.groups].value;
  std::size_t size = spec.seed_size;
  for (const std::uint32_t number : groups) size += number == 0 ? 0 : texts_[number - 1].value.size();
  std::string packed;
  packed.reserve(size);
  packed.append(spec.seed, spec.seed_size);
  for (const std::uint32_t number : groups) {
    if (number != 0) packed += texts_[number - 1].value;
  }
  return packed;
}

}  // namespace inlier
