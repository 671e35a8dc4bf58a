// Tables as they are asked for: labels as they are written, and rows without columns.
#include <gmock/gmock.h>

#include "spec/schema/struct_value.h"
#include "tests/results/tables/table_fixture.h"

namespace inlier {
namespace {

using AskedTableTest = TableTest;

TEST_F(AskedTableTest, LabelsThatLookLikeNumbersAreFoundAsWritten) {
  MustAddSweep(1, "rates", {{"rate", {"1e-3", "0.001", "2e-3"}}});
  MustAddTrial(1, {{"rate", "1e-3"}}, 1);
  MustAddTrial(1, {{"rate", "0.001"}}, 2);
  MustAddTrial(1, {{"rate", "2e-3"}}, 3);
  v1::TableSpec spec;
  spec.add_columns()->set_measurement("perplexity");
  const auto mean = [&](const std::string& label) {
    (*spec.mutable_where())["rate"] = WrittenValue(label);
    return MustBuild(spec).rows(0).cells(0).mean();
  };
  EXPECT_EQ(mean("1e-3"), 1);
  EXPECT_EQ(mean("0.001"), 2);
  EXPECT_EQ(mean("2e-3"), 3);
  EXPECT_EQ(mean("0.002"), 3);
  spec.add_rows("rate");
  spec.clear_where();
  (*spec.mutable_baseline())["rate"] = WrittenValue("1e-3");
  const v1::Table table = MustBuild(spec);
  EXPECT_EQ(table.baseline(0), "1e-3");
  EXPECT_EQ(table.rows(2).baseline_row(), 0u);
  (*spec.mutable_where())["rate"] = WrittenValue("1.0e-3");
  EXPECT_THAT(ErrorOf(spec), testing::HasSubstr("table.where.rate: the axis has no label \"1.0e-3\""));
}

// Without columns it changes the sweep's own table.
TEST_F(AskedTableTest, RowsWithoutColumnsAreNotIgnored) {
  MustAddSweep(1, "own", {{"method", {"a", "b"}}, {"bits", {"8", "4"}}});
  MustAddTrial(1, {{"method", "a"}, {"bits", "8"}}, 1);
  v1::TableSpec spec;
  spec.add_rows("bits");
  const v1::Table table = MustBuild(spec);
  EXPECT_EQ(table.row_headings_size(), 1);
  EXPECT_EQ(table.row_headings(0), "bits");
  EXPECT_EQ(table.column_headings(0), "perplexity");
  spec.set_rows(0, "bitz");
  EXPECT_THAT(ErrorOf(spec), testing::HasSubstr("table.rows[0]: \"bitz\" is neither an axis"));
}

}  // namespace
}  // namespace inlier
