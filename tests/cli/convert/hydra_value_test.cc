#include "cli/convert/hydra_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

// "choice [1,2]", "range 0 3 1 whole", "interval 0.1 2 tags log".
std::string Parsed(const std::string& text) {
  const absl::StatusOr<HydraValue> value = ParseHydraValue(text);
  if (!value.ok()) return std::string(value.status().message());
  static const char* const kKinds[] = {"single", "choice", "range", "interval"};
  std::string shown = kKinds[value->kind];
  if (value->values.empty()) {
    shown += " " + ForeignValue{value->start, value->stop, value->step}.dump();
    if (value->whole) shown += " whole";
  } else {
    shown += " " + ForeignValue(value->values).dump();
  }
  for (const std::string& tag : value->tags) shown += " " + tag;
  return shown + (value->shuffled ? " shuffled" : "");
}

TEST(HydraValueTest, WordsNumbersAndLists) {
  EXPECT_EQ(Parsed("adam"), "single [\"adam\"]");
  EXPECT_EQ(Parsed("1_000"), "single [1000]");
  EXPECT_EQ(Parsed("5.e-1"), "single [0.5]");
  EXPECT_EQ(Parsed("TRUE"), "single [true]");
  EXPECT_EQ(Parsed("yes"), "single [\"yes\"]");
  EXPECT_EQ(Parsed("null"), "single [null]");
  EXPECT_EQ(Parsed(""), "single [\"\"]");
  EXPECT_EQ(Parsed("a/b-c d.py"), "single [\"a/b-c d.py\"]");
  EXPECT_EQ(Parsed("'1,2'"), "single [\"1,2\"]");
  EXPECT_EQ(Parsed("\"it\\\"s\""), "single [\"it\\\"s\"]");
  EXPECT_EQ(Parsed("${a.b}"), "single [\"${a.b}\"]");
  EXPECT_EQ(Parsed("[1, [a, 'b c']]"), "single [[1,[\"a\",\"b c\"]]]");
  EXPECT_EQ(Parsed("{a: 1, b: {c: x}}"), "single [{\"a\":1,\"b\":{\"c\":\"x\"}}]");
}

TEST(HydraValueTest, Sweeps) {
  EXPECT_EQ(Parsed("1e-3, 1e-2"), "choice [0.001,0.01]");
  EXPECT_EQ(Parsed("choice( a , [1,2] )"), "choice [\"a\",[1,2]]");
  EXPECT_EQ(Parsed("range(3)"), "range [0.0,3.0,1.0] whole");
  EXPECT_EQ(Parsed("range(1, 9, step=2)"), "range [1.0,9.0,2.0] whole");
  EXPECT_EQ(Parsed("range(start=1, stop=2, step=0.5)"), "range [1.0,2.0,0.5]");
  EXPECT_EQ(Parsed("range(stop=4)"), "range [0.0,4.0,1.0] whole");
  EXPECT_EQ(Parsed("interval(0, 1.5)"), "interval [0.0,1.5,1.0]");
  EXPECT_EQ(Parsed("tag(log, fine, interval(1e-5, 1))"), "interval [1e-05,1.0,1.0] log fine");
  EXPECT_EQ(Parsed("tag(log, int(interval(1.5, 8.9)))"), "interval [1.0,8.0,1.0] whole log");
  EXPECT_EQ(Parsed("float(range(1, 3))"), "range [1.0,3.0,1.0]");
  EXPECT_EQ(Parsed("str(1, 2)"), "str() takes one value");
  EXPECT_EQ(Parsed("str(choice(1, a))"), "choice [\"1\",\"a\"]");
  EXPECT_EQ(Parsed("int(choice(1.9, '3'))"), "choice [1,3]");
  EXPECT_EQ(Parsed("shuffle(range(2))"), "range [0.0,2.0,1.0] whole shuffled");
  EXPECT_EQ(Parsed("shuffle(a, b)"), "choice [\"a\",\"b\"]");
  EXPECT_EQ(Parsed("sort(3, 1, reverse=true)"), "choice [3,1]");
}

TEST(HydraValueTest, TextsThatEndEarlyAreRefused) {
  for (const char* text : {"choice(", "choice(1", "[1", "{a", "{a: 1", "'a", "${a", "tag(log, ", "a)", "[1]]",
                           "a(b)(c)", "1,", ",", "a]", "choice(a=b)"})
    EXPECT_FALSE(ParseHydraValue(text).ok()) << text;
}

TEST(HydraValueTest, RangesAreListedAsDecimalNumbersWithoutTheirEnd) {
  const auto listed = [](const char* text) { return ForeignValue(ParseHydraValue(text)->Listed(5)).dump(); };
  EXPECT_EQ(listed("range(0, 0.4, 0.1)"), "[0.0,0.1,0.2,0.3]");
  EXPECT_EQ(listed("range(3, 0, -1)"), "[3,2,1]");
  EXPECT_EQ(listed("range(3, 3)"), "[]");
  EXPECT_EQ(listed("range(1e9)"), "[0.0,1.0,2.0,3.0,4.0,5.0]");
}

}  // namespace
}  // namespace inlier
