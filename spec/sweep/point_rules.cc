#include "spec/sweep/point_rules.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace inlier {
namespace {

using Digits = PointRules::Digits;

bool Has(const Digits& digits, std::uint32_t digit) {
  return std::binary_search(digits.begin(), digits.end(), digit);
}

Digits Both(const Digits& a, const Digits& b) {
  Digits both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

template <typename Named>
void Sort(Named& named) {
  std::ranges::sort(named, [](const auto& a, const auto& b) { return a.first < b.first; });
}

bool Applies(const PointRules::Axis& axis, const Digits& digits, const std::vector<bool>& active) {
  return std::ranges::all_of(axis.when, [&](const PointRules::DigitSet& set) {
    const auto on = static_cast<std::size_t>(set.axis);
    return active[on] ? Has(set.digits, digits[on]) : set.where_inactive;
  });
}

}  // namespace

PointRules::PointRules(std::vector<Axis> axes, const std::vector<Exclusion>& exclusions)
    : axes_(std::move(axes)), begins_(axes_.size()), ruled_(axes_.size()) {
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    size_ += axes_[axis].when.size();
    if (!axes_[axis].when.empty()) ruled_[axis] = true;
    for (const DigitSet& set : axes_[axis].when) ruled_[static_cast<std::size_t>(set.axis)] = true;
  }
  size_ += exclusions.size();
  for (const Exclusion& exclusion : exclusions) {
    std::map<int, Digits> by_axis;  // An exclusion may name an axis twice, by its name and by its field.
    for (const DigitSet& set : exclusion) {
      const auto axis = static_cast<std::size_t>(set.axis);
      ruled_[axis] = true;
      Digits digits = set.digits;
      if (set.where_inactive) digits.push_back(axes_[axis].length);
      const auto [at, is_new] = by_axis.try_emplace(set.axis, digits);
      if (!is_new) at->second = Both(at->second, digits);
    }
    std::vector<Term>& terms = exclusions_.emplace_back();
    for (auto& [axis, digits] : by_axis) terms.push_back({axis, std::move(digits)});
  }
  for (const std::vector<Term>& terms : exclusions_) {
    Named& begins = begins_[static_cast<std::size_t>(terms.front().axis)];
    for (const std::uint32_t digit : terms.front().digits)
      begins.emplace_back(digit, Rest{&terms.front(), &terms.back()});
  }
  for (Named& begins : begins_) Sort(begins);
}

std::pair<PointRules::Named::const_iterator, PointRules::Named::const_iterator> PointRules::With(
    const Named& named, std::uint32_t digit) {
  const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
  return std::equal_range(named.begin(), named.end(), std::pair(digit, Rest()), before);
}

std::vector<bool> PointRules::Active(const Digits& digits) const {
  std::vector<bool> active(axes_.size(), true);
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) active[axis] = Applies(axes_[axis], digits, active);
  return active;
}

bool PointRules::Contains(const Digits& digits, std::vector<bool>* active, bool any_inactive_digit) const {
  *active = Active(digits);
  const auto digit_of = [&](std::size_t axis) { return (*active)[axis] ? digits[axis] : axes_[axis].length; };
  const auto matches = [&](const Term& term) {
    return Has(term.digits, digit_of(static_cast<std::size_t>(term.axis)));
  };
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (!(*active)[axis] && digits[axis] != 0 && !any_inactive_digit) return false;
    const auto [begin, end] = With(begins_[axis], digit_of(axis));
    if (std::any_of(begin, end, [&](const auto& one) {
          return std::all_of(one.second.next + 1, one.second.last + 1, matches);
        }))
      return false;
  }
  return true;
}

// Axis after axis, with the exclusions of which every term so far has matched.
class PointRules::Search {
 public:
  Search(const PointRules& rules, const Visitor& visit, std::uint64_t* budget)
      : rules_(rules),
        visit_(visit),
        budget_(budget),
        allowed_(rules.axes_.size()),
        digits_(rules.axes_.size()),
        active_(rules.axes_.size(), true) {}

  // The axis has to apply, with one of these digits.
  void Want(const DigitSet& set) {
    std::optional<Digits>& allowed = allowed_[static_cast<std::size_t>(set.axis)];
    allowed = allowed ? Both(*allowed, set.digits) : set.digits;
  }

  // With `one_of_alike` tries the first digit alone of an axis that is neither ruled nor wanted.
  void Run(bool one_of_alike) {
    // An axis that has to apply needs the earlier ones that its conditions name.
    for (std::size_t axis = allowed_.size(); axis-- > 0;) {
      if (!allowed_[axis]) continue;
      for (const DigitSet& set : rules_.axes_[axis].when) {
        if (!set.where_inactive) Want(set);
      }
    }
    for (std::size_t axis = 0; axis < allowed_.size(); ++axis) {
      if (allowed_[axis] && allowed_[axis]->empty()) return;
      if (!one_of_alike || rules_.ruled_[axis] || allowed_[axis]) order_.push_back(axis);
    }
    Descend(0, {});
  }

 private:
  bool Spend(std::uint64_t steps) {
    *budget_ -= std::min(*budget_, steps);
    return *budget_ > 0;
  }

  // `open` are exclusions of which all terms so far have matched. False to stop.
  bool Descend(std::size_t place, const std::vector<Rest>& open) {
    if (place == order_.size()) return visit_(digits_);
    const std::size_t axis = order_[place];
    const Axis& rule = rules_.axes_[axis];
    if (!Spend(1 + rule.when.size() + open.size())) return false;
    active_[axis] = Applies(rule, digits_, active_);
    std::vector<Rest> later;  // Rests that do not name this axis.
    Named named;
    for (const Rest& exclusion : open) {
      if (static_cast<std::size_t>(exclusion.next->axis) != axis) {
        later.push_back(exclusion);
        continue;
      }
      if (!Spend(exclusion.next->digits.size())) return false;
      for (const std::uint32_t digit : exclusion.next->digits) named.emplace_back(digit, exclusion);
    }
    Sort(named);
    if (!active_[axis]) {
      digits_[axis] = 0;
      return allowed_[axis] || Try(place, rule.length, later, named);
    }
    const std::uint32_t count =
        allowed_[axis] ? static_cast<std::uint32_t>(allowed_[axis]->size()) : rule.length;
    for (std::uint32_t i = 0; i < count; ++i) {
      digits_[axis] = allowed_[axis] ? (*allowed_[axis])[i] : i;
      if (!Try(place, digits_[axis], later, named)) return false;
    }
    return true;
  }

  // Continues with a digit, unless it completes an exclusion. False to stop.
  bool Try(std::size_t place, std::uint32_t digit, const std::vector<Rest>& later, const Named& named) {
    const auto [begin, end] = With(rules_.begins_[order_[place]], digit);
    const auto [named_begin, named_end] = With(named, digit);
    if (!Spend(1 + static_cast<std::uint64_t>(end - begin))) return false;
    if (begin == end && named_begin == named_end) return Descend(place + 1, later);
    std::vector<Rest> open = later;
    const auto completes = [&open](const std::pair<std::uint32_t, Rest>& one) {
      open.push_back({one.second.next + 1, one.second.last});
      return one.second.next == one.second.last;
    };
    if (std::any_of(begin, end, completes) || std::any_of(named_begin, named_end, completes)) return true;
    return Descend(place + 1, open);
  }

  const PointRules& rules_;
  const Visitor& visit_;
  std::uint64_t* budget_;
  std::vector<std::optional<Digits>> allowed_;  // By axis.
  std::vector<std::size_t> order_;              // Axes that are tried, ascending.
  Digits digits_;
  std::vector<bool> active_;
};

void PointRules::ForEach(const Visitor& visit, std::uint64_t* budget) const {
  Search(*this, visit, budget).Run(/*one_of_alike=*/false);
}

std::optional<Digits> PointRules::First(const std::vector<DigitSet>& wanted, std::uint64_t* budget) const {
  std::optional<Digits> found;
  const Visitor keep = [&found](const Digits& digits) {
    found = digits;
    return false;
  };
  Search search(*this, keep, budget);
  for (const DigitSet& set : wanted) search.Want(set);
  search.Run(/*one_of_alike=*/true);
  return found;
}

}  // namespace inlier
