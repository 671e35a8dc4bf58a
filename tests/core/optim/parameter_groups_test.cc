// Which names decay. The golden training cases check whole models; here each rule is tested alone.
#include "core/optim/parameter_groups.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

TEST(ParameterGroupsTest, BiasesNeverDecay) {
  for (bool decay_norm_gamma : {false, true}) {
    EXPECT_FALSE(IsDecayed("cls.predictions.bias", decay_norm_gamma));
    EXPECT_FALSE(IsDecayed("bert.encoder.layer.0.output.LayerNorm.bias", decay_norm_gamma));
    EXPECT_FALSE(IsDecayed("model.decoder.layers.0.self_attn.gate.1.bias", decay_norm_gamma));
  }
}

TEST(ParameterGroupsTest, GainsOfNormsDecayOnlyWhenAsked) {
  for (const char* name :
       {"bert.embeddings.LayerNorm.weight", "model.decoder.layers.0.self_attn_layer_norm.weight",
        "model.decoder.final_layer_norm.weight", "transformer.h.0.ln_1.weight", "transformer.h.0.ln_2.weight",
        "transformer.ln_f.weight", "model.layers.0.input_layernorm.weight",
        "model.layers.0.post_attention_layernorm.weight", "model.norm.weight",
        "vit.encoder.layer.0.layernorm_before.weight", "vit.encoder.layer.0.layernorm_after.weight",
        "vit.layernorm.weight", "vit.embeddings.patch_embeddings.norm.weight",
        "model.layers.0.self_attn.q_norm.weight", "transformer.h.0.attn.k_norm.weight"}) {
    EXPECT_FALSE(IsDecayed(name, false)) << name;
    EXPECT_TRUE(IsDecayed(name, true)) << name;
  }
}

TEST(ParameterGroupsTest, EmbeddingsAndGatesDecay) {
  for (const char* name :
       {"bert.embeddings.word_embeddings.weight", "model.decoder.embed_positions.weight",
        "bert.encoder.layer.0.attention.self.gate.0.weight", "model.decoder.layers.0.self_attn.gate",
        "transformer.wte.weight", "transformer.h.0.attn.c_attn.weight", "model.layers.0.mlp.gate_proj.weight",
        "bert.embeddings.position_embeddings.weight", "vit.embeddings.patch_embeddings.projection.weight",
        "lm_head.weight", "classifier.weight"}) {
    EXPECT_TRUE(IsDecayed(name, false)) << name;
  }
}

TEST(ParameterGroupsTest, NullKeysAndTheTokensOfAVitNeverDecay) {
  for (const char* name :
       {"transformer.h.0.attn.sinks", "transformer.h.0.attn.bias_k", "model.layers.1.self_attn.bias_v",
        "bert.encoder.layer.3.attention.self.sinks", "vit.embeddings.cls_token",
        "vit.embeddings.position_embeddings", "vit.embeddings.register_tokens"}) {
    EXPECT_FALSE(IsDecayed(name, false)) << name;
    EXPECT_FALSE(IsDecayed(name, true)) << name;
  }
}

TEST(ParameterGroupsTest, SplitKeepsEveryParameterOnceAndInOrder) {
  const std::vector<NamedParameter> all = {
      {"a.weight", {}}, {"a.bias", {}}, {"a.LayerNorm.weight", {}}, {"b.weight", {}}};
  const ParameterGroups groups = SplitForDecay(all, false);
  ASSERT_EQ(groups.decayed.size(), 2u);
  EXPECT_EQ(groups.decayed[0].first, "a.weight");
  EXPECT_EQ(groups.decayed[1].first, "b.weight");
  ASSERT_EQ(groups.not_decayed.size(), 2u);
  EXPECT_EQ(groups.not_decayed[0].first, "a.bias");
  EXPECT_EQ(groups.not_decayed[1].first, "a.LayerNorm.weight");
}

}  // namespace
}  // namespace inlier
