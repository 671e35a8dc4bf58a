// docs/reference/schema.md is generated from the database. When it is out of date, its new text is written to
// the build folder:
//   cp <build>/tests/coordinator/store/schema.md docs/reference/schema.md
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "coordinator/store/views/param_view.h"
#include "spec/trial/measurements.h"
#include "tests/coordinator/store/schema_reference.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;

TEST(SchemaReferenceTest, DocumentIsUpToDate) {
  std::ifstream file(std::string(INLIER_SOURCE_DIR) + "/docs/reference/schema.md");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string wanted = SchemaReference();
  if (text.str() == wanted) return;
  const std::string path = std::string(INLIER_BINARY_DIR) + "/schema.md";
  std::ofstream(path) << wanted;
  FAIL() << "docs/reference/schema.md is out of date: cp " << path << " docs/reference/schema.md";
}

TEST(SchemaReferenceTest, NamesEveryViewTableAndRuleWithAComment) {
  const std::string text = SchemaReference();
  for (const char* part :
       {"### results\n", "### curves\n", "| perplexity |",
        "### attempt\n\nOne execution of a stage by one worker.",
        "| token | INTEGER | Fencing number; grows for the life of the database. |", "`attempt_one_live`",
        "- `attempt_token_grows`: Tokens only grow, even if attempts were ever deleted."}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, ::testing::Not(HasSubstr("|  |")));  // Something without a comment.
}

TEST(SchemaReferenceTest, EveryFinalMeasurementOfATrialIsAColumnOfResults) {
  const View* results = nullptr;
  const std::vector<View> views = UserViews();
  for (const View& view : views) {
    if (view.name == "results") results = &view;
  }
  ASSERT_NE(results, nullptr);
  std::vector<std::string> columns;
  for (const ViewColumn& column : results->columns) columns.push_back(column.name);
  for (const MeasurementInfo& info : Measurements()) {
    if (!info.final || info.axis == "site") continue;
    EXPECT_THAT(columns, ::testing::Contains(std::string(info.name)));
  }
  EXPECT_THAT(columns, ::testing::Not(::testing::Contains("inf_norm")));  // One a module.
}

}  // namespace
}  // namespace inlier
