#include "spec/schema/overrides.h"

#include "gtest/gtest.h"
#include "inlier/v1/config.pb.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

TEST(OverridesTest, LaterOnesWin) {
  v1::TrialSpec spec;
  ASSERT_TRUE(
      ApplyOverrides(&spec, {"training.steps=100", "training.steps=200", "attention.softmax.clipped.alpha=2",
                             "attention.softmax.vanilla={}", "data.text.path=/a=b"})
          .ok());
  EXPECT_EQ(spec.ShortDebugString(),
            "attention { softmax { vanilla { } } } data { text { path: \"/a=b\" } } training { steps: 200 }");
}

TEST(OverridesTest, MistakesAreToldTogetherAndNothingIsChanged) {
  v1::TrialSpec spec;
  const absl::Status status =
      ApplyOverrides(&spec, {"seed=1", "training.step=5", "seed", "dropout=2", "seed=x"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "--set training.step=5: training.step: unknown field; did you mean \"training.steps\"?\n"
            "--set seed: is not path=value; write for example training.steps=100\n"
            "--set dropout=2: dropout: 2 is out of range: give a number at least 0 and below 1\n"
            "--set seed=x: seed: \"x\" is not a number; write a number such as 3, 0.03 or 3e-4");
  EXPECT_EQ(spec.ByteSizeLong(), 0u);
}

TEST(OverridesTest, ConfigurationsTakeThemToo) {
  v1::WorkerConfig config;
  ASSERT_TRUE(ApplyOverrides(&config, {"slots=2", "name=a b"}).ok());
  EXPECT_EQ(config.slots(), 2u);
  EXPECT_EQ(config.name(), "a b");
  ASSERT_TRUE(ApplyOverrides(&config, {"data_roots=/a=b", "data_roots=/c"}).ok());
  EXPECT_EQ(config.data_roots_size(), 2);
  EXPECT_EQ(config.data_roots(0), "/a=b");
}

TEST(OverridesTest, AListOfTextsGrowsAtAnyDepthAndOtherListsAreRefused) {
  v1::CoordinatorConfig config;
  ASSERT_TRUE(
      ApplyOverrides(&config, {"fleet.slurm.options=--exclusive", "fleet.slurm.options=--nice=5"}).ok());
  ASSERT_EQ(config.fleet().slurm().options_size(), 2);
  EXPECT_EQ(config.fleet().slurm().options(1), "--nice=5");
  EXPECT_EQ(ApplyOverrides(&config, {"quotas=a"}).message(),
            "--set quotas=a: quotas: is a list and cannot be named by a path; write it in the file");
}

}  // namespace
}  // namespace inlier
