// The exact text of tables in LaTeX, and of fragments of HTML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/tables/table_formats.h"
#include "cli/tables/table_writer.h"
#include "tests/cli/tables/example_table.h"

namespace inlier {
namespace {

TEST(LatexTableTest, HasNumbersInColumnsAndEscapes) {
  v1::Table table = Example();
  Set(table, "label: 'tab:gamma' row_symbols: ['', 'W']");
  table.mutable_rows(0)->set_labels(0, "50 % of_it & ~x^2");
  EXPECT_EQ(
      WriteTable(table, TableFormat::kLatex),
      "% \\usepackage{booktabs,siunitx,graphicx}\n"
      "\\begin{table}[tbp]\n"
      "\\centering\n"
      "\\caption{Gamma}\n"
      "\\label{tab:gamma}\n"
      "\\sisetup{detect-weight=true}%\n"
      "\\setlength{\\tabcolsep}{4pt}%\n"
      "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
      "\\begin{tabular}{llS[table-format=1.2]@{\\,}lS[table-format=1.2]@{\\,}lS[table-format=3.0]@{\\,}l}\n"
      "\\toprule\n"
      "method & $W$ & \\multicolumn{4}{c}{perplexity} & \\multicolumn{2}{c}{max\\_inf\\_norm} \\\\\n"
      "\\cmidrule(lr){3-6}\n"
      " &  & \\multicolumn{2}{c}{ours} & \\multicolumn{2}{c}{paper} & & \\\\\n"
      "\\midrule\n"
      "50 \\% of\\_it \\& \\textasciitilde{}x\\textasciicircum{}2 & 8 & 4.49 & $\\pm$ 0.01 (n=3) & 4.49 & "
      "$\\pm$ 0.01 & 735 & $\\pm$ 55 (n=3) \\\\\n"
      "\\addlinespace\n"
      "clipped &  & 4.39 & \\textsuperscript{*} (n=1) & \\multicolumn{2}{c}{} & \\multicolumn{2}{c}{DIVERGED "
      "(3)} \\\\\n"
      "\\addlinespace\n"
      "gated & 8 & \\multicolumn{2}{c}{--} & \\multicolumn{2}{c}{} & 39 & $\\pm$ 26 (n=2) (1 diverged) \\\\\n"
      "\\bottomrule\n"
      "\\end{tabular}}\n"
      "\n"
      "\\smallskip\n"
      "\\begin{minipage}{\\linewidth}\\footnotesize\\raggedright\n"
      "* without missing values: 2 not finished\\par\n"
      "-- not finished (2 values)\\par\n"
      "diverged: the loss was not finite; in no mean (4 values)\\par\n"
      "paper: published figure\\par\n"
      "\\end{minipage}\n"
      "\\end{table}\n");
}

TEST(LatexTableTest, HasBoldMarksAndMinusSigns) {
  v1::Table table = MakeTable({"gamma"}, {"x"});
  Set(table, "baseline: '0' confidence: 0.95");
  for (const char* label : {"0", "-0.03", "γ = -1 < a|b"})
    AddRow(table, {label}, {With(Cell(-1.5, 0.25, 3), "trainings: 3")});
  Set(CellAt(table, 1, 0),
      "is_best: true difference: -1 welch_p: 0.01 published_mean: 4.49 published_decimals: 2 "
      "published_differs_in: 'model_a'");
  const std::string text = WriteTable(table, TableFormat::kLatex);
  EXPECT_THAT(
      text, ::testing::HasSubstr("\n$-$0.03 & \\bfseries -1.50 & {\\bfseries\\boldmath$\\pm$ "
                                 "0.25}\\textsuperscript{$\\dagger$} & 4.49 & \\textsuperscript{a} \\\\\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("S[table-format=-1.2]@{\\,}l"));
  EXPECT_THAT(text,
              ::testing::HasSubstr("\n$\\gamma$ = $-$1 \\textless{} a\\textbar{}b & -1.50 & $\\pm$ 0.25 &"));
  EXPECT_THAT(text,
              ::testing::HasSubstr(
                  "\n$^{\\dagger}$ differs from 0: t-test (of a perplexity: on losses), paired where trainings have "
                  "seeds in common, else Welch's; p \\textless{} 0.05, "));
  EXPECT_THAT(text, ::testing::HasSubstr("\n\\textsuperscript{a} published figure of another setting: "
                                         "model\\_a\\par\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("\nmean $\\pm$ standard deviation, n = 3\\par\n"));
}

// The second row repeats the first label of the one above.
TEST(LatexTableTest, LeavesOutLabelsThatRepeat) {
  v1::Table table = MakeTable({"a", "b"}, {"x"});
  for (const auto& [a, b] : {std::pair("p", "q"), std::pair("p", "r"), std::pair("s", "r")})
    AddRow(table, {a, b}, {Cell(1, {}, 1)});
  EXPECT_THAT(
      WriteTable(table, TableFormat::kLatex),
      ::testing::HasSubstr("\\begin{tabular}{llS[table-format=1.2]}\n\\toprule\na & b & {x} "
                           "\\\\\n\\midrule\np & q & 1.00 \\\\\n & r & 1.00 \\\\\n\\addlinespace\ns & r "
                           "& 1.00 \\\\\n"));
}

TEST(LatexTableTest, RowThatBeginsWithABracketIsNoArgument) {
  v1::Table table = MakeTable({"interval"}, {"x"});
  AddRow(table, {"[0, 1]"}, {Cell(1, {}, 1)});
  EXPECT_THAT(WriteTable(table, TableFormat::kLatex), ::testing::HasSubstr("\\midrule\n{}[0, 1] & 1.00"));
}

// A column without numbers, and the caption of differences.
TEST(LatexTableTest, DifferencesAreTexts) {
  v1::Table table = MakeTable({"method"}, {"ppl"});
  Set(table, "title: 'All' label: 'tab:all' baseline: 'vanilla'");
  for (const char* label : {"vanilla", "clipped"})
    AddRow(table, {label}, {Cell(4, 0.5, 2)}).set_baseline_row(0);
  CellAt(table, 1, 0).set_difference(-0.5);
  const std::string text = WriteTable(table, TableFormat::kLatex, {.differences = true});
  EXPECT_THAT(text,
              ::testing::HasSubstr("\\caption{All; differences to vanilla}\n\\label{tab:all-differences}\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("\\begin{tabular}{lc}\n\\toprule\nmethod & {ppl} \\\\\n\\midrule\n"
                                         "vanilla & {baseline} \\\\\nclipped & {$-$0.50} \\\\\n"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("standard deviation")));
}

TEST(HtmlTableTest, IsEscapedAndStandsAlone) {
  v1::Table table = Example();
  table.set_caption("Gamma & <beta>");
  table.mutable_rows(0)->set_labels(0, "<script>alert('x')</script>");
  Set(CellAt(table, 0, 0), "is_best: true published_differs_in: 'a\"b'");
  const std::string html = WriteTable(table, TableFormat::kHtml);
  EXPECT_THAT(html, ::testing::StartsWith("<div class=\"inlier-table\""));
  EXPECT_THAT(html, ::testing::EndsWith("</div>\n"));
  EXPECT_THAT(html, ::testing::HasSubstr(">Gamma &amp; &lt;beta&gt;</caption>"));
  EXPECT_THAT(html, ::testing::HasSubstr(">&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;</th>"));
  EXPECT_THAT(html, ::testing::Not(::testing::HasSubstr("<script")));
  EXPECT_THAT(html, ::testing::HasSubstr("<b>4.49 ± 0.01</b> (n=3) [4.49 ± 0.01]<sup>a</sup></td>"));
  EXPECT_THAT(html,
              ::testing::HasSubstr("[ ]<sup>a</sup> published figure of another setting: a&quot;b</p>"));
  EXPECT_THAT(html,
              ::testing::HasSubstr(">bold: the best of its column among cells without missing values</p>"));
  std::size_t open = 0;
  std::size_t closed = 0;
  for (std::size_t i = 0; i + 1 < html.size(); ++i) {
    if (html[i] != '<') continue;
    ++(html[i + 1] == '/' ? closed : open);
  }
  EXPECT_EQ(open, closed);
}

TEST(LatexTableTest, SignsCompileAndOtherScriptsAreNamed) {
  v1::Table table = Example();
  table.mutable_rows(0)->set_labels(0, "Γ ≈ x₂ ✓");
  std::string text = WriteTable(table, TableFormat::kLatex);
  EXPECT_THAT(text, testing::StartsWith("% \\usepackage{booktabs,siunitx,graphicx,amssymb}\n\\begin{table}"));
  EXPECT_THAT(text, testing::HasSubstr("$\\Gamma$ $\\approx$ x$_{2}$ \\checkmark{} &"));
  EXPECT_EQ(CharactersWithoutPdfLatex(text), "");
  table.mutable_rows(0)->set_labels(0, "日本語 é – 日");
  text = WriteTable(table, TableFormat::kLatex);
  EXPECT_EQ(CharactersWithoutPdfLatex(text), "日 本 語");
  EXPECT_THAT(
      text, testing::HasSubstr("% pdfLaTeX has no character for 日 本 語: compile with LuaLaTeX or XeLaTeX"));
}

}  // namespace
}  // namespace inlier
