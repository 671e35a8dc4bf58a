// The exact text of a table in every form.
#include "cli/tables/table_writer.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <limits>

#include "cli/output.h"
#include "tests/cli/tables/example_table.h"

namespace inlier {
namespace {

TEST(TableWriterTest, TextIsAligned) {
  EXPECT_EQ(WriteTable(Example(), TableFormat::kText),
            "Gamma\n"
            "\n"
            "method   bits                       perplexity                max_inf_norm\n"
            "───────  ────  ───────────────────────────────  ──────────────────────────\n"
            "vanilla  8     4.49 ± 0.01 (n=3) [4.49 ± 0.01]              735 ± 55 (n=3)\n"
            "clipped                            4.39 (n=1)*                DIVERGED (3)\n"
            "gated    8                                   -  39 ± 26 (n=2) (1 diverged)\n"
            "\n"
            "* without missing values: 2 not finished\n"
            "- not finished (2 values)\n"
            "diverged: the loss was not finite; in no mean (4 values)\n"
            "[ ] published figure\n");
}

TEST(TableWriterTest, TextIsPlainAsciiWithoutUtf8) {
  const std::string text = WriteTable(Example(), TableFormat::kText, {.utf8 = false});
  for (const char c : text) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
  EXPECT_THAT(text, ::testing::HasSubstr(
                        "-------  ----  ---------------------------------  ---------------------------\n"
                        "vanilla  8     4.49 +- 0.01 (n=3) [4.49 +- 0.01]              735 +- 55 (n=3)\n"));
}

TEST(TableWriterTest, MarkdownIsEscapedAndRightAligned) {
  v1::Table table = Example();
  table.mutable_rows(0)->set_labels(0, "a|b");
  EXPECT_EQ(WriteTable(table, TableFormat::kMarkdown),
            "**Gamma**\n"
            "\n"
            "| method | bits | perplexity | max\\_inf\\_norm |\n"
            "|---|---|---:|---:|\n"
            "| a\\|b | 8 | 4.49 ± 0.01 (n=3) [4.49 ± 0.01] | 735 ± 55 (n=3) |\n"
            "| clipped |  | 4.39 (n=1)\\* | DIVERGED (3) |\n"
            "| gated | 8 | - | 39 ± 26 (n=2) (1 diverged) |\n"
            "\n"
            "\\* without missing values: 2 not finished\n"
            "\n"
            "- not finished (2 values)\n"
            "\n"
            "diverged: the loss was not finite; in no mean (4 values)\n"
            "\n"
            "[ ] published figure\n");
}

TEST(TableWriterTest, CsvHasFullNumbersCountsAndTrials) {
  v1::Table table = Example();
  table.mutable_rows(0)->set_labels(0, "say \"hi\", twice");
  table.mutable_column_headings()->RemoveLast();
  for (v1::TableRow& row : *table.mutable_rows()) row.mutable_cells()->RemoveLast();
  Set(CellAt(table, 0, 0),
      "published_decimals: 3 is_best: true difference: -0.25 difference_low: -0.3333333333333333 "
      "difference_high: 0 welch_p: 0.04 paired_p: 1e-9 pairs: 3 count: 9 trainings: 3 evaluations: 3 "
      "within_std: 0.5 pooled_std: 0.25 paired_difference: -0.5 paired_low: -1 paired_high: 0 "
      "chosen: '2e-5, 32'");
  CellAt(table, 2, 0).set_not_run(true);
  EXPECT_EQ(
      WriteTable(table, TableFormat::kCsv),
      "method,bits,perplexity,perplexity std,perplexity count,perplexity trainings,perplexity evaluations,"
      "perplexity within std,perplexity pooled std,perplexity diverged,perplexity missing,"
      "perplexity failed,perplexity cancelled,perplexity unmeasured,perplexity not run,perplexity mean,"
      "perplexity median,perplexity best,perplexity is best,perplexity difference,"
      "perplexity difference low,perplexity difference high,perplexity welch p,perplexity paired p,"
      "perplexity pairs,perplexity paired difference,perplexity paired low,perplexity paired high,"
      "perplexity published,perplexity published std,perplexity published differs in,"
      "perplexity chosen,perplexity trials\r\n"
      "\"say \"\"hi\"\", twice\",8,4.4949,0.0123,9,3,3,0.5,0.25,0,0,0,0,0,0,4.4949,,,1,-0.25,"
      "-0.3333333333333333,0,0.04,1e-09,3,-0.5,-1,0,4.490,0.010,,\"2e-5, 32\",t-1\r\n"
      "clipped,,4.39,,1,,,,,0,2,0,0,0,0,4.39,,,0,,,,,,,,,,,,,,t-1\r\n"
      "gated,8,,,0,,,,,0,2,0,0,0,1,,,,0,,,,,,,,,,,,,,\r\n");
}

TEST(TableWriterTest, CsvHasTheColumnsStatisticFirst) {
  v1::Table table = MakeTable({}, {"norm median"});
  table.add_columns()->set_statistic(v1::TableColumn::MEDIAN);
  AddRow(table, {}, {With(Cell(37, 20, 3), "median: 10 best: 1")});
  EXPECT_THAT(WriteTable(table, TableFormat::kCsv),
              ::testing::HasSubstr("\r\n10,20,3,,,,,0,0,0,0,0,0,37,10,1,0,"));
}

// Of terminals: "[1m" and "[0m" around the best, which take no room.
TEST(TableWriterTest, BestIsBoldOnATerminalAndInMarkdown) {
  v1::Table table = Example();
  table.mutable_rows(2)->mutable_cells(1)->set_is_best(true);
  const std::string text = WriteTable(table, TableFormat::kText, {.terminal = true});
  EXPECT_THAT(text, ::testing::HasSubstr("-  \x1b[1m39 ± 26\x1b[0m (n=2) (1 diverged)\n"));
  EXPECT_THAT(text,
              ::testing::HasSubstr("\nbold: the best of its column among cells without missing values\n"));
  EXPECT_THAT(WriteTable(table, TableFormat::kText), ::testing::Not(::testing::HasSubstr("bold")));
  EXPECT_THAT(WriteTable(table, TableFormat::kMarkdown),
              ::testing::HasSubstr("| - | **39 ± 26** (n=2) (1 diverged) |\n"));
}

TEST(TableWriterTest, WideTablesGoOnBelow) {
  v1::Table table = MakeTable({"method"}, {"one", "two", "three"});
  table.set_title("a title of many words");
  // Two columns each.
  AddRow(table, {"漢字"}, {Cell(0, 0.5, 1), Cell(1, 0.5, 1), With(Cell(2, 0.5, 1), "missing: 1")});
  EXPECT_EQ(WriteTable(table, TableFormat::kText, {.utf8 = false, .width = 34}),
            "a title of many words\n"
            "\n"
            "method           one           two\n"
            "------  ------------  ------------\n"
            "漢字    0.00 +- 0.50  1.00 +- 0.50\n"
            "\n"
            "method          three\n"
            "------  -------------\n"
            "漢字    2.00 +- 0.50*\n"
            "\n"
            "* without missing values: 1 not\n"
            "  finished\n"
            "n = 1\n");
  EXPECT_THAT(
      WriteTable(table, TableFormat::kText, {.utf8 = false, .width = 5}),
      ::testing::HasSubstr("\nmethod           one\n------  ------------\n漢字    0.00 +- 0.50\n\nmethod"))
      << "a column at least";
}

TEST(TableWriterTest, MedianHasNoDeviationAndIsNamed) {
  v1::Table table = MakeTable({}, {"ppl", "norm"});
  table.add_columns();
  table.add_columns()->set_statistic(v1::TableColumn::MEDIAN);
  const v1::TableCell cell = With(Cell(4, 0.5, 3), "median: 3");
  AddRow(table, {}, {cell, cell});
  EXPECT_EQ(WriteTable(table, TableFormat::kText, {.utf8 = false}),
            "         ppl  norm\n"
            "------------  ----\n"
            "4.00 +- 0.50  3.00\n"
            "\n"
            "median: norm\n"
            "n = 3\n");
}

// A label, a heading and a title that would control the terminal, break out of their cell, or be markup.
v1::Table Hostile() {
  const char* const evil = "\x1b[2J\xe2\x80\xae|<b>[x](y)\\input{z}&\"\n\t\r2,\x9b";
  v1::Table table = MakeTable({evil}, {evil});
  table.set_title(evil);
  AddRow(table, {evil}, {Cell(1, {}, 1)});
  return table;
}

TEST(TableWriterTest, NoFormatForTerminalsControlsOne) {
  for (const TableFormat format : {TableFormat::kText, TableFormat::kMarkdown, TableFormat::kCsv,
                                   TableFormat::kLatex, TableFormat::kHtml}) {
    std::string text = WriteTable(Hostile(), format);
    if (format == TableFormat::kCsv) {  // Its lines end with both.
      for (std::size_t end = 0; (end = text.find("\r\n", end)) != std::string::npos;) text.erase(end, 1);
    }
    EXPECT_EQ(Shown(text, Layout::kLines), text) << static_cast<int>(format);
  }
}

TEST(TableWriterTest, LabelsStayInTheirCellsAndAreNoMarkup) {
  const std::string shown = R"(\x1b[2J\u202e)";
  EXPECT_THAT(WriteTable(Hostile(), TableFormat::kText, {.utf8 = false}),
              ::testing::StartsWith(shown + R"(|<b>[x](y)\input{z}&"\n\t\r2,\x9b)" + "\n\n" + shown));
  EXPECT_THAT(
      WriteTable(Hostile(), TableFormat::kMarkdown),
      ::testing::HasSubstr(R"(| \\x1b[2J\\u202e\|\<b>[x\](y)\\input{z}\&"\\n\\t\\r2,\\x9b | 1.00 |)"));
  EXPECT_THAT(
      WriteTable(Hostile(), TableFormat::kLatex),
      ::testing::HasSubstr(
          R"(\textbar{}\textless{}b\textgreater{}[x](y)\textbackslash{}input\{z\}\&"\textbackslash{}n)"));
  EXPECT_THAT(WriteTable(Hostile(), TableFormat::kCsv),
              ::testing::HasSubstr("\"\\x1b[2J\\u202e|<b>[x](y)\\input{z}&\"\"\n\t\\r2,\\x9b\",1,,1"));
}

TEST(TableWriterTest, JsonReadsBackAsTheSameTable) {
  const v1::Table table = Example();
  v1::Table read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(WriteTable(table, TableFormat::kJson), &read).ok());
  EXPECT_EQ(read.SerializeAsString(), table.SerializeAsString());
}

// Published numbers as the paper prints them, with its digits and not those of the column.
TEST(TableWriterTest, PublishedFigureHasThePapersDigits) {
  v1::Table table = MakeTable({}, {"norm"});
  table.add_decimals(2);
  const auto shown = [&](double mean, std::optional<double> std) {
    table.clear_rows();
    v1::TableCell& cell = *AddRow(table, {}, {Cell(700.5, {}, 1)}).mutable_cells(0);
    cell.set_published_mean(mean);
    if (std.has_value()) cell.set_published_std(*std);
    const std::string text = WriteTable(table, TableFormat::kText);
    const std::size_t begin = text.find('[');
    return text.substr(begin, text.find(']') + 1 - begin);
  };
  EXPECT_EQ(shown(735, 55), "[735 ± 55]");
  EXPECT_EQ(shown(19728, 7480), "[19728 ± 7480]");
  EXPECT_EQ(shown(21.5, 1.5), "[21.5 ± 1.5]");
  EXPECT_EQ(shown(4.9, 0.02), "[4.90 ± 0.02]");
  EXPECT_EQ(shown(39.2, 26), "[39.2 ± 26.0]");
  EXPECT_EQ(shown(0.8098, {}), "[0.8098]");
}

TEST(TableWriterTest, CsvHasNumbersWithoutExponents) {
  v1::Table table = MakeTable({}, {"x"});
  const auto line = [&](double mean, double published) {
    table.clear_rows();
    AddRow(table, {}, {Cell(mean, {}, 1)}).mutable_cells(0)->set_published_mean(published);
    const std::string text = WriteTable(table, TableFormat::kCsv);
    return text.substr(text.find("\r\n") + 2);
  };
  EXPECT_EQ(line(80, 340), "80,,1,,,,,0,0,0,0,0,0,80,,,0,,,,,,,,,,340,,,,t-1\r\n");
  EXPECT_EQ(line(0.1, 7480), "0.1,,1,,,,,0,0,0,0,0,0,0.1,,,0,,,,,,,,,,7480,,,,t-1\r\n");
  EXPECT_EQ(line(-0.00012, 100000000),
            "-0.00012,,1,,,,,0,0,0,0,0,0,-0.00012,,,0,,,,,,,,,,100000000,,,,t-1\r\n");
  EXPECT_EQ(line(1e300, 0), "1e+300,,1,,,,,0,0,0,0,0,0,1e+300,,,0,,,,,,,,,,0,,,,t-1\r\n");
  EXPECT_EQ(line(1.0 / 3, 1e-9),
            "0.3333333333333333,,1,,,,,0,0,0,0,0,0,0.3333333333333333,,,0,,,,,,,,,,1e-09,,,,t-1\r\n");
}

// The paper's setting is another one: a mark for each list of differences, and what differs below.
TEST(TableWriterTest, PublishedFigureOfAnotherSettingIsMarked) {
  v1::Table table = MakeTable({"m"}, {"x", "y"});
  const v1::TableCell gamma = With(Cell(1, {}, 1), "published_mean: 4.49 published_differs_in: 'gamma'");
  AddRow(table, {"a"},
         {With(Cell(1, {}, 1), "published_mean: 4.49 published_differs_in: ['model', 'data']"), gamma});
  EXPECT_EQ(WriteTable(table, TableFormat::kText, {.utf8 = false}),
            "m              x              y\n"
            "-  -------------  -------------\n"
            "a  1.00 [4.49]^a  1.00 [4.49]^b\n"
            "\n"
            "[ ]^a..^b published figure of another setting: ^a model, data; ^b gamma\n"
            "n = 1\n");
  EXPECT_THAT(WriteTable(table, TableFormat::kLatex),
              ::testing::HasSubstr("4.49 & \\textsuperscript{a} & 1.00 & 4.49 & \\textsuperscript{b} "));
  CellAt(table, 0, 1).add_published_differs_in("model");
  CellAt(table, 0, 0).set_published_decimals(1);
  EXPECT_THAT(
      WriteTable(table, TableFormat::kText, {.utf8 = false}),
      ::testing::HasSubstr("[ ]^a..^b published figure of another setting: model; ^a also data; ^b also "
                           "gamma\n"));
  EXPECT_THAT(WriteTable(table, TableFormat::kText), ::testing::HasSubstr("[4.5]^a"));
  table.mutable_rows(0)->mutable_cells()->RemoveLast();
  EXPECT_THAT(WriteTable(table, TableFormat::kText),
              ::testing::HasSubstr("[ ]^a published figure of another setting: model, data\n"));
  *table.mutable_rows(0)->add_cells() = gamma;
  EXPECT_THAT(WriteTable(table, TableFormat::kCsv), ::testing::HasSubstr(",4.5,,model; data,,t-1,"));
  EXPECT_THAT(WriteTable(table, TableFormat::kJson), ::testing::HasSubstr("\"published_differs_in\": ["));
}

// Each reason has its own word, and its own line below.
TEST(TableWriterTest, MissingValuesHaveTheirReason) {
  v1::Table table = MakeTable({}, {"a", "b", "c", "d", "e", "f"});
  const v1::TableCell lost = Lost(0, 3);
  AddRow(table, {},
         {lost, With(lost, "failed: 3"), With(lost, "cancelled: 3"), With(lost, "unmeasured: 3"),
          With(lost, "failed: 1 diverged: 2"), With(Cell(1, {}, 1), "missing: 4 failed: 2 cancelled: 1")});
  EXPECT_EQ(WriteTable(table, TableFormat::kText, {.utf8 = false}),
            "a       b          c    d                        e      f\n"
            "-  ------  ---------  ---  -----------------------  -----\n"
            "-  FAILED  CANCELLED  n/a  DIVERGED (2), FAILED, -  1.00*\n"
            "\n"
            "* without missing values: 1 not finished, 2 failed, 1 cancelled\n"
            "- not finished (5 values)\n"
            "FAILED: `inlier why TRIAL` has the reason (4 values)\n"
            "CANCELLED: by a person or by pruning (3 values)\n"
            "n/a: no such measurement for this data, or not a number (3 values)\n"
            "diverged: the loss was not finite; in no mean (2 values)\n"
            "n = 1\n");
}

TEST(TableWriterTest, NumbersThatAreNotFiniteAreNamed) {
  v1::Table table = MakeTable({}, {"x"});
  AddRow(table, {},
         {Cell(std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), 2)});
  EXPECT_EQ(WriteTable(table, TableFormat::kText, {.utf8 = false}),
            "         x\n----------\ninf +- nan\n\nn = 2\n");
  EXPECT_THAT(WriteTable(table, TableFormat::kLatex), ::testing::HasSubstr("{$\\infty$} & $\\pm$ nan"));
}

TEST(TableWriterTest, TableWithoutRowsHasItsHeadings) {
  const v1::Table table = MakeTable({"method"}, {"x"});
  EXPECT_EQ(WriteTable(table, TableFormat::kText, {.utf8 = false}), "method  x\n------  -\n");
}

TEST(TableWriterTest, FormatsHaveNames) {
  EXPECT_EQ(ParseTableFormat("md"), TableFormat::kMarkdown);
  EXPECT_EQ(ParseTableFormat("latex"), TableFormat::kLatex);
  EXPECT_EQ(ParseTableFormat("tex"), TableFormat::kLatex);
  EXPECT_EQ(ParseTableFormat("html"), TableFormat::kHtml);
  EXPECT_EQ(ParseTableFormat("excel"), std::nullopt);
  EXPECT_EQ(ParseTableFormat(""), std::nullopt);
}

}  // namespace
}  // namespace inlier
