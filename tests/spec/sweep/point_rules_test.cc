#include "spec/sweep/point_rules.h"

#include <algorithm>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

using Digits = PointRules::Digits;
using DigitSet = PointRules::DigitSet;

// Axes and rules, and their meaning by the definition.
struct Definition {
  std::vector<PointRules::Axis> axes;
  std::vector<PointRules::Exclusion> exclusions;

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
    return std::none_of(exclusions.begin(), exclusions.end(), [&](const PointRules::Exclusion& exclusion) {
      return std::all_of(exclusion.begin(), exclusion.end(), matches);
    });
  }
  std::vector<Digits> AllDigits() const {
    std::vector<Digits> all = {{}};
    for (const PointRules::Axis& axis : axes) {
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

Definition RandomDefinition(std::mt19937& random) {
  Definition rules;
  const int axes = 1 + static_cast<int>(random() % 5);
  for (int axis = 0; axis < axes; ++axis) {
    PointRules::Axis made{.length = 1 + static_cast<std::uint32_t>(random() % 4), .when = {}};
    for (unsigned i = 0; axis > 0 && i < random() % 3; ++i) {
      const int on = static_cast<int>(random() % static_cast<unsigned>(axis));
      made.when.push_back(RandomSet(random, on, rules.axes[static_cast<std::size_t>(on)].length));
    }
    rules.axes.push_back(std::move(made));
  }
  for (unsigned i = 0; i < random() % 5; ++i) {
    PointRules::Exclusion exclusion;
    for (unsigned j = 0; j <= random() % 3; ++j) {
      const int axis = static_cast<int>(random() % static_cast<unsigned>(axes));
      exclusion.push_back(RandomSet(random, axis, rules.axes[static_cast<std::size_t>(axis)].length));
    }
    rules.exclusions.push_back(std::move(exclusion));
  }
  return rules;
}

std::vector<Digits> PointsOf(const PointRules& rules, std::uint64_t budget = 1'000'000) {
  std::vector<Digits> points;
  rules.ForEach(
      [&points](const Digits& digits) {
        points.push_back(digits);
        return true;
      },
      &budget);
  EXPECT_GT(budget, 0u);
  return points;
}

TEST(PointRulesTest, AgreeWithTheDefinitionPointByPoint) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(round);
    const Definition definition = RandomDefinition(random);
    const PointRules rules(definition.axes, definition.exclusions);
    std::vector<Digits> expected_points;
    for (const auto& [digits, active] : definition.Points()) expected_points.push_back(digits);
    ASSERT_EQ(PointsOf(rules), expected_points);
    for (const Digits& digits : definition.AllDigits()) {
      std::vector<bool> expected, active;
      const bool is_point = definition.IsPoint(digits, &expected);
      ASSERT_EQ(rules.Contains(digits, &active), is_point);
      if (!is_point) continue;
      ASSERT_EQ(active, expected);
      ASSERT_EQ(rules.Active(digits), expected);
    }
  }
}

TEST(PointRulesTest, FindTheFirstPointWithOneDigitAndWithTwo) {
  std::mt19937 random(6);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const Definition definition = RandomDefinition(random);
    const PointRules rules(definition.axes, definition.exclusions);
    const auto points = definition.Points();
    const auto axes = static_cast<int>(definition.axes.size());
    std::uint64_t budget = 1'000'000;
    for (int b = 0; b < axes; ++b) {
      const auto at_b = static_cast<std::size_t>(b);
      for (std::uint32_t digit = 0; digit < definition.axes[at_b].length; ++digit) {
        const auto expected = std::find_if(points.begin(), points.end(), [&](const auto& point) {
          return point.second[at_b] && point.first[at_b] == digit;
        });
        const std::optional<Digits> found = rules.First({{.axis = b, .digits = {digit}}}, &budget);
        ASSERT_EQ(found.has_value(), expected != points.end());
        if (found) {
          ASSERT_EQ(*found, expected->first);
        }
      }
      for (int a = 0; a < b; ++a) {
        const auto at_a = static_cast<std::size_t>(a);
        const Digits a_digits = RandomSet(random, a, definition.axes[at_a].length).digits;
        const Digits b_digits = RandomSet(random, b, definition.axes[at_b].length).digits;
        const auto together = [&](const auto& point) {
          return point.second[at_a] && point.second[at_b] &&
                 std::binary_search(a_digits.begin(), a_digits.end(), point.first[at_a]) &&
                 std::binary_search(b_digits.begin(), b_digits.end(), point.first[at_b]);
        };
        const auto expected = std::find_if(points.begin(), points.end(), together);
        const std::optional<Digits> found =
            rules.First({{.axis = a, .digits = a_digits}, {.axis = b, .digits = b_digits}}, &budget);
        ASSERT_EQ(found.has_value(), expected != points.end());
        if (found) {
          ASSERT_EQ(*found, expected->first);
        }
      }
    }
    EXPECT_GT(budget, 0u);
  }
}

// n axes of two values, and a rule for each of the first n - 1 with a label of its own of the last.
Definition Entangled(int n) {
  Definition definition;
  definition.axes.assign(static_cast<std::size_t>(n), {.length = 2, .when = {}});
  definition.axes.back().length = static_cast<std::uint32_t>(n);
  for (int i = 0; i + 1 < n; ++i) {
    const auto label = static_cast<std::uint32_t>(i);
    definition.exclusions.push_back({{.axis = i, .digits = {1}}, {.axis = n - 1, .digits = {label}}});
  }
  return definition;
}

TEST(PointRulesTest, ABudgetThatIsUsedUpEndsASearch) {
  const Definition definition = Entangled(35);
  const PointRules rules(definition.axes, definition.exclusions);
  std::uint64_t budget = 100'000, points = 0;
  rules.ForEach([&points](const Digits&) { return ++points > 0; }, &budget);
  EXPECT_EQ(budget, 0u);
  EXPECT_GT(points, 1000u);
  EXPECT_LT(points, 100'000u);
  EXPECT_EQ(rules.First({}, &budget), std::nullopt);
  budget = 1000;
  EXPECT_TRUE(rules.First({{.axis = 0, .digits = {1}}, {.axis = 34, .digits = {1}}}, &budget).has_value());
  EXPECT_GT(budget, 0u);
  EXPECT_LT(budget, 1000u);
}

TEST(PointRulesTest, AVisitorStopsTheSearch) {
  const Definition definition = Entangled(35);
  const PointRules rules(definition.axes, definition.exclusions);
  std::uint64_t budget = 100'000, points = 0;
  rules.ForEach([&points](const Digits&) { return ++points < 3; }, &budget);
  EXPECT_EQ(points, 3u);
  EXPECT_GT(budget, 0u);
}

TEST(PointRulesTest, WhatNoRuleNamesIsNotSearched) {
  // 20 axes of 1,000 values between two that exclude each other.
  std::vector<PointRules::Axis> axes(22, {.length = 1000, .when = {}});
  const PointRules rules(axes, {{{.axis = 0, .digits = {1}}, {.axis = 21, .digits = {1}}}});
  std::uint64_t budget = 1000;
  EXPECT_EQ(rules.First({{.axis = 0, .digits = {1}}, {.axis = 21, .digits = {1}}}, &budget), std::nullopt);
  EXPECT_GT(budget, 0u);
  // The conditions of an axis are not searched for either.
  axes[21].when = {{.axis = 0, .digits = {999}}, {.axis = 1, .digits = {999}}};
  const PointRules conditional(axes, {});
  const std::optional<Digits> found = conditional.First({{.axis = 21, .digits = {7}}}, &budget);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ((*found)[0], 999u);
  EXPECT_EQ((*found)[1], 999u);
  EXPECT_EQ((*found)[21], 7u);
}

TEST(PointRulesTest, ThousandsOfExclusionsAreCheap) {
  // Each names one label of each of three axes.
  std::mt19937 random(8);
  Definition definition;
  definition.axes.assign(3, {.length = 100, .when = {}});
  for (int i = 0; i < 5000; ++i) {
    PointRules::Exclusion exclusion;
    for (int axis = 0; axis < 3; ++axis)
      exclusion.push_back({.axis = axis, .digits = {static_cast<std::uint32_t>(random() % 100)}});
    definition.exclusions.push_back(std::move(exclusion));
  }
  const PointRules rules(definition.axes, definition.exclusions);
  const std::size_t points = PointsOf(rules, 3'000'000).size();
  EXPECT_GE(points, 995'000u);
  EXPECT_LT(points, 995'500u);
}

}  // namespace
}  // namespace inlier
