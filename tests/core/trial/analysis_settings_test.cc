#include "core/trial/analysis_settings.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

TEST(AnalysisSettingsTest, BitsAloneAreOfTheSchemeForBertAndOpt) {
  v1::QuantizationSpec setting;
  setting.mutable_weights()->set_bits(8);
  setting.mutable_activations()->set_bits(4);
  v1::ModelSpec bert, gpt2, llama;
  bert.mutable_bert();
  gpt2.mutable_gpt2();
  llama.mutable_llama();
  EXPECT_TRUE(CheckScheme(setting, bert).ok());
  EXPECT_EQ(CheckScheme(setting, gpt2).message(),
            "W8A4: bits without a scheme are for BERT and OPT only; for model.gpt2 name a scheme in place of "
            "--bits: "
            "--quantization '{weights: {bits: 8}, activations: {bits: 4}, absmax: {}}'");
  EXPECT_FALSE(CheckScheme(setting, llama).ok());
  setting.mutable_absmax();
  EXPECT_TRUE(CheckScheme(setting, gpt2).ok());
  for (const v1::QuantizationSpec& usual : UsualSettings(gpt2)) EXPECT_TRUE(CheckScheme(usual, gpt2).ok());
}

}  // namespace
}  // namespace inlier
