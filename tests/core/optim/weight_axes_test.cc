// The axes of every weight of the five architectures, by name.
#include "core/optim/weight_axes.h"

#include <gtest/gtest.h>

#include <string>

namespace inlier {
namespace {

constexpr const char* kTables[] = {
    "bert.embeddings.word_embeddings.weight",
    "bert.embeddings.position_embeddings.weight",
    "bert.embeddings.token_type_embeddings.weight",
    "model.decoder.embed_tokens.weight",
    "model.decoder.embed_positions.weight",
    "model.embed_tokens.weight",
    "transformer.wte.weight",
    "transformer.wpe.weight",
};
constexpr const char* kReaders[] = {
    "bert.encoder.layer.0.attention.self.query.weight",
    "bert.encoder.layer.11.attention.self.key.weight",
    "bert.encoder.layer.0.attention.self.value.weight",
    "bert.encoder.layer.0.intermediate.dense.weight",
    "cls.predictions.transform.dense.weight",
    "model.decoder.layers.0.self_attn.q_proj.weight",
    "model.decoder.layers.0.self_attn.k_proj.weight",
    "model.decoder.layers.0.self_attn.v_proj.weight",
    "model.decoder.layers.0.fc1.weight",
    "model.layers.0.self_attn.q_proj.weight",
    "model.layers.0.mlp.gate_proj.weight",
    "model.layers.0.mlp.up_proj.weight",
    "lm_head.weight",
    "vit.encoder.layer.0.attention.attention.query.weight",
    "vit.encoder.layer.0.attention.attention.key.weight",
    "vit.encoder.layer.0.attention.attention.value.weight",
    "vit.encoder.layer.0.intermediate.dense.weight",
    "classifier.weight",
    "bert.pooler.dense.weight",
    "model.decoder.project_out.weight",
    "model.decoder.layers.0.self_attn.gate.weight",
    "bert.encoder.layer.0.attention.self.gate.weight",
};
constexpr const char* kWriters[] = {
    "bert.encoder.layer.0.attention.output.dense.weight",
    "bert.encoder.layer.0.output.dense.weight",
    "model.decoder.layers.0.self_attn.out_proj.weight",
    "model.decoder.layers.0.fc2.weight",
    "model.layers.0.self_attn.o_proj.weight",
    "model.layers.0.mlp.down_proj.weight",
    "vit.encoder.layer.0.attention.output.dense.weight",
    "vit.encoder.layer.0.output.dense.weight",
    "model.decoder.project_in.weight",
    "vit.embeddings.patch_embeddings.projection.weight",
};
constexpr const char* kAwayFromTheStream[] = {
    "bert.encoder.layer.0.attention.self.gate.3.weight",
    "bert.encoder.layer.0.attention.self.gate.3.0.weight",
    "model.decoder.layers.0.self_attn.gate",
    "transformer.h.0.attn.gate.0.2.weight",
    "something.else.weight",
    "embed_tokens",
    "x.notfc1.weight",
    "query.bias",
};

TEST(WeightAxesTest, TablesHaveFeaturesOnAxisOneAndNoOutput) {
  for (const char* name : kTables) {
    const WeightAxes axes = AxesOf(name);
    EXPECT_EQ(axes.input, 1) << name;
    EXPECT_EQ(axes.output, std::nullopt) << name;
    EXPECT_EQ(axes.residual, 1) << name;
  }
}

TEST(WeightAxesTest, LinearWeightsAreStoredOutputFirst) {
  for (const char* name : kReaders) {
    EXPECT_EQ(AxesOf(name).input, 1) << name;
    EXPECT_EQ(AxesOf(name).output, 0) << name;
    EXPECT_EQ(AxesOf(name).residual, 1) << name;
  }
  for (const char* name : kWriters) {
    EXPECT_EQ(AxesOf(name).input, 1) << name;
    EXPECT_EQ(AxesOf(name).output, 0) << name;
    EXPECT_EQ(AxesOf(name).residual, 0) << name;
  }
}

TEST(WeightAxesTest, Gpt2StoresItsConvolutionsInputFirst) {
  for (const char* name : {"transformer.h.0.attn.c_attn.weight", "transformer.h.0.mlp.c_fc.weight"}) {
    EXPECT_EQ(AxesOf(name).input, 0) << name;
    EXPECT_EQ(AxesOf(name).output, 1) << name;
    EXPECT_EQ(AxesOf(name).residual, 0) << name;
  }
  for (const char* name : {"transformer.h.0.attn.c_proj.weight", "transformer.h.0.mlp.c_proj.weight"}) {
    EXPECT_EQ(AxesOf(name).input, 0) << name;
    EXPECT_EQ(AxesOf(name).output, 1) << name;
    EXPECT_EQ(AxesOf(name).residual, 1) << name;
  }
}

TEST(WeightAxesTest, TokensOfAVitWriteTheStreamOnTheirLastAxis) {
  for (const char* name :
       {"vit.embeddings.cls_token", "vit.embeddings.position_embeddings", "vit.embeddings.register_tokens"}) {
    EXPECT_EQ(AxesOf(name).residual, 2) << name;
    EXPECT_EQ(AxesOf(name).output, std::nullopt) << name;
    EXPECT_FALSE(AxesOf(name).hidden) << name;
  }
}

TEST(WeightAxesTest, LearnedKeysAndValuesAreATableAwayFromTheStream) {
  for (const char* name : {"transformer.h.0.attn.bias_k", "model.layers.3.self_attn.bias_v"}) {
    EXPECT_EQ(AxesOf(name).input, 1) << name;
    EXPECT_EQ(AxesOf(name).output, std::nullopt) << name;
    EXPECT_EQ(AxesOf(name).residual, std::nullopt) << name;
    EXPECT_FALSE(AxesOf(name).hidden) << name;
  }
}

TEST(WeightAxesTest, HiddenMatricesAreThoseOfLayers) {
  const auto expect_hidden = [](const auto& names) {
    for (const std::string name : names) {
      const bool in_layer = name.find(".layer.") != name.npos || name.find(".layers.") != name.npos;
      EXPECT_EQ(AxesOf(name).hidden, in_layer && !name.ends_with(".gate.weight")) << name;
    }
  };
  expect_hidden(kReaders);
  expect_hidden(kWriters);
  for (const char* name : kTables) EXPECT_FALSE(AxesOf(name).hidden) << name;
  for (const char* name : kAwayFromTheStream) EXPECT_FALSE(AxesOf(name).hidden) << name;
  EXPECT_TRUE(AxesOf("transformer.h.0.mlp.c_fc.weight").hidden);
  EXPECT_EQ(AxesOf("transformer.h.0.mlp.c_fc.weight").parts, 1);
  EXPECT_EQ(AxesOf("transformer.h.0.attn.c_attn.weight").parts, 3) << "query, key and value";
}

TEST(WeightAxesTest, GatesOfOneHeadAndUnknownWeightsAreAwayFromTheResidualStream) {
  for (const char* name : kAwayFromTheStream) {
    EXPECT_EQ(AxesOf(name).input, 1) << name;
    EXPECT_EQ(AxesOf(name).output, 0) << name;
    EXPECT_EQ(AxesOf(name).residual, std::nullopt) << name;
  }
}

}  // namespace
}  // namespace inlier
