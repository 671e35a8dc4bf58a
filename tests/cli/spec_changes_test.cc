#include "cli/spec_changes.h"

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::SweepSpec Spec(const std::string& text) {
  v1::SweepSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec));
  return spec;
}

TEST(SpecChangesTest, EachFieldThatDiffersHasItsOldAndItsNewValue) {
  const v1::SweepSpec before = Spec(R"(name: "s" priority: 3 max_parallel: 1
      axes { field: "seed" values { number_value: 1 } }
      axes { name: "method" variants { label: "vanilla" } variants { label: "a" set { fields {
        key: "attention" value { string_value: "x" } } } } })");
  EXPECT_THAT(SpecChanges(before, before), IsEmpty());
  EXPECT_THAT(
      SpecChanges(Spec("program { digest: 'd' }"), Spec("program { digest: 'd' source { commit: 'c' } }")),
      IsEmpty());
  const v1::SweepSpec after = Spec(R"(name: "s" max_parallel: 2 weight: 0.5
      axes { field: "seed" values { number_value: 1 } values { number_value: 2 } }
      axes { name: "method" variants { label: "vanilla" } variants { label: "a" set { fields {
        key: "attention" value { string_value: "y" } } } } })");
  EXPECT_THAT(
      SpecChanges(before, after),
      ElementsAre("axes.seed.values: [1] -> [1,2]", "axes.method.variants.a.set.attention: \"x\" -> \"y\"",
                  "priority: 3 -> default", "max_parallel: 1 -> 2", "weight: default -> 0.5"));
}

TEST(SpecChangesTest, AnAxisThatIsNewOrGoneIsShown) {
  const v1::SweepSpec one = Spec(R"(name: "s" axes { field: "seed" values { number_value: 1 } })");
  const v1::SweepSpec other =
      Spec(R"(name: "s" axes { field: "seed" name: "run" values { number_value: 1 } })");
  EXPECT_THAT(SpecChanges(one, other),
              ElementsAre("axes.seed.name: \"seed\" -> default", "axes.seed.field: \"seed\" -> default",
                          "axes.seed.values: [1] -> default", "axes.run.name: default -> \"run\"",
                          "axes.run.field: default -> \"seed\"", "axes.run.values: default -> [1]"));
}

}  // namespace
}  // namespace inlier
