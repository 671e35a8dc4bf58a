// Analyses of people's models: a row a setting, a row a layer, and the next number after a start.
#include <limits>

#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;

AnalysisRow Row(std::uint64_t number) {
  AnalysisRow row{.id = AnalysisId(number),
                  .model = "org/name",
                  .model_sha256 = "abc",
                  .spec_json = "{}",
                  .owner = "alice",
                  .at = {1000},
                  .numbers = {}};
  const auto add = [&row](const char* setting, const char* name, const char* site, double value) {
    v1::AnalysisNumber& number = row.numbers.emplace_back();
    number.set_setting(setting);
    number.set_name(name);
    number.set_site(site);
    number.set_value(value);
  };
  add("float", "max_inf_norm", "", 185.25);
  add("float", "inf_norm", "layer.0", 3.5);
  add("W8A8", "max_inf_norm", "", 180.5);
  add("W8A8", "hidden_change", "", std::numeric_limits<double>::infinity());
  add("W8A8", "sentence_similarity", "", 0.75);
  return row;
}

using AnalysisRowsTest = StoreTest;

TEST_F(AnalysisRowsTest, PeopleSeeARowForEachSettingAndForEachLayer) {
  MustApply(Row(1), Row(2));
  EXPECT_THAT(
      Rows(
          "SELECT analysis, model, setting, max_inf_norm, hidden_change, sentence_similarity, owner, at FROM "
          "analyses WHERE analysis = 'a-2' ORDER BY setting DESC"),
      ElementsAre("a-2|org/name|float|185.25|NULL|NULL|alice|1970-01-01T00:00:01.000Z",
                  "a-2|org/name|W8A8|180.5|NULL|0.75|alice|1970-01-01T00:00:01.000Z"));
  EXPECT_THAT(Rows("SELECT analysis, setting, site, name, value FROM analysis_sites"),
              ElementsAre("a-1|float|layer.0|inf_norm|3.5", "a-2|float|layer.0|inf_norm|3.5"));
}

TEST_F(AnalysisRowsTest, AStartGoesOnWithTheNextNumber) {
  EXPECT_EQ(store_->Load()->next_analysis, 1u);
  MustApply(Row(1), Row(2));
  Reopen();
  EXPECT_EQ(store_->Load()->next_analysis, 3u);
}

}  // namespace
}  // namespace inlier
