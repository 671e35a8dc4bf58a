#include "cli/output.h"

#include "gtest/gtest.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

TEST(TextTableTest, NumbersAreAlignedRightAndTextLeft) {
  TextTable table({"worker", "slots"});
  table.AddRow({"a", "2"});
  table.AddRow({"long-name", "128"});
  EXPECT_EQ(table.ToString(),
            "worker     slots\n"
            "a              2\n"
            "long-name    128\n");
}

TEST(TextTableTest, WidthCountsCharactersNotBytes) {
  TextTable table({"x", "y"});
  table.AddRow({"±", "b"});
  table.AddRow({"ab", "c"});
  EXPECT_EQ(table.ToString(),
            "x   y\n"
            "±   b\n"
            "ab  c\n");
}

TEST(ColumnsTest, WideCharactersTakeTwoAndCombiningOnesNone) {
  EXPECT_EQ(Columns("ab"), 2);
  EXPECT_EQ(Columns("█·é"), 3);
  EXPECT_EQ(Columns("中文"), 4);
  EXPECT_EQ(Columns("e\xcc\x81"), 1);
  EXPECT_EQ(Cut("a中文", 4), "a中");
  EXPECT_EQ(Cut("a中文", 5), "a中文");
  EXPECT_EQ(Cut("abc", 0), "");
}

TEST(ShownTest, NothingThatControlsATerminalIsLeft) {
  EXPECT_EQ(Shown("\x1b]0;owned\x07\x1b[2J", Layout::kLines), "\\x1b]0;owned\\x07\\x1b[2J");
  EXPECT_EQ(Shown("a\x7f\xc2\x9b"
                  "31mb",
                  Layout::kLines),
            "a\\x7f\\x9b31mb");  // DEL, C1's CSI.
  EXPECT_EQ(Shown("\xe2\x80\xae"
                  "evil\xe2\x81\xa6",
                  Layout::kLines),
            "\\u202eevil\\u2066");                                      // Direction.
  EXPECT_EQ(Shown("\xf3\xa0\x81\x81", Layout::kLines), "\\U000e0041");  // A tag.
  EXPECT_EQ(Shown(std::string("a\0b", 3), Layout::kLines), "a\\x00b");
  EXPECT_EQ(Shown("over\rwritten", Layout::kLines), "over\\rwritten");
}

TEST(ShownTest, BytesThatAreNotUtf8AreShownForA8BitTerminalWouldObeyThem) {
  EXPECT_EQ(Shown("\x9b"
                  "31m",
                  Layout::kLines),
            "\\x9b31m");
  EXPECT_EQ(Shown("\xff\xc3(\xe2\x82", Layout::kLines), "\\xff\\xc3(\\xe2\\x82");
}

TEST(ShownTest, LinesAndTabsAreKeptWhereTheyBelong) {
  EXPECT_EQ(Shown("a\tb\nc", Layout::kLines), "a\tb\nc");
  EXPECT_EQ(Shown("a\tb\nc", Layout::kLine), "a\tb\\nc");
  EXPECT_EQ(Shown("a\tb\nc", Layout::kCell), "a\\tb\\nc");
}

TEST(ShownTest, EverythingElseIsUnchanged) {
  const std::string text = "größer ± 4.49 │ └─ 日本語 🙂 \\x1b";
  EXPECT_EQ(Shown(text, Layout::kCell), text);
}

// Every character once, in a text of its own.
TEST(ShownTest, WhatIsShownIsShownAgainAsTheSame) {
  for (unsigned char c = 1; c != 0; ++c) {
    const std::string once = Shown(std::string(1, static_cast<char>(c)), Layout::kCell);
    for (const char shown : once) EXPECT_TRUE(shown >= ' ' && shown <= '~') << int{c};
    EXPECT_EQ(Shown(once, Layout::kCell), once);
  }
}

TEST(TextTableTest, CellIsOneLineWhateverItHolds) {
  TextTable table({"na\nme", "x"});
  table.AddRow({"a\x1b[2J\nt-9  SUCCEEDED", "1"});
  EXPECT_EQ(table.ToString(), "na\\nme" + std::string(20, ' ') +
                                  "x\n"
                                  "a\\x1b[2J\\nt-9  SUCCEEDED  1\n");
}

TEST(TextTableTest, WideCellsAreBrokenAtSpacesAndNothingIsCut) {
  TextTable table({"trial", "message", "loss"});
  table.AddRow({"t-1", "out of memory on the first device", "1.5"});
  table.AddRow({"t-2", "a_word_without_any_space", "10.25"});
  EXPECT_EQ(table.ToString(100), table.ToString());
  EXPECT_EQ(table.ToString(30),
            "trial  message            loss\n"
            "t-1    out of memory on    1.5\n"
            "       the first device\n"
            "t-2    a_word_without_a  10.25\n"
            "       ny_space\n");
  EXPECT_EQ(table.ToString(5), table.ToString(22)) << "a column keeps eight characters";
}

TEST(JsonTest, ASpecificationReadsBackAsTheSame) {
  v1::SweepSpec sweep;
  sweep.set_name("s");
  sweep.add_axes()->set_field("seed");
  const std::string json = SpecToJson(sweep);
  EXPECT_EQ(json.find("variants"), std::string::npos) << json;
  EXPECT_EQ(json.find("priority"), std::string::npos) << json;
  EXPECT_NE(ToJson(sweep).find("priority"), std::string::npos);
}

TEST(OutputTest, FormulasOfSpreadsheetsAreTexts) {
  EXPECT_EQ(CsvField("=HYPERLINK(\"http://x\")"), "\"'=HYPERLINK(\"\"http://x\"\")\"");
  EXPECT_EQ(CsvField("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(CsvField("+cmd|' /C calc'!A0"), "'+cmd|' /C calc'!A0");
  EXPECT_EQ(CsvField("-x"), "'-x");
  EXPECT_EQ(CsvField("\t=1"), "'\t=1");
  for (const char* number :
       {"-0.03", "+1e5", "-1e-05", "-inf", "-Infinity", "-3%", "-", "0", "", "a=b", "x,y"}) {
    const std::string text = number;
    EXPECT_EQ(CsvField(text), text == "x,y" ? "\"x,y\"" : text);
  }
}

TEST(OutputTest, JsonTakesAnyBytes) {
  EXPECT_EQ(JsonText({{"a", "x\xff"}, {"b", "\x1b[2J"}}), "{\"a\":\"x\uFFFD\",\"b\":\"\\u001b[2J\"}");
}

}  // namespace
}  // namespace inlier
