#include "spec/data/separated_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

// "<line>:cell|cell" of each row, or the error.
std::string RowsOf(std::string_view text, RecordForm form = RecordForm::kCommas) {
  std::deque<std::string> owned;
  SeparatedRows rows(text, "f", form, &owned);
  std::string all;
  for (;;) {
    const absl::StatusOr<bool> more = rows.Next();
    if (!more.ok()) return std::string(more.status().message());
    if (!*more) return all;
    absl::StrAppend(&all, all.empty() ? "" : " ", rows.line(), ":");
    for (std::size_t i = 0; i < rows.cells().size(); ++i)
      all += (i > 0 ? "|" : "") + std::string(rows.cells()[i]);
  }
}

TEST(SeparatedRowsTest, CellsAreBetweenCommasAndRowsBetweenLineEnds) {
  EXPECT_EQ(RowsOf("a,b\nc,d"), "1:a|b 2:c|d");
  EXPECT_EQ(RowsOf("a,b\r\nc,d\r\n"), "1:a|b 2:c|d");
  EXPECT_EQ(RowsOf("a,\n,b\n\n\r\nc,d\n"), "1:a| 2:|b 5:c|d");
  EXPECT_EQ(RowsOf(""), "");
  EXPECT_EQ(RowsOf("\n\n"), "");
  EXPECT_EQ(RowsOf("a"), "1:a");
  EXPECT_EQ(RowsOf(","), "1:|");
  EXPECT_EQ(RowsOf(" a , b "), "1: a | b ");
}

TEST(SeparatedRowsTest, AQuotedCellHoldsCommasLineEndsAndMarks) {
  EXPECT_EQ(RowsOf("\"a, b\",c\n"), "1:a, b|c");
  EXPECT_EQ(RowsOf("\"say \"\"hi\"\"\",c\n"), "1:say \"hi\"|c");
  EXPECT_EQ(RowsOf("\"\"\"\",\"\"\n"), "1:\"|");
  EXPECT_EQ(RowsOf("\"one\ntwo\r\nthree\",c\nd,e\n"), "1:one\ntwo\r\nthree|c 4:d|e");
  EXPECT_EQ(RowsOf("a,\"b\"\r\nc,\"d\""), "1:a|b 2:c|d");
}

TEST(SeparatedRowsTest, MarksThatAreNotAsTheyMustBeAreNamedByLineAndColumn) {
  EXPECT_EQ(
      RowsOf("a,b\nc,\"d\ne,f\n"),
      "f:2:3: the quotation mark that opens this cell is not closed before the end of the file; close it, "
      "and write each mark within the cell twice");
  EXPECT_EQ(RowsOf("a,5\" b\n"),
            "f:1:4: a quotation mark inside a cell that does not begin with one; put the whole cell between "
            "quotation marks and write each mark in it twice");
  EXPECT_EQ(
      RowsOf("\"a,b\n\"c\",d\n"),
      "f:2:2: text after the quotation mark that closes the cell which begins in line 1; close each cell, "
      "and write each mark within it twice");
  EXPECT_EQ(
      RowsOf("a,b\rc,d\r"),
      "f:1:4: a carriage return alone, where lines end with a line feed; convert the file with tr '\\r' "
      "'\\n'");
}

TEST(SeparatedRowsTest, BetweenTabsAMarkIsText) {
  EXPECT_EQ(RowsOf("a \"b\t\"c\r\n\r\nd,e\t\n\r", RecordForm::kTabs), "1:a \"b|\"c 3:d,e|");
}

}  // namespace
}  // namespace inlier
