#include "spec/values/expression.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

double ValueOf(const std::string& text, const std::map<std::string, double>& given = {}) {
  const auto expression = Expression::Parse(text);
  EXPECT_TRUE(expression.ok()) << expression.status();
  if (!expression.ok()) return NAN;
  std::vector<double> values;
  for (const std::string& name : (*expression)->names()) values.push_back(given.at(name));
  return (*expression)->Value(values);
}

std::string ExpressionError(const std::string& text) {
  return std::string(Expression::Parse(text).status().message());
}

TEST(ExpressionTest, OperatorsBindAsInMathematics) {
  EXPECT_EQ(ValueOf("2 + 3 * 4"), 14);
  EXPECT_EQ(ValueOf("(2 + 3) * 4"), 20);
  EXPECT_EQ(ValueOf("10 - 2 - 3"), 5);
  EXPECT_EQ(ValueOf("24 / 4 / 3"), 2);
  EXPECT_EQ(ValueOf("2 ^ 3 ^ 2"), 512);
  EXPECT_EQ(ValueOf("-2 ^ 2"), -4);
  EXPECT_EQ(ValueOf("2 * -3"), -6);
  EXPECT_EQ(ValueOf("2 ^ -1"), 0.5);
  EXPECT_EQ(ValueOf("+1e-3"), 0.001);
}

TEST(ExpressionTest, FunctionsAreThere) {
  EXPECT_EQ(ValueOf("min(3, 1, 2)"), 1);
  EXPECT_EQ(ValueOf("max(3, 1, 2)"), 3);
  EXPECT_EQ(ValueOf("round(2.5)"), 3);
  EXPECT_EQ(ValueOf("round(-2.5)"), -3);
  EXPECT_EQ(ValueOf("floor(2.9)"), 2);
  EXPECT_EQ(ValueOf("ceil(2.1)"), 3);
  EXPECT_EQ(ValueOf("sqrt(16)"), 4);
  EXPECT_DOUBLE_EQ(ValueOf("log(exp(2))"), 2);
}

TEST(ExpressionTest, NamesArePathsInDots) {
  const auto expression =
      Expression::Parse("4 * model.bert.hidden_size + a.b / model.bert.hidden_size").value();
  EXPECT_THAT(expression->names(), ElementsAre("a.b", "model.bert.hidden_size"));
  EXPECT_EQ(expression->Value({64, 16}), 68);
  EXPECT_EQ(expression->Value({16, 16}), 65);
  // A parameter may be called as a function is.
  EXPECT_EQ(ValueOf("max(max, min)", {{"max", 1}, {"min", 2}}), 2);
}

TEST(ExpressionTest, WhatIsNotANumberIsNotHidden) {
  EXPECT_EQ(ValueOf("1 / a", {{"a", 0}}), INFINITY);
  EXPECT_TRUE(std::isnan(ValueOf("0 / 0")));
  EXPECT_EQ(ValueOf("log(0)"), -INFINITY);
  EXPECT_TRUE(std::isnan(ValueOf("sqrt(0 - 1)")));
}

TEST(ExpressionTest, MistakesAreToldWithARemedy) {
  EXPECT_THAT(ExpressionError("4 *"),
              HasSubstr("\"4 *\" is not an expression: Unexpected end of expression at position 4; write "
                        "numbers and fields with + - * / ^"));
  EXPECT_THAT(ExpressionError(""), HasSubstr("is not an expression: Expression is empty"));
  EXPECT_THAT(ExpressionError("(1 + a"), HasSubstr("Missing parenthesis"));
  EXPECT_THAT(ExpressionError("1 + a)"), HasSubstr("Unexpected parenthesis \")\""));
  EXPECT_THAT(ExpressionError("3 a"), HasSubstr("Unexpected variable \"a\""));
  EXPECT_THAT(ExpressionError("sin(a)"), HasSubstr("Unexpected parenthesis \"(\""));
  EXPECT_THAT(ExpressionError("sqrt(1, 2)"), HasSubstr("Too many parameters for function \"sqrt\""));
  EXPECT_THAT(ExpressionError("min()"), HasSubstr("Too few parameters for function \"min\""));
  EXPECT_THAT(ExpressionError("1, 2"), HasSubstr("has a comma outside of min and max"));
  for (const char* text :
       {"a = 3", "a ? 1 : 2", "a < 3", "\"a\"", "a && b", "[a]", "a;b", "\xc3\xa4", "\xff"})
    EXPECT_THAT(ExpressionError(text), HasSubstr("is not part of an expression")) << text;
}

// The longest that a sweep may have, and the deepest.
TEST(ExpressionTest, DepthIsNoDanger) {
  std::string deep(1023, '1');
  std::fill_n(deep.begin(), 511, '(');
  std::fill_n(deep.rbegin(), 511, ')');
  EXPECT_EQ(ValueOf(deep), 1);
  std::string sum = "a";
  for (int i = 0; i < 500; ++i) sum += "+a";
  EXPECT_EQ(ValueOf(sum, {{"a", 2}}), 1002);
}

TEST(ExpressionTest, ThreadsMayShareOne) {
  const auto expression = Expression::Parse("a * a + 1").value();
  std::vector<int> wrong(4);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20'000; ++i)
          wrong[t] += expression->Value({t + 10.0}) != (t + 10.0) * (t + 10.0) + 1;
      });
    }
  }
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace inlier
