#include "spec/sweep/point_diagram.h"

#include <algorithm>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

using Digits = PointDiagram::Digits;
using DigitSet = PointDiagram::DigitSet;
using ::testing::HasSubstr;

// Axes and rules, and their meaning by the definition.
struct Rules {
  std::vector<PointDiagram::Axis> axes;
  std::vector<PointDiagram::Exclusion> exclusions;

  static bool Matches(const DigitSet& set, const Digits& digits, const std::vector<bool>& active) {
    const auto axis = static_cast<std::size_t>(set.axis);
    if (!active[axis]) return set.where_inactive;
    return std::find(set.digits.begin(), set.digits.end(), digits[axis]) != set.digits.end();
  }
  bool IsPoint(const Digits& digits, std::vector<bool>* active) const {
    active->assign(axes.size(), true);
    const auto matches = [&](const DigitSet& set) { return Matches(set, digits, *active); };
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      (*active)[axis] = std::all_of(axes[axis].when.begin(), axes[axis].when.end(), matches);
      if (!(*active)[axis] && digits[axis] != 0) return false;
    }
    return std::none_of(exclusions.begin(), exclusions.end(), [&](const PointDiagram::Exclusion& exclusion) {
      return std::all_of(exclusion.begin(), exclusion.end(), matches);
    });
  }
  std::vector<Digits> AllDigits() const {
    std::vector<Digits> all = {{}};
    for (const PointDiagram::Axis& axis : axes) {
      std::vector<Digits> longer;
      for (const Digits& digits : all) {
        for (std::uint32_t digit = 0; digit < axis.length; ++digit) {
          longer.push_back(digits);
          longer.back().push_back(digit);
        }
      }
      all = std::move(longer);
    }
    return all;
  }
  // With the axes that apply.
  std::vector<std::pair<Digits, std::vector<bool>>> Points() const {
    std::vector<std::pair<Digits, std::vector<bool>>> points;
    std::vector<bool> active;
    for (const Digits& digits : AllDigits()) {
      if (IsPoint(digits, &active)) points.emplace_back(digits, active);
    }
    return points;
  }
};

DigitSet RandomSet(std::mt19937& random, int axis, std::uint32_t length) {
  DigitSet set{.axis = axis, .digits = {}, .where_inactive = random() % 4 == 0};
  for (std::uint32_t digit = 0; digit < length; ++digit) {
    if (random() % 2 == 0) set.digits.push_back(digit);
  }
  return set;
}

Rules RandomRules(std::mt19937& random) {
  Rules rules;
  const int axes = 1 + static_cast<int>(random() % 5);
  for (int axis = 0; axis < axes; ++axis) {
    PointDiagram::Axis made{.length = 1 + static_cast<std::uint32_t>(random() % 4), .when = {}};
    for (unsigned i = 0; axis > 0 && i < random() % 3; ++i) {
      const int on = static_cast<int>(random() % static_cast<unsigned>(axis));
      made.when.push_back(RandomSet(random, on, rules.axes[static_cast<std::size_t>(on)].length));
    }
    rules.axes.push_back(std::move(made));
  }
  for (unsigned i = 0; i < random() % 5; ++i) {
    PointDiagram::Exclusion exclusion;
    for (unsigned j = 0; j <= random() % 3; ++j) {
      const int axis = static_cast<int>(random() % static_cast<unsigned>(axes));
      exclusion.push_back(RandomSet(random, axis, rules.axes[static_cast<std::size_t>(axis)].length));
    }
    rules.exclusions.push_back(std::move(exclusion));
  }
  return rules;
}

PointDiagram DiagramOf(const Rules& rules) {
  absl::StatusOr<PointDiagram> diagram = PointDiagram::Build(rules.axes, rules.exclusions);
  EXPECT_TRUE(diagram.ok()) << diagram.status();
  return *std::move(diagram);
}

TEST(PointDiagramTest, AgreesWithTheDefinitionPointByPoint) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(round);
    const Rules rules = RandomRules(random);
    const PointDiagram diagram = DiagramOf(rules);
    const auto points = rules.Points();
    ASSERT_EQ(diagram.count(), points.size());
    auto next = points.begin();
    for (const Digits& digits : rules.AllDigits()) {
      while (next != points.end() && next->first < digits) ++next;
      const std::optional<Digits> found = diagram.Next(digits);
      ASSERT_EQ(found.has_value(), next != points.end());
      if (found) {
        ASSERT_EQ(*found, next->first);
      }
      std::vector<bool> expected, active;
      const bool is_point = rules.IsPoint(digits, &expected);
      ASSERT_EQ(diagram.Contains(digits, &active), is_point);
      if (is_point) {
        ASSERT_EQ(active, expected);
      }
    }
  }
}

TEST(PointDiagramTest, FindsTheFirstPointWithADigitAndPairsThatOccurTogether) {
  std::mt19937 random(6);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const Rules rules = RandomRules(random);
    const PointDiagram diagram = DiagramOf(rules);
    const auto points = rules.Points();
    const auto axes = static_cast<int>(rules.axes.size());
    std::uint64_t budget = 1'000'000;
    for (int b = 0; b < axes; ++b) {
      const auto at_b = static_cast<std::size_t>(b);
      for (std::uint32_t digit = 0; digit < rules.axes[at_b].length; ++digit) {
        const auto expected = std::find_if(points.begin(), points.end(), [&](const auto& point) {
          return point.second[at_b] && point.first[at_b] == digit;
        });
        const std::optional<Digits> found = diagram.FirstWith(b, digit, &budget);
        ASSERT_EQ(found.has_value(), expected != points.end());
        if (found) {
          ASSERT_EQ(*found, expected->first);
        }
      }
      for (int a = 0; a < b; ++a) {
        const auto at_a = static_cast<std::size_t>(a);
        const Digits a_digits = RandomSet(random, a, rules.axes[at_a].length).digits;
        const Digits b_digits = RandomSet(random, b, rules.axes[at_b].length).digits;
        const auto together = [&](const auto& point) {
          return point.second[at_a] && point.second[at_b] &&
                 std::binary_search(a_digits.begin(), a_digits.end(), point.first[at_a]) &&
                 std::binary_search(b_digits.begin(), b_digits.end(), point.first[at_b]);
        };
        const auto found = diagram.Together(a, a_digits, b, b_digits, &budget);
        ASSERT_EQ(found.has_value(), std::any_of(points.begin(), points.end(), together));
        if (!found) continue;
        EXPECT_TRUE(std::any_of(points.begin(), points.end(), [&](const auto& point) {
          return together(point) && point.first[at_a] == found->first && point.first[at_b] == found->second;
        }));
      }
    }
    EXPECT_GT(budget, 0u);
  }
}

TEST(PointDiagramTest, CountsThePointsOfTwoDiagrams) {
  constexpr std::uint32_t kGone = 99;
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const Rules rules = RandomRules(random);
    Rules other = RandomRules(random);
    while (other.axes.size() != rules.axes.size()) other = RandomRules(random);
    std::vector<Digits> digit_of;
    for (std::size_t axis = 0; axis < rules.axes.size(); ++axis) {
      Digits theirs(std::max(rules.axes[axis].length, other.axes[axis].length), kGone);
      for (std::uint32_t digit = 0; digit < other.axes[axis].length; ++digit) theirs[digit] = digit;
      std::shuffle(theirs.begin(), theirs.end(), random);
      theirs.resize(rules.axes[axis].length);
      digit_of.push_back(theirs);
    }
    std::uint64_t expected = 0;
    const auto their_points = other.Points();
    for (const auto& [digits, active] : rules.Points()) {
      Digits moved(digits.size());
      for (std::size_t axis = 0; axis < digits.size(); ++axis)
        moved[axis] = active[axis] ? digit_of[axis][digits[axis]] : 0;
      expected += std::count(their_points.begin(), their_points.end(), std::pair(moved, active));
    }
    EXPECT_EQ(DiagramOf(rules).CountCommon(DiagramOf(other), digit_of, kGone), expected);
  }
}

// n axes of two values. A rule for each of the first n - 1 with the last, which looks entangled and is not.
Rules WithTheLast(int n, bool each_with_a_label_of_its_own) {
  Rules rules;
  rules.axes.assign(static_cast<std::size_t>(n), {.length = 2, .when = {}});
  if (each_with_a_label_of_its_own) rules.axes.back().length = static_cast<std::uint32_t>(n);
  for (int i = 0; i + 1 < n; ++i) {
    const std::uint32_t label = each_with_a_label_of_its_own ? static_cast<std::uint32_t>(i) : 0;
    rules.exclusions.push_back({{.axis = i, .digits = {1}}, {.axis = n - 1, .digits = {label}}});
  }
  return rules;
}

TEST(PointDiagramTest, CostsTheRulesNotTheProduct) {
  for (const int n : {35, 60}) {
    Rules rules = WithTheLast(n, false);
    EXPECT_EQ(DiagramOf(rules).count(), (std::uint64_t{1} << (n - 1)) + 1);
    // No label of the last axis is left: no point.
    rules.exclusions.push_back({{.axis = n - 1, .digits = {0, 1}}});
    const PointDiagram none = DiagramOf(rules);
    EXPECT_EQ(none.count(), 0u);
    EXPECT_EQ(none.Next(Digits(static_cast<std::size_t>(n))), std::nullopt);
  }
}

TEST(PointDiagramTest, EntangledRulesAreRefusedWithTheAxisThatWasReached) {
  for (const int n : {35, 60, 200}) {
    const Rules rules = WithTheLast(n, true);
    const auto diagram = PointDiagram::Build(rules.axes, rules.exclusions);
    ASSERT_FALSE(diagram.ok());
    EXPECT_EQ(diagram.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(diagram.status().message()),
                HasSubstr("the exclusions and conditions are too entangled: up to axis 1"));
    EXPECT_THAT(std::string(diagram.status().message()),
                HasSubstr(" of " + std::to_string(n) + " they leave "));
  }
}

TEST(PointDiagramTest, HundredsOfExclusionsOfManyLabelsAreCheap) {
  // Each names one label of each of three axes of 3,000.
  std::mt19937 random(8);
  Rules rules;
  rules.axes.assign(3, {.length = 3000, .when = {}});
  for (int i = 0; i < 2000; ++i) {
    PointDiagram::Exclusion exclusion;
    for (int axis = 0; axis < 3; ++axis)
      exclusion.push_back({.axis = axis, .digits = {static_cast<std::uint32_t>(random() % 3000)}});
    rules.exclusions.push_back(std::move(exclusion));
  }
  const PointDiagram diagram = DiagramOf(rules);
  EXPECT_EQ(diagram.count(), std::uint64_t{3000} * 3000 * 3000 - 2000);
}

TEST(PointDiagramTest, ABudgetThatIsUsedUpEndsASearch) {
  const PointDiagram diagram = DiagramOf(WithTheLast(35, false));
  std::uint64_t budget = 0;
  EXPECT_EQ(diagram.FirstWith(34, 1, &budget), std::nullopt);
  EXPECT_EQ(diagram.Together(0, {1}, 34, {1}, &budget), std::nullopt);
  budget = 1000;
  EXPECT_TRUE(diagram.FirstWith(34, 1, &budget).has_value());
  EXPECT_TRUE(diagram.Together(0, {1}, 34, {1}, &budget).has_value());
  EXPECT_LT(budget, 1000u);
}

}  // namespace
}  // namespace inlier
