#include "spec/sweep/point_diagram.h"

#include <algorithm>
#include <map>

namespace inlier {
namespace {

std::uint64_t Capped(unsigned __int128 value) {
  return static_cast<std::uint64_t>(std::min<unsigned __int128>(value, PointDiagram::kCountMax));
}

// Subtracts one step; false when none is left.
bool Spend(std::uint64_t* budget) {
  if (*budget == 0) return false;
  --*budget;
  return true;
}

}  // namespace

PointDiagram::NodeId PointDiagram::Child(NodeId node, std::uint32_t digit) const {
  const Edge* const end = End(node);
  const Edge* const at = std::lower_bound(
      Begin(node), end, digit, [](const Edge& edge, std::uint32_t value) { return edge.digit < value; });
  return Alive(at != end && at->digit == digit ? at->to : nodes_[node].otherwise);
}

std::optional<std::pair<std::uint32_t, PointDiagram::NodeId>> PointDiagram::Smallest(
    std::size_t axis, NodeId node, std::uint64_t from) const {
  const Edge* const end = End(node);
  const Edge* at = std::lower_bound(Begin(node), end, from,
                                    [](const Edge& edge, std::uint64_t value) { return edge.digit < value; });
  const NodeId otherwise = Alive(nodes_[node].otherwise);
  for (std::uint64_t digit = from; digit < lengths_[axis];) {
    const bool listed = at != end && at->digit == digit;
    const NodeId to = listed ? Alive(at->to) : otherwise;
    if (to != kNone) return std::pair(static_cast<std::uint32_t>(digit), to);
    if (listed) {
      ++at;
      ++digit;
    } else if (at == end) {
      return std::nullopt;
    } else {
      digit = at->digit;
    }
  }
  return std::nullopt;
}

void PointDiagram::FillFrom(std::size_t axis, NodeId node, Digits& digits) const {
  for (; axis < axes(); ++axis) {
    if (const NodeId skipped = Inactive(axis, node); skipped != kNone) {
      digits[axis] = 0;
      node = skipped;
      continue;
    }
    digits[axis] = nodes_[node].smallest;
    node = Child(node, digits[axis]);
  }
}

bool PointDiagram::Contains(const Digits& digits, std::vector<bool>* active, bool any_inactive_digit) const {
  active->assign(axes(), false);
  NodeId node = Alive(kRoot);
  for (std::size_t axis = 0; axis < axes() && node != kNone; ++axis) {
    if (const NodeId skipped = Inactive(axis, node); skipped != kNone) {
      if (digits[axis] != 0 && !any_inactive_digit) return false;
      node = skipped;
      continue;
    }
    (*active)[axis] = true;
    node = Child(node, digits[axis]);
  }
  return node != kNone;
}

std::optional<PointDiagram::Digits> PointDiagram::Next(const Digits& from) const {
  if (count() == 0) return std::nullopt;
  std::vector<NodeId> path = {kRoot};
  while (path.size() <= axes()) {
    const std::size_t axis = path.size() - 1;
    const NodeId skipped = Inactive(axis, path.back());
    const NodeId to = skipped == kNone ? Child(path.back(), from[axis]) : from[axis] == 0 ? skipped : kNone;
    if (to == kNone) break;
    path.push_back(to);
  }
  if (path.size() > axes()) return from;
  // The last axis whose digit can grow; all after it start again.
  for (std::size_t axis = path.size(); axis-- > 0;) {
    if (Inactive(axis, path[axis]) != kNone) continue;
    const auto next = Smallest(axis, path[axis], std::uint64_t{from[axis]} + 1);
    if (!next) continue;
    Digits digits = from;
    digits[axis] = next->first;
    FillFrom(axis + 1, next->second, digits);
    return digits;
  }
  return std::nullopt;
}

std::optional<PointDiagram::Digits> PointDiagram::FirstWith(int axis, std::uint32_t digit,
                                                            std::uint64_t* budget) const {
  const auto at = static_cast<std::size_t>(axis);
  // Nodes of an axis are in the order of the first digits that lead to them.
  for (NodeId node = first_node_[at]; node < first_node_[at + 1]; ++node) {
    if (!Spend(budget)) return std::nullopt;
    const NodeId to = Child(node, digit);
    if (to == kNone) continue;
    Digits digits(axes());
    digits[at] = digit;
    NodeId reached = node;
    for (std::size_t before = at; before-- > 0; reached = nodes_[reached].before)
      digits[before] = nodes_[reached].digit < lengths_[before] ? nodes_[reached].digit : 0;
    FillFrom(at + 1, to, digits);
    return digits;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> PointDiagram::AnyAlive(NodeId node, const Digits& digits,
                                                    std::uint64_t* budget) const {
  for (const std::uint32_t digit : digits) {
    if (!Spend(budget)) return std::nullopt;
    if (Child(node, digit) != kNone) return digit;
  }
  return std::nullopt;
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> PointDiagram::Together(int a, const Digits& a_digits,
                                                                              int b, const Digits& b_digits,
                                                                              std::uint64_t* budget) const {
  const auto first = static_cast<std::size_t>(a), last = static_cast<std::size_t>(b);
  // By node, from axis a + 1 on: 1 + the digit of a by which it was reached first; 0: it was not.
  const NodeId base = first_node_[first + 1];
  std::vector<std::uint32_t> reached_by(first_node_[last + 1] - base);
  *budget -= std::min<std::uint64_t>(*budget, reached_by.size() / 16);
  const auto reach = [&](NodeId to, std::uint32_t digit) {
    if (Alive(to) != kNone && reached_by[to - base] == 0) reached_by[to - base] = 1 + digit;
  };
  for (NodeId node = first_node_[first]; node < base; ++node) {
    if (!Spend(budget)) return std::nullopt;
    for (const Edge* edge = Begin(node); edge != End(node); ++edge) {
      if (!Spend(budget)) return std::nullopt;
      if (std::binary_search(a_digits.begin(), a_digits.end(), edge->digit)) reach(edge->to, edge->digit);
    }
    for (const std::uint32_t digit : a_digits) {  // The first without an edge.
      if (!Spend(budget)) return std::nullopt;
      if (Child(node, digit) != Alive(nodes_[node].otherwise)) continue;
      reach(nodes_[node].otherwise, digit);
      break;
    }
  }
  for (NodeId node = base; node < first_node_[last]; ++node) {
    const std::uint32_t by = reached_by[node - base];
    if (by == 0) continue;
    if (!Spend(budget)) return std::nullopt;
    reach(nodes_[node].otherwise, by - 1);
    for (const Edge* edge = Begin(node); edge != End(node); ++edge) {
      if (!Spend(budget)) return std::nullopt;
      reach(edge->to, by - 1);
    }
  }
  for (NodeId node = first_node_[last]; node < first_node_[last + 1]; ++node) {
    const std::uint32_t by = reached_by[node - base];
    if (by == 0) continue;
    if (const auto digit = AnyAlive(node, b_digits, budget)) return std::pair(by - 1, *digit);
  }
  return std::nullopt;
}

void PointDiagram::CountPoints() {
  nodes_[kEnd].count = 1;
  if (axes() == 0) nodes_[kRoot].count = 1;
  for (std::size_t axis = axes(); axis-- > 0;) {
    const std::uint64_t digits = std::uint64_t{lengths_[axis]} + (conditional_[axis] ? 1 : 0);
    for (NodeId node = first_node_[axis]; node < first_node_[axis + 1]; ++node) {
      unsigned __int128 count =
          static_cast<unsigned __int128>(digits - nodes_[node].edges) * nodes_[nodes_[node].otherwise].count;
      for (const Edge* edge = Begin(node); edge != End(node); ++edge) count += nodes_[edge->to].count;
      nodes_[node].count = Capped(count);
      if (const auto smallest = Smallest(axis, node, 0)) nodes_[node].smallest = smallest->first;
    }
  }
}

std::optional<std::uint64_t> PointDiagram::CountCommon(const PointDiagram& other,
                                                       const std::vector<Digits>& digit_of,
                                                       std::uint32_t gone) const {
  std::vector<Digits> digit_back;      // By axis and digit of the other: the digit, or gone.
  std::vector<std::uint64_t> staying;  // By axis: digits that are in both.
  for (std::size_t axis = 0; axis < axes(); ++axis) {
    Digits& back = digit_back.emplace_back(other.lengths_[axis], gone);
    std::uint64_t& number = staying.emplace_back(0);
    for (std::uint32_t digit = 0; digit < lengths_[axis]; ++digit) {
      if (digit_of[axis][digit] == gone) continue;
      back[digit_of[axis][digit]] = digit;
      ++number;
    }
  }
  std::map<std::pair<NodeId, NodeId>, std::uint64_t> counted;
  std::uint64_t budget = kStepsMax;
  const auto count = [&](const auto& self, std::size_t axis, NodeId mine, NodeId theirs) -> std::uint64_t {
    if (mine == kNone || theirs == kNone || !Spend(&budget)) return 0;
    if (axis == axes()) return 1;
    const auto [known, is_new] = counted.try_emplace({mine, theirs}, 0);
    if (!is_new) return known->second;
    const NodeId skipped = Inactive(axis, mine), their_skipped = other.Inactive(axis, theirs);
    unsigned __int128 sum = 0;
    if (skipped != kNone || their_skipped != kNone) {
      sum = self(self, axis + 1, skipped, their_skipped);
    } else {
      std::uint64_t rest = staying[axis];
      const auto add = [&](std::uint32_t digit, std::uint32_t their_digit) {
        --rest;
        sum += self(self, axis + 1, Child(mine, digit), other.Child(theirs, their_digit));
      };
      for (const Edge* edge = Begin(mine); edge != End(mine); ++edge) {
        if (edge->digit < lengths_[axis] && digit_of[axis][edge->digit] != gone)
          add(edge->digit, digit_of[axis][edge->digit]);
      }
      for (const Edge* edge = other.Begin(theirs); edge != other.End(theirs); ++edge) {
        if (edge->digit >= other.lengths_[axis]) continue;
        const std::uint32_t digit = digit_back[axis][edge->digit];
        const auto by_digit = [](const Edge& x, const Edge& y) { return x.digit < y.digit; };
        if (digit != gone && !std::binary_search(Begin(mine), End(mine), Edge{digit, kNone}, by_digit))
          add(digit, edge->digit);
      }
      if (rest > 0) {
        sum += static_cast<unsigned __int128>(rest) * self(self, axis + 1, Alive(nodes_[mine].otherwise),
                                                           other.Alive(other.nodes_[theirs].otherwise));
      }
    }
    return counted[{mine, theirs}] = Capped(sum);
  };
  const std::uint64_t points = count(count, 0, Alive(kRoot), other.Alive(kRoot));
  return budget == 0 ? std::nullopt : std::optional(points);
}

}  // namespace inlier
