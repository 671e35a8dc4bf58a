#include "spec/schema/number_text.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace inlier {
namespace {

TEST(NumberTextTest, WritesTheShortestFormPeopleWouldWrite) {
  EXPECT_EQ(FormatNumber(-0.03), "-0.03");
  EXPECT_EQ(FormatNumber(1e-3), "0.001");
  EXPECT_EQ(FormatNumber(1e-5), "1e-5");
  EXPECT_EQ(FormatNumber(2000), "2000");
  EXPECT_EQ(FormatNumber(1e6), "1000000");
  EXPECT_EQ(FormatNumber(1e20), "1e20");
  EXPECT_EQ(FormatNumber(-0.0), "0");
  EXPECT_EQ(FormatNumber(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(FormatNumber(std::nan("")), "NaN");
  EXPECT_EQ(FormatNumber(-std::numeric_limits<double>::infinity()), "-Infinity");
}

TEST(NumberTextTest, EveryDoubleReadsBackAsItself) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    double value;
    static_assert(sizeof(value) == sizeof(bits));
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isfinite(value)) continue;
    const std::optional<double> back = ParseNumber(FormatNumber(value));
    ASSERT_TRUE(back.has_value()) << FormatNumber(value);
    ASSERT_EQ(*back, value);
  }
}

TEST(NumberTextTest, ReadsDecimalNumbersOnly) {
  EXPECT_EQ(ParseNumber("8"), 8);
  EXPECT_EQ(ParseNumber("+8"), 8);
  EXPECT_EQ(ParseNumber("0"), 0);
  EXPECT_EQ(ParseNumber("0.5"), 0.5);
  EXPECT_EQ(ParseNumber(".5"), 0.5);
  EXPECT_EQ(ParseNumber("1e-3"), 0.001);
  EXPECT_EQ(ParseNumber("1E3"), 1000);
  for (const char* wrong : {"",   "-",  ".",   "08",   "-08",   "0x10", "1_000", "1,000", "1e", "1e+",
                            " 1", "1 ", "nan", ".inf", "1e999", "--1",  "+-1",   "1.2.3", "e5", "8 bits"}) {
    EXPECT_EQ(ParseNumber(wrong), std::nullopt) << wrong;
  }
}

TEST(NumberTextTest, SaysWhyATextIsNotANumber) {
  EXPECT_EQ(WhyNotANumber("08"), "numbers have no leading zeros, write 8");
  EXPECT_EQ(WhyNotANumber("-007.5"), "numbers have no leading zeros, write -7.5");
  EXPECT_EQ(WhyNotANumber("0x1f"), "write the number in decimal");
  EXPECT_EQ(WhyNotANumber("1_000"), "write it without separators, 1000");
  EXPECT_EQ(WhyNotANumber(".nan"), "only finite numbers are allowed");
  EXPECT_EQ(WhyNotANumber("-inf"), "only finite numbers are allowed");
  EXPECT_EQ(WhyNotANumber("1e999"), "write a number such as 3, 0.03 or 3e-4, not too large for a double");
  EXPECT_EQ(WhyNotANumber("many"), "write a number such as 3, 0.03 or 3e-4");
}

}  // namespace
}  // namespace inlier
