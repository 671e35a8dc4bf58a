#include "core/models/parameter_names.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

TEST(ParameterNamesTest, NormsOfEveryArchitecture) {
  for (const char* name :
       {"bert.embeddings.LayerNorm.weight", "bert.encoder.layer.0.output.LayerNorm.bias",
        "cls.predictions.transform.LayerNorm.weight", "model.decoder.layers.3.self_attn_layer_norm.weight",
        "model.decoder.final_layer_norm.bias", "transformer.h.0.ln_1.weight", "transformer.h.11.ln_2.bias",
        "transformer.ln_f.weight", "model.layers.2.input_layernorm.weight",
        "model.layers.2.post_attention_layernorm.weight", "model.norm.weight",
        "vit.encoder.layer.0.layernorm_before.weight", "vit.layernorm.bias",
        "vit.embeddings.patch_embeddings.norm.weight", "model.layers.0.self_attn.q_norm.weight",
        "transformer.h.0.attn.k_norm.bias"}) {
    EXPECT_TRUE(IsNormParameter(name)) << name;
  }
  for (const char* name : {"bert.encoder.layer.0.output.dense.weight", "transformer.wte.weight",
                           "classifier.weight", "norm", "model.decoder.layers.0.self_attn.gate.0.weight",
                           "lm_head.weight", "model.layers.0.self_attn.q_proj.weight"}) {
    EXPECT_FALSE(IsNormParameter(name)) << name;
  }
}

TEST(ParameterNamesTest, GatesOfAttentionAreNotTheGateOfAFeedForwardNetwork) {
  EXPECT_TRUE(IsGateParameter("bert.encoder.layer.0.attention.self.gate"));
  EXPECT_TRUE(IsGateParameter("transformer.h.0.attn.gate.weight"));
  EXPECT_TRUE(IsGateParameter("model.layers.0.self_attn.gate.3.0.bias"));
  EXPECT_FALSE(IsGateParameter("model.layers.0.mlp.gate_proj.weight"));
}

TEST(ParameterNamesTest, LearnedKeysAndNormsOfQueriesAreParts) {
  EXPECT_TRUE(IsKeyValueBias("model.layers.0.self_attn.bias_k"));
  EXPECT_TRUE(IsKeyValueBias("transformer.h.0.attn.bias_v"));
  EXPECT_FALSE(IsKeyValueBias("model.layers.0.self_attn.k_proj.bias"));
  EXPECT_TRUE(IsQueryKeyNorm("model.layers.0.self_attn.q_norm.weight"));
  EXPECT_FALSE(IsQueryKeyNorm("model.layers.0.input_layernorm.weight"));
}

TEST(ParameterNamesTest, OnlyGpt2StoresItsLinearsTurned) {
  EXPECT_TRUE(IsStoredInOut("transformer.h.0.attn.c_attn.weight"));
  EXPECT_TRUE(IsStoredInOut("transformer.h.0.mlp.c_proj.weight"));
  EXPECT_FALSE(IsStoredInOut("transformer.h.0.attn.c_attn.bias"));
  EXPECT_FALSE(IsStoredInOut("transformer.h.0.attn.gate.0.weight"));
  EXPECT_FALSE(IsStoredInOut("model.layers.0.mlp.up_proj.weight"));
}

}  // namespace
}  // namespace inlier
