// Differences to a baseline, numbers of trainings and evaluations, and what the notes below a table have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/tables/table_writer.h"
#include "tests/cli/tables/example_table.h"

namespace inlier {
namespace {

TEST(TableNotesTest, DifferencesHaveIntervalsAndTests) {
  v1::Table table;
  table.add_row_headings("method");
  table.add_column_headings("ppl");
  table.add_baseline("vanilla");
  table.set_confidence(0.9);
  for (const char* label : {"vanilla", "clipped", "gated", "lost", "alone", "early"}) {
    v1::TableRow* row = table.add_rows();
    row->add_labels(label);
    row->set_baseline_row(0);
    *row->add_cells() = Cell(4, 0.5, 2);
  }
  table.mutable_rows(4)->clear_baseline_row();
  v1::TableCell* clipped = table.mutable_rows(1)->mutable_cells(0);
  clipped->set_difference(-0.7);
  clipped->set_difference_low(-0.9);
  clipped->set_difference_high(-0.2);
  clipped->set_welch_p(0.5);
  clipped->set_pairs(3);
  clipped->set_paired_difference(-0.5);
  clipped->set_paired_low(-0.61);
  clipped->set_paired_high(-0.385);
  clipped->set_paired_p(0.0001);
  v1::TableCell* gated = table.mutable_rows(2)->mutable_cells(0);
  gated->set_difference(1);
  gated->set_difference_low(0.5);
  gated->set_difference_high(1.5);
  gated->set_pairs(0);
  gated->set_welch_p(0.25);
  v1::TableCell* lost = table.mutable_rows(3)->mutable_cells(0);
  *lost = Lost(0, 2);
  lost->set_not_run(true);
  table.add_comparison_notes("not compared with vanilla: alone: no row vanilla has their gamma");
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
  v1::Table table;
  table.add_row_headings("method");
  table.add_column_headings("ppl");
  table.add_baseline("vanilla");
  table.set_confidence(0.95);
  for (const char* label : {"vanilla", "paired", "other"}) {
    v1::TableRow* row = table.add_rows();
    row->add_labels(label);
    row->set_baseline_row(0);
    *row->add_cells() = Cell(4, 0.5, 3);
    row->mutable_cells(0)->set_trainings(3);
  }
  v1::TableCell* paired = table.mutable_rows(1)->mutable_cells(0);
  paired->set_pairs(2);
  paired->set_paired_p(0.01);
  table.mutable_rows(2)->mutable_cells(0)->set_welch_p(0.01);
  EXPECT_THAT(WriteTable(table, TableFormat::kText), ::testing::HasSubstr("other    4.00 ± 0.50†\n"));
  table.mutable_rows(0)->mutable_cells(0)->set_trainings(2);
  const std::string text = WriteTable(table, TableFormat::kText);
  EXPECT_THAT(text, ::testing::HasSubstr("paired   4.00 ± 0.50 (n=3)\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("other    4.00 ± 0.50 (n=3)\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("no † for fewer than 3 pairs of trainings, or 3 trainings a side\n"));
}

// Two trainings of three calibrations beside two in float; one training is not calibrated to the end.
TEST(TableNotesTest, TrainingsAndTheirEvaluationsAreCountedApart) {
  v1::Table table;
  for (const char* heading : {"ppl", "W8A8"}) table.add_column_headings(heading);
  for (int i = 0; i < 2; ++i) {
    v1::TableRow* row = table.add_rows();
    *row->add_cells() = Cell(4, 0.5, 2);
    *row->add_cells() = Cell(5, 0.5, 6);
    row->mutable_cells(0)->set_trainings(2);
    row->mutable_cells(0)->set_evaluations(1);
    row->mutable_cells(1)->set_trainings(2);
    row->mutable_cells(1)->set_evaluations(3);
    row->mutable_cells(1)->set_within_std(i == 0 ? 0.031 : 0.0012);
    row->mutable_cells(1)->set_pooled_std(0.4);
  }
  table.mutable_rows(0)->mutable_cells(1)->set_published_mean(6);
  table.mutable_rows(0)->mutable_cells(1)->set_published_std(0.3);
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
  table.mutable_rows(1)->mutable_cells(1)->set_count(5);
  const std::string text = WriteTable(table, TableFormat::kText);
  EXPECT_THAT(text, ::testing::HasSubstr("4.00 ± 0.50 (n=2)   5.00 ± 0.50 (n=2×3) [6.0 ± 0.3]\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("5.00 ± 0.50 (n=2, 5 evaluations)\n"));
}

TEST(TableNotesTest, CorrelationsMeansAndBestPointsAreNotes) {
  v1::Table table;
  for (const char* heading : {"a", "b", "mean"}) table.add_column_headings(heading);
  v1::TableColumn* best = table.add_columns();
  best->set_measurement("accuracy");
  best->mutable_best_of()->add_over("rate");
  best->mutable_best_of()->add_over("batch");
  *table.add_columns() = *best;
  table.mutable_columns(1)->add_mean_over("set");
  v1::TableColumn* mean = table.add_columns();
  mean->add_mean_of()->set_string_value("a");
  google::protobuf::ListValue* list = mean->add_mean_of()->mutable_list_value();
  for (const char* heading : {"a", "b"}) list->add_values()->set_string_value(heading);
  v1::TableRow* row = table.add_rows();
  for (int i = 0; i < 3; ++i) *row->add_cells() = Cell(1, {}, 1);
  v1::TableCorrelation* found = table.add_correlations();
  found->set_x("a");
  found->set_y("b");
  found->set_count(5);
  found->set_rho(-0.7);
  found->set_p(0.233);
  *table.add_correlations() = *found;
  table.mutable_correlations(1)->set_points(v1::RankCorrelation::TRAININGS);
  table.mutable_correlations(1)->set_count(1);
  table.mutable_correlations(1)->clear_rho();
  table.mutable_correlations(1)->clear_p();
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
  v1::Table table;
  for (const char* heading : {"ppl", "norm", "W8A8 ppl"}) table.add_column_headings(heading);
  for (int i = 0; i < 2; ++i) {
    v1::TableRow* row = table.add_rows();
    for (const std::uint32_t count : {2u, 2u, 6u}) *row->add_cells() = Cell(1, 0.5, count);
  }
  EXPECT_THAT(WriteTable(table, TableFormat::kText),
              ::testing::EndsWith("\n\nn = 2 (ppl, norm), 6 (W8A8 ppl)\n"));
  *table.mutable_rows(1)->mutable_cells(2) = Lost(0, 1);
  EXPECT_THAT(WriteTable(table, TableFormat::kText),
              ::testing::HasSubstr("n = 2 (ppl, norm), 6 (W8A8 ppl)\n"));
  table.mutable_rows(1)->mutable_cells(0)->set_count(1);
  const std::string text = WriteTable(table, TableFormat::kText);
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("n = ")));
  EXPECT_THAT(text, ::testing::HasSubstr("1.00 ± 0.50 (n=1)  1.00 ± 0.50 (n=2)"));
}

}  // namespace
}  // namespace inlier
