// Which trainings may have their best step as the result, and which of them are the same.
#include "spec/trial/best_checkpoint.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/trial/canonical.h"
#include "spec/trial/validator.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

using testing::HasSubstr;

// A training of 2000 steps.
absl::StatusOr<v1::TrialSpec> WithTraining(const std::string& training) {
  v1::TrialSpec spec = TrialFrom(kTinyBert);
  spec.MergeFrom(TrialFrom("{training: {" + training + "}}"));
  return ResolveAndValidate(spec);
}

std::string ErrorOfBest(const std::string& training) { return MessageOf(WithTraining(training).status()); }

TEST(BestCheckpointTest, ItComparesWhereItsCurveHasPointsUnlessItIsGiven) {
  EXPECT_EQ(WithTraining("checkpoint: BEST")->training().best_every(), 100u);
  EXPECT_EQ(WithTraining("checkpoint: BEST, measure_outliers_every: 30")->training().best_every(), 30u);
  EXPECT_EQ(
      WithTraining("checkpoint: BEST, measure_outliers_every: 30, best_every: 90")->training().best_every(),
      90u);
  EXPECT_EQ(
      WithTraining("checkpoint: BEST, best_by: quantized_loss, measure_quantized_every: 250, patience: 3")
          ->training()
          .best_every(),
      250u);
  EXPECT_FALSE(WithTraining("")->training().has_best_every());
}

// Where it compares decides the result; how often the curve has a point does not.
TEST(BestCheckpointTest, TheComparedStepsAreInTheFingerprint) {
  const auto print = [](const std::string& training) { return TrainFingerprint(*WithTraining(training)); };
  const std::string best = print("checkpoint: BEST");
  EXPECT_EQ(print("checkpoint: LAST"), print(""));
  EXPECT_NE(best, print(""));
  EXPECT_EQ(print("checkpoint: BEST, best_by: loss, best_every: 100"), best);
  EXPECT_EQ(print("checkpoint: BEST, best_every: 100, measure_outliers_every: 50"), best);
  EXPECT_NE(print("checkpoint: BEST, measure_outliers_every: 50"), best);
  EXPECT_NE(print("checkpoint: BEST, best_by: max_inf_norm"), best);
  EXPECT_NE(print("checkpoint: BEST, patience: 3"), best);
  const v1::TrialSpec back = TrialSpecFromJson(ResolvedJson(*WithTraining("checkpoint: LAST"))).value();
  EXPECT_TRUE(Validate(back).ok()) << Validate(back);
}

TEST(BestCheckpointTest, MistakesAreNamedAtTheirField) {
  const char* const kNoEffect =
      ": has no effect without training.checkpoint: BEST; give it, or leave this out";
  EXPECT_EQ(ErrorOfBest("patience: 3"), std::string("training.patience") + kNoEffect);
  EXPECT_EQ(ErrorOfBest("best_by: float_loss"), std::string("training.best_by") + kNoEffect);
  EXPECT_EQ(ErrorOfBest("best_every: 200"), std::string("training.best_every") + kNoEffect);
  EXPECT_THAT(ErrorOfBest("checkpoint: BEST, best_by: los"),
              HasSubstr("training.best_by: \"los\" is not a measurement; did you mean \"loss\""));
  for (const std::string curve :
       {"train_loss", "perplexity", "tokens_per_second", "attention_entropy", "inf_norm"})
    EXPECT_THAT(
        ErrorOfBest("checkpoint: BEST, best_by: " + curve),
        HasSubstr("training.best_by: \"" + curve +
                  "\" is not a curve of the validation part with a better direction; give one such as loss"));
  EXPECT_THAT(
      ErrorOfBest("checkpoint: BEST, best_by: quantized_loss"),
      HasSubstr("quantized_loss is never taken while training, for training.measure_quantized_every is 0"));
  EXPECT_THAT(ErrorOfBest("checkpoint: BEST, best_every: 150"),
              HasSubstr("training.best_every: 150 is not a multiple of training.measure_outliers_every 100"));
  EXPECT_THAT(ErrorOfBest("checkpoint: BEST, steps: 100"),
              HasSubstr("training.best_every: 100 leaves no point before the end at step 100"));
  EXPECT_EQ(ErrorOfBest("checkpoint: BEST, patience: 18"), "OK");
  EXPECT_THAT(ErrorOfBest("checkpoint: BEST, patience: 19"),
              HasSubstr("training.patience: 19 never ends the training: of its 2000 steps only every 100th"));
  EXPECT_THAT(TrialError("training: {checkpoint: BEST, patience: 0}"),
              HasSubstr("training.patience: 0 is out of range"));
}

}  // namespace
}  // namespace inlier
