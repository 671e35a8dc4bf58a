// From the flags of `inlier table` to a TableSpec, and from ROW,COL to a cell.
#include "cli/tables/table_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/tables/table_explanation.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;

v1::TableSpec Own() {
  v1::TableSpec spec;
  spec.add_rows("method");
  spec.add_columns()->set_measurement("perplexity");
  spec.mutable_columns(0)->set_heading("ppl");
  (*spec.mutable_where())["bits"].set_string_value("float");
  (*spec.mutable_where())["model"].set_string_value("BERT");
  (*spec.mutable_baseline())["method"].set_string_value("vanilla");
  return spec;
}

std::string ErrorOf(const TableFlags& flags) {
  v1::TableSpec spec = Own();
  return std::string(ApplyTableFlags(flags, &spec).message());
}

TEST(TableFlagsTest, ColumnsHaveStatisticAndDecimals) {
  TableFlags flags;
  EXPECT_FALSE(flags.any());
  flags.columns = {"perplexity", "max_inf_norm@median:0", "accuracy:4", "loss@best", "f1@mean"};
  EXPECT_TRUE(flags.any());
  v1::TableSpec spec = Own();
  ASSERT_TRUE(ApplyTableFlags(flags, &spec).ok());
  ASSERT_EQ(spec.columns_size(), 5);
  EXPECT_EQ(spec.columns(0).measurement(), "perplexity");
  EXPECT_FALSE(spec.columns(0).has_heading());
  EXPECT_EQ(spec.columns(0).decimals(), 2u);
  EXPECT_EQ(spec.columns(1).measurement(), "max_inf_norm");
  EXPECT_EQ(spec.columns(1).statistic(), v1::TableColumn::MEDIAN);
  EXPECT_EQ(spec.columns(1).decimals(), 0u);
  EXPECT_EQ(spec.columns(2).decimals(), 4u);
  EXPECT_EQ(spec.columns(3).statistic(), v1::TableColumn::BEST);
  EXPECT_EQ(spec.columns(4).statistic(), v1::TableColumn::MEAN);
  EXPECT_EQ(spec.where_size(), 2) << "conditions stay";
  EXPECT_EQ(spec.baseline_size(), 1);
}

TEST(TableFlagsTest, ColumnsAreCorrelatedByHeading) {
  TableFlags flags;
  flags.correlate = {"ppl,norm", "ppl,W8A8 ppl@trainings"};
  EXPECT_TRUE(flags.any());
  v1::TableSpec spec = Own();
  spec.add_correlate()->set_x("old");
  ASSERT_TRUE(ApplyTableFlags(flags, &spec).ok());
  ASSERT_EQ(spec.correlate_size(), 3);
  EXPECT_EQ(spec.correlate(1).points(), v1::RankCorrelation::ROWS);
  EXPECT_EQ(spec.correlate(2).y(), "W8A8 ppl");
  EXPECT_EQ(spec.correlate(2).points(), v1::RankCorrelation::TRAININGS);
  flags.columns = {"loss"};
  spec = Own();
  spec.add_correlate()->set_x("old");
  ASSERT_TRUE(ApplyTableFlags(flags, &spec).ok());
  EXPECT_EQ(spec.correlate_size(), 2) << "its own are of columns that are not there";
  for (const char* wrong : {"ppl", "a,b,c", "a,"}) {
    flags.correlate = {wrong};
    EXPECT_EQ(ErrorOf(flags),
              std::string("--correlate ") + wrong +
                  ": give two headings of columns, A,B, and @trainings for a point a training");
  }
}

// A mean of columns follows the columns that it names.
TEST(TableFlagsTest, MeansOfColumnsAreSplitWithThem) {
  v1::TableSpec spec = Own();
  v1::TableColumn* mean = spec.add_columns();
  mean->set_heading("mean");
  mean->add_mean_of()->set_string_value("ppl");
  mean->add_mean_of()->mutable_list_value()->add_values()->set_string_value("ppl");
  SplitColumns("bits", {"float", "8"}, &spec);
  ASSERT_EQ(spec.columns_size(), 4);
  EXPECT_EQ(spec.columns(1).heading(), "ppl 8");
  EXPECT_EQ(spec.columns(3).heading(), "mean 8");
  EXPECT_EQ(spec.columns(3).mean_of(0).string_value(), "ppl 8");
  EXPECT_EQ(spec.columns(3).mean_of(1).list_value().values(0).string_value(), "ppl 8");
  EXPECT_TRUE(spec.columns(3).where().empty());
}

TEST(TableFlagsTest, MistakesNameTheFlag) {
  TableFlags flags;
  flags.columns = {"loss@medain"};
  EXPECT_EQ(ErrorOf(flags), "--columns loss@medain: unknown statistic \"medain\"; did you mean \"median\"?");
  flags.columns = {"loss:x"};
  EXPECT_EQ(ErrorOf(flags), "--columns loss:x: decimals must be an integer from 0 to 17, got \"x\"");
  flags.columns = {};
  flags.where = {"bits"};
  EXPECT_EQ(ErrorOf(flags), "--where bits: give AXIS=LABEL");
  flags.where = {};
  flags.baseline = {"=vanilla"};
  EXPECT_EQ(ErrorOf(flags), "--baseline =vanilla: give AXIS=LABEL");
  flags.baseline = {};
  flags.fields.set_confidence(95);
  EXPECT_EQ(ErrorOf(flags), "--confidence: give a number from 0.5 to 0.9999");
}

TEST(TableFlagsTest, ConditionsOfOneAxisAreAlternativesAndReplaceThoseOfTheTable) {
  TableFlags flags;
  flags.where = {"bits=8", "bits=float", "gamma=", "causal=true", "name=a=b"};
  v1::TableSpec spec = Own();
  ASSERT_TRUE(ApplyTableFlags(flags, &spec).ok());
  EXPECT_EQ(spec.where_size(), 5);
  const auto& bits = spec.where().at("bits").list_value();
  ASSERT_EQ(bits.values_size(), 2);
  EXPECT_EQ(bits.values(0).number_value(), 8);
  EXPECT_EQ(bits.values(1).string_value(), "float");
  EXPECT_TRUE(spec.where().at("gamma").list_value().values(0).has_null_value());
  EXPECT_TRUE(spec.where().at("causal").list_value().values(0).bool_value());
  EXPECT_EQ(spec.where().at("name").list_value().values(0).string_value(), "a=b");
  EXPECT_EQ(spec.where().at("model").string_value(), "BERT");
}

TEST(TableFlagsTest, OtherRowsHaveNoBaselineButTheirOwn) {
  TableFlags flags;
  flags.rows = {"model", "gamma"};
  v1::TableSpec spec = Own();
  ASSERT_TRUE(ApplyTableFlags(flags, &spec).ok());
  EXPECT_THAT(spec.rows(), ElementsAre("model", "gamma"));
  EXPECT_TRUE(spec.baseline().empty());
  flags.baseline = {"gamma="};
  flags.fields.set_caption("C");
  flags.fields.set_label("tab:c");
  flags.fields.set_title("T");
  flags.fields.set_published("liao2024/1");
  flags.fields.set_confidence(0.9);
  flags.no_bold = true;
  ASSERT_TRUE(ApplyTableFlags(flags, &spec).ok());
  EXPECT_TRUE(spec.baseline().at("gamma").has_null_value());
  EXPECT_EQ(spec.caption() + spec.label() + spec.title() + spec.published(), "Ctab:cTliao2024/1");
  EXPECT_EQ(spec.confidence(), 0.9);
  EXPECT_FALSE(spec.bold());
}

TEST(TableFlagsTest, ColumnsAreSplitByAnAxis) {
  v1::TableSpec spec = Own();
  spec.add_columns()->set_measurement("loss");
  spec.mutable_columns(1)->set_statistic(v1::TableColumn::MEDIAN);
  SplitColumns("bits", {"float", "8", ""}, &spec);
  std::vector<std::string> headings;
  for (const v1::TableColumn& column : spec.columns()) headings.push_back(column.heading());
  EXPECT_THAT(headings,
              ElementsAre("ppl float", "ppl 8", "ppl", "loss median float", "loss median 8", "loss median"));
  EXPECT_EQ(spec.columns(0).where().at("bits").string_value(), "float");
  EXPECT_EQ(spec.columns(4).where().at("bits").number_value(), 8);
  EXPECT_EQ(spec.columns(4).statistic(), v1::TableColumn::MEDIAN);
  EXPECT_TRUE(spec.columns(5).where().at("bits").has_null_value());
}

v1::Table Rows() {
  v1::Table table;
  for (const char* heading : {"ppl", "W8A8 ppl", "2"}) table.add_column_headings(heading);
  for (const auto& [model, method] :
       {std::pair("BERT", "vanilla"), std::pair("BERT", "clipped"), std::pair("OPT", "vanilla")}) {
    v1::TableRow* row = table.add_rows();
    row->add_labels(model);
    row->add_labels(method);
  }
  return table;
}

std::pair<int, int> Found(const std::string& text) {
  const auto place = FindCell(Rows(), text);
  return place.ok() ? std::pair(place->row, place->column) : std::pair(-1, -1);
}
std::string NotFound(const std::string& text) {
  return std::string(FindCell(Rows(), text).status().message());
}

TEST(FindCellTest, ByNumbersAndLabels) {
  EXPECT_EQ(Found("1,1"), std::pair(0, 0));
  EXPECT_EQ(Found("3,W8A8 ppl"), std::pair(2, 1));
  EXPECT_EQ(Found("3,2"), std::pair(2, 2)) << "a heading before a number";
  EXPECT_EQ(Found("clipped,ppl"), std::pair(1, 0)) << "the only row with this label";
  EXPECT_EQ(Found("OPT,vanilla,ppl"), std::pair(2, 0));
  EXPECT_EQ(Found("vanilla,OPT,ppl"), std::pair(2, 0));
}

TEST(FindCellTest, MistakesNameWhatIsThere) {
  EXPECT_EQ(NotFound("1"), "--explain 1: give ROW,COL, by numbers from 1 or by labels");
  EXPECT_EQ(NotFound("1,pl"), "--explain: no column is \"pl\" among 1 to 3; known: ppl, W8A8 ppl, 2");
  EXPECT_EQ(NotFound("1,4"), "--explain: no column is \"4\" among 1 to 3; known: ppl, W8A8 ppl, 2");
  EXPECT_EQ(NotFound("4,1"), "--explain: no row has \"4\" among 1 to 3; known: BERT, vanilla, clipped, OPT");
  EXPECT_EQ(NotFound("vanila,1"), "--explain: no row has \"vanila\" among 1 to 3; did you mean \"vanilla\"?");
  EXPECT_EQ(
      NotFound("vanilla,1"),
      "--explain: 2 rows have \"vanilla\"; give the labels of all columns, LABEL,LABEL,COL, or the row's "
      "number");
  EXPECT_EQ(NotFound("OPT,clipped,1"), "--explain: no row has all of \"OPT,clipped\"");
}

}  // namespace
}  // namespace inlier
