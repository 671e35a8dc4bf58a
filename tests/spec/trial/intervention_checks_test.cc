#include "spec/trial/checks/intervention_checks.h"

#include <string>

#include "gtest/gtest.h"
#include "spec/trial/validator.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

// Two layers of two heads.
std::string EvaluationErrorOf(const std::string& evaluation) {
  return MessageOf(
      ResolveAndValidate(TrialFrom("{model: {gpt2: {preset: tiny, layers: 2, heads: 2}}, data: {text: "
                                   "{corpus: kjv}}, training: {steps: 9}, evaluation: " +
                                   evaluation + "}"))
          .status());
}

TEST(InterventionChecksTest, WhatIsPossible) {
  for (const char* intervention :
       {"{massive_activations: ZERO}", "{massive_activations: MEAN, massive_threshold: 50}",
        "{first_key: REMOVED}", "{value_scale: 0}", "{heads_off: '0.0 1.1'}",
        "{heads_off: ' 1.0  ', first_key: RENORMALIZED}"})
    EXPECT_EQ(EvaluationErrorOf(std::string("{intervention: ") + intervention + "}"), "OK") << intervention;
}

TEST(InterventionChecksTest, WhatHasNoEffectOrNoHeadIsRefused) {
  EXPECT_EQ(EvaluationErrorOf("{intervention: {}}"),
            "evaluation.intervention: changes nothing: give massive_activations, first_key, value_scale or "
            "heads_off, "
            "or leave it out");
  EXPECT_EQ(EvaluationErrorOf("{intervention: {massive_ratio: 10, value_scale: 2}}"),
            "evaluation.intervention.massive_activations: KEPT leaves massive activations as they are, and "
            "their limits "
            "without effect: use ZERO or MEAN, or leave massive_threshold and massive_ratio out");
  EXPECT_EQ(EvaluationErrorOf("{intervention: {heads_off: '2.0 0.2'}}"),
            "evaluation.intervention.heads_off: 0.2 is no head of model.gpt2, which has 2 layers of 2 heads, "
            "from 0.0 to "
            "1.1\nevaluation.intervention.heads_off: 2.0 is no head of model.gpt2, which has 2 layers of 2 "
            "heads, from "
            "0.0 to 1.1");
  for (const char* word : {"1", "a.0", "0.-1", "0.1.1", "0.1,"})
    EXPECT_EQ(EvaluationErrorOf("{intervention: {heads_off: '" + std::string(word) + "'}}"),
              "evaluation.intervention.heads_off: '" + std::string(word) +
                  "' is no head: write layer.head from 0, with spaces between, such as \"0.1 3.7\"");
  EXPECT_EQ(EvaluationErrorOf("{intervention: {heads_off: '0.1 0.1'}}"),
            "evaluation.intervention.heads_off: '0.1' is there twice");
}

TEST(InterventionChecksTest, SensitivityIsOfTheModelAsItIs) {
  EXPECT_EQ(EvaluationErrorOf(
                "{intervention: {value_scale: 2}, sensitivity_batches: 1}, quantization: {weights: {}, "
                "absmax: {}}"),
            "evaluation.sensitivity_batches: is of the model as it was trained: measure it without "
            "evaluation.intervention");
}

}  // namespace
}  // namespace inlier
