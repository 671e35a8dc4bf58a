#include "spec/trial/checks/norm_checks.h"

#include "gtest/gtest.h"
#include "spec/trial/unfused_part.h"
#include "spec/trial/validator.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

TEST(NormChecksTest, WhatFitsTheModel) {
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{norm: DYT, dyt_alpha: 0.8, norm_gate: 16}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyGpt2,
                         "{model: {gpt2: {norm_placement: PERI, tied_head: false}}, "
                         "embedding_projection: true, norm: RMS_NORM_S}"),
            "OK");
}

TEST(NormChecksTest, WhatDoesNot) {
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{dyt_alpha: 0.8}"),
            "dyt_alpha: 0.8 has no effect with norm: LAYER_NORM: leave it out, or use norm: DYT or DERF");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{norm_gate: 128}"),
            "norm_gate: 128 is the rank of a gate of model.bert.hidden_size 128: give less, 16 as a rule");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{model: {bert: {norm_placement: ENDS}}}"),
            "model.bert.norm_placement: ENDS has no norms in the layers, whose outputs are what inlier "
            "measures of a BERT: "
            "use PRE, POST or PERI, or another architecture");
  EXPECT_EQ(ErrorOfTrial(kTinyGpt2, "{model: {gpt2: {norm_placement: ENDS}}, residual_gain: 0.5}"), "OK");
  EXPECT_EQ(
      ErrorOfTrial(kTinyBert, "{embedding_projection: true}"),
      "embedding_projection: true is not for model.bert: use model.gpt2 or model.llama, or leave it out");
  EXPECT_EQ(
      ErrorOfTrial(kTinyOpt, "{embedding_projection: true}"),
      "embedding_projection: true is not for model.opt: use model.gpt2 or model.llama, or leave it out");
  EXPECT_EQ(
      ErrorOfTrial(kTinyGpt2, "{embedding_projection: true}"),
      "embedding_projection: true gives embedding and head a matrix each, and model.gpt2.tied_head: true "
      "makes them one: give model.gpt2.tied_head: false");
}

}  // namespace
}  // namespace inlier
