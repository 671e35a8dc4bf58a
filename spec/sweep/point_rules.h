// Which points of a grid exist: its conditions (`when`) and exclusions, and a search that visits the points in order.
//
// The search tries digits axis by axis, up to where a rule matches whole, within a budget of steps of some 10 ns.
//
//   std::uint64_t budget = 1'000'000;
//   rules.ForEach([&](const PointRules::Digits& digits) { ...; return true; }, &budget);
//
// Thread safety: immutable.
#ifndef INLIER_SPEC_SWEEP_POINT_RULES_H_
#define INLIER_SPEC_SWEEP_POINT_RULES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace inlier {

class PointRules {
 public:
  using Digits = std::vector<std::uint32_t>;
  // Returns false to stop.
  using Visitor = std::function<bool(const Digits& digits)>;

  // Digits of one axis that a condition or an exclusion names.
  struct DigitSet {
    int axis = 0;
    Digits digits;                // Ascending, each once.
    bool where_inactive = false;  // Also where the axis does not apply.
  };
  struct Axis {
    std::uint32_t length = 1;
    std::vector<DigitSet> when;  // It applies where all match; these name earlier axes.
  };
  using Exclusion = std::vector<DigitSet>;  // There is no point where all match.

  // REQUIRES: no exclusion is empty, and no length is 0.
  PointRules(std::vector<Axis> axes, const std::vector<Exclusion>& exclusions);
  PointRules(const PointRules&) = delete;
  PointRules& operator=(const PointRules&) = delete;

  // Conditions and exclusions; 0 where every combination is a point.
  std::uint64_t size() const { return size_; }

  // True for each axis that applies.
  std::vector<bool> Active(const Digits& digits) const;

  // True for a point; fills `active`. The digit of an axis that does not apply must be 0, unless `any_inactive_digit`.
  bool Contains(const Digits& digits, std::vector<bool>* active, bool any_inactive_digit = false) const;

  // Visits the points in the order of their digits. Subtracts its steps from `*budget`, and ends early at 0.
  void ForEach(const Visitor& visit, std::uint64_t* budget) const;

  // The first point at which each axis of `wanted` applies and has one of its digits. Subtracts its steps from
  // `*budget`; nullopt also when that reaches 0.
  std::optional<Digits> First(const std::vector<DigitSet>& wanted, std::uint64_t* budget) const;

 private:
  class Search;

  // The digit "does not apply" is the length of the axis. Terms of an exclusion are ascending by axis, each axis once.
  struct Term {
    int axis = 0;
    Digits digits;
  };

  // The terms of an exclusion that have not matched yet.
  struct Rest {
    const Term* next;
    const Term* last;
  };
  // Ascending by the digit that `next` has to have.
  using Named = std::vector<std::pair<std::uint32_t, Rest>>;
  static std::pair<Named::const_iterator, Named::const_iterator> With(const Named& named,
                                                                      std::uint32_t digit);

  std::vector<Axis> axes_;
  std::vector<std::vector<Term>> exclusions_;
  std::vector<Named> begins_;  // By axis: the exclusions that name it first.
  std::vector<bool> ruled_;    // By axis: it has a condition, or a rule names it.
  std::uint64_t size_ = 0;
};

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_POINT_RULES_H_
