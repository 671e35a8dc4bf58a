#include "cli/terminal/styled_text.h"

#include <limits>

#include "cli/output.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;

TEST(StyledLineTest, CellsArePaddedOrCut) {
  StyledLine line;
  line.AddCell("ab", 4).AddCell("abcdef", 4, Style::kBad).Add("x");
  EXPECT_EQ(line.Text(), "ab  abc…x");
  EXPECT_EQ(line.columns(), 9);
  EXPECT_EQ(line.CutTo(7).Text(), "ab  ab…");
  EXPECT_EQ(line.columns(), 7);
  EXPECT_EQ(line.spans().back().style, Style::kBad);
  EXPECT_EQ(line.CutTo(0).Text(), "");
}

TEST(StyledLineTest, WideCharactersAreCounted) {
  StyledLine line("日本語");
  EXPECT_EQ(line.columns(), 6);
  EXPECT_EQ(line.CutTo(4).Text(), "日…");
  EXPECT_LE(line.columns(), 4);
}

TEST(WrapTextTest, BreaksAtSpacesIndentsAndShortensTheLast) {
  EXPECT_THAT(WrapText("one two three", 10, 3), ElementsAre("one two", "    three"));
  EXPECT_THAT(WrapText("one two three four", 10, 2, "  "), ElementsAre("one two", "  three f…"));
  EXPECT_THAT(WrapText("short", 8, 3), ElementsAre("short"));
  EXPECT_THAT(WrapText("abcdefghij", 4, 9, ""), ElementsAre("abcd", "efgh", "ij"));
}

TEST(BarTextTest, FillsItsColumnsInEighths) {
  EXPECT_EQ(BarText(0, 4), "····");
  EXPECT_EQ(BarText(1, 4), "████");
  EXPECT_EQ(BarText(0.375, 4), "█▌··");
  EXPECT_EQ(BarText(std::numeric_limits<double>::quiet_NaN(), 2), "··");
  EXPECT_EQ(Columns(BarText(0.37, 17)), 17);
}

TEST(SparklineTest, RunsFromLowestToHighestAndMarksWhatIsNotFinite) {
  EXPECT_EQ(Sparkline({1, 2, 3}, 8), "▁▅█");
  EXPECT_EQ(Sparkline({5, 5}, 8), "▄▄");
  EXPECT_EQ(Sparkline({}, 8), "");
  EXPECT_EQ(Sparkline({1, std::numeric_limits<double>::infinity(), 2}, 8), "▁×█");
  EXPECT_EQ(Sparkline({1, 1, 9, 9}, 2), "▁█");  // Means of neighbours.
}

}  // namespace
}  // namespace inlier
