// Differences to a baseline, numbers of trainings and evaluations, and what the notes below a table have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/tables/table_writer.h"
#include "tests/cli/tables/example_table.h"

namespace inlier {
namespace {

TEST(TableNotesTest, DifferencesHaveIntervalsAndTests) {
  v1::Table table = MakeTable({"method"}, {"ppl"});
  Set(table,
      "baseline: 'vanilla' confidence: 0.9 comparison_notes: 'not compared with vanilla: alone: no row "
      "vanilla has their gamma'");
  for (const char* label : {"vanilla", "clipped", "gated", "lost", "alone", "early"})
    AddRow(table, {label}, {Cell(4, 0.5, 2)}).set_baseline_row(0);
  table.mutable_rows(4)->clear_baseline_row();
  Set(CellAt(table, 1, 0),
      "difference: -0.7 difference_low: -0.9 difference_high: -0.2 welch_p: 0.5 pairs: 3 "
      "paired_difference: -0.5 paired_low: -0.61 paired_high: -0.385 paired_p: 0.0001");
  Set(CellAt(table, 2, 0), "difference: 1 difference_low: 0.5 difference_high: 1.5 pairs: 0 welch_p: 0.25");
  CellAt(table, 3, 0) = With(Lost(0, 2), "not_run: true");
  EXPECT_EQ(WriteTable(table, TableFormat::kText, {.utf8 = false, .differences = true}),
            "method                                         ppl\n"
            "-------  -----------------------------------------\n"
            "vanilla                                   baseline\n"
            "clipped  -0.50 [-0.61, -0.39], 3 pairs, p < 0.001#\n"
            "gated     1.00 [0.50, 1.50], not paired, p = 0.250\n"
            "lost                                       not run\n"
            "alone                                  no baseline\n"
            "early                    baseline without a result\n"
            "\n"
            "not run: no trial of the cell was started (2 values)\n"
            "# differs from vanilla: t-test (of a perplexity: on losses), paired where trainings have seeds in "
            "common, else Welch's; p < 0.1, not corrected for the number of cells\n"
            "difference to vanilla: mean over pairs of trainings that agree in all but the baseline; [ ] 90 "
            "% interval of "
            "Student's t; p: paired t-test (of a perplexity: on losses)\n"
            "without pairs: mean minus mean; [ ] 90 % bootstrap interval; p: Welch's t-test (of a perplexity: on "
            "losses)\n"
            "not compared with vanilla: alone: no row vanilla has their gamma\n"
            "n = 2\n");
  const std::string text = WriteTable(table, TableFormat::kText);
  EXPECT_THAT(text, ::testing::HasSubstr("clipped  4.00 ± 0.50†\n")) << "by the paired test, not Welch's";
  EXPECT_THAT(text, ::testing::HasSubstr("gated     4.00 ± 0.50\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("lost          not run\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("; --differences has more\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("\nnot compared with vanilla: alone: no row"));
}

// p is small, but there is one degree of freedom.
TEST(TableNotesTest, TwoTrainingsHaveNoDagger) {
  v1::Table table = MakeTable({"method"}, {"ppl"});
  Set(table, "baseline: 'vanilla' confidence: 0.95");
  for (const char* label : {"vanilla", "paired", "other"})
    AddRow(table, {label}, {With(Cell(4, 0.5, 3), "trainings: 3")}).set_baseline_row(0);
  Set(CellAt(table, 1, 0), "pairs: 2 paired_p: 0.01");
  CellAt(table, 2, 0).set_welch_p(0.01);
  EXPECT_THAT(WriteTable(table, TableFormat::kText), ::testing::HasSubstr("other    4.00 ± 0.50†\n"));
  CellAt(table, 0, 0).set_trainings(2);
  const std::string text = WriteTable(table, TableFormat::kText);
  EXPECT_THAT(text, ::testing::HasSubstr("paired   4.00 ± 0.50 (n=3)\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("other    4.00 ± 0.50 (n=3)\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("no † for fewer than 3 pairs of trainings, or 3 trainings a side\n"));
}

// Two trainings of three calibrations and two in float; one training is not calibrated to the end.
TEST(TableNotesTest, TrainingsAndTheirEvaluationsAreCountedApart) {
  v1::Table table = MakeTable({}, {"ppl", "W8A8"});
  for (const char* more : {"within_std: 0.031 published_mean: 6 published_std: 0.3", "within_std: 0.0012"})
    AddRow(table, {},
           {With(Cell(4, 0.5, 2), "trainings: 2 evaluations: 1"),
            With(With(Cell(5, 0.5, 6), "trainings: 2 evaluations: 3 pooled_std: 0.4"), more)});
  EXPECT_EQ(WriteTable(table, TableFormat::kText, {.utf8 = false}),
            "         ppl                       W8A8\n"
            "------------  -------------------------\n"
            "4.00 +- 0.50  5.00 +- 0.50 [6.0 +- 0.3]\n"
            "4.00 +- 0.50               5.00 +- 0.50\n"
            "\n"
            "[ ] published figure\n"
            "a training counts once, with the mean over its evaluations; these alone: W8A8 +- 0.001 to 0.03\n"
            "to compare with the paper's +-, of all evaluations as equals: W8A8 +- 0.40\n"
            "n = 2 (ppl), 2 trainings x 3 evaluations (W8A8)\n");
  CellAt(table, 1, 1).set_count(5);
  const std::string text = WriteTable(table, TableFormat::kText);
  EXPECT_THAT(text, ::testing::HasSubstr("4.00 ± 0.50 (n=2)   5.00 ± 0.50 (n=2×3) [6.0 ± 0.3]\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("5.00 ± 0.50 (n=2, 5 evaluations)\n"));
}

TEST(TableNotesTest, CorrelationsMeansAndBestPointsAreNotes) {
  v1::Table table = MakeTable({}, {"a", "b", "mean"});
  AddRow(table, {}, {Cell(1, {}, 1), Cell(1, {}, 1), Cell(1, {}, 1)});
  Set(table, R"(
    columns { measurement: 'accuracy' best_of { over: ['rate', 'batch'] } }
    columns { measurement: 'accuracy' best_of { over: ['rate', 'batch'] } mean_over: 'set' }
    columns { mean_of { string_value: 'a' }
              mean_of { list_value { values { string_value: 'a' } values { string_value: 'b' } } } }
    correlations { x: 'a' y: 'b' count: 5 rho: -0.7 p: 0.233 }
    correlations { x: 'a' y: 'b' count: 1 points: TRAININGS })");
  EXPECT_EQ(WriteTable(table, TableFormat::kText),
            "   a     b  mean\n"
            "────  ────  ────\n"
            "1.00  1.00  1.00\n"
            "\n"
            "best point of rate, batch by accuracy: a, b\n"
            "mean over set: b\n"
            "mean of a, a and b: mean\n"
            "Spearman's ρ of a and b over 5 rows: -0.700, p = 0.233\n"
            "Spearman's ρ of a and b over 1 training: not defined\n"
            "n = 1\n");
}

// One note where the columns agree in themselves; else each cell has its own.
TEST(TableNotesTest, NumberOfValuesIsInTheNotesOrInTheCells) {
  v1::Table table = MakeTable({}, {"ppl", "norm", "W8A8 ppl"});
  for (int i = 0; i < 2; ++i) AddRow(table, {}, {Cell(1, 0.5, 2), Cell(1, 0.5, 2), Cell(1, 0.5, 6)});
  EXPECT_THAT(WriteTable(table, TableFormat::kText),
              ::testing::EndsWith("\n\nn = 2 (ppl, norm), 6 (W8A8 ppl)\n"));
  CellAt(table, 1, 2) = Lost(0, 1);
  EXPECT_THAT(WriteTable(table, TableFormat::kText),
              ::testing::HasSubstr("n = 2 (ppl, norm), 6 (W8A8 ppl)\n"));
  CellAt(table, 1, 0).set_count(1);
  const std::string text = WriteTable(table, TableFormat::kText);
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("n = ")));
  EXPECT_THAT(text, ::testing::HasSubstr("1.00 ± 0.50 (n=1)  1.00 ± 0.50 (n=2)"));
}

}  // namespace
}  // namespace inlier
