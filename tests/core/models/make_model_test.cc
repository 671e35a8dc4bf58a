#include "core/models/make_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <set>
#include <string>

#include "tests/core/models/test_models.h"

namespace inlier {
namespace {

std::string ErrorOf(const v1::TrialSpec& spec) {
  const auto model = MakeLanguageModel(spec);
  if (model.ok()) return "made";
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(model.status().message());
}

// The published sizes: bert-base-uncased without a pooler, facebook/opt-125m and opt-350m (post-LN, 512-wide
// embeddings).
TEST(MakeModelTest, ThePapersModelsHaveThePublishedNumberOfParameters) {
  v1::TrialSpec spec;
  const auto count = [&](const std::string& model) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("model { " + model + " }", &spec));
    return CountParameters(**MakeLanguageModel(spec));
  };
  EXPECT_EQ(count("bert { layers: 12 hidden_size: 768 heads: 12 ffn_size: 3072 vocab_size: 30522 "
                  "max_positions: 512 }"),
            109'514'298);
  EXPECT_EQ(count("opt { layers: 12 hidden_size: 768 heads: 12 ffn_size: 3072 vocab_size: 50272 "
                  "max_positions: 2048 }"),
            125'239'296);
  EXPECT_EQ(
      count(
          "opt { layers: 24 hidden_size: 1024 heads: 16 ffn_size: 4096 vocab_size: 50272 max_positions: 2048 "
          "embedding_size: 512 norm_placement: POST }"),
      331'196'416);
}

TEST(MakeModelTest, MissingOrUnfitSettingsAreNamedByTheirPath) {
  EXPECT_EQ(ErrorOf({}), "model: one of bert, opt, gpt2, llama and vit must be given");
  for (const char* field : {"layers", "hidden_size", "heads", "ffn_size", "vocab_size", "max_positions"}) {
    v1::TrialSpec spec = SmallSpec("bert");
    v1::BertSpec* bert = spec.mutable_model()->mutable_bert();
    bert->GetReflection()->ClearField(bert, bert->GetDescriptor()->FindFieldByName(field));
    EXPECT_EQ(ErrorOf(spec), std::string("model.bert.") + field + ": must be given and at least 1");
  }
  v1::TrialSpec spec = SmallSpec("opt");
  spec.mutable_model()->mutable_opt()->set_heads(3);
  EXPECT_EQ(ErrorOf(spec), "model.opt.heads: 3 does not divide hidden_size 16");
  EXPECT_EQ(ErrorOf(SmallSpec("opt", "softmax { clipped {} }")),
            "attention.softmax.clipped: gamma or alpha must be given");
  EXPECT_EQ(ErrorOf(SmallSpec("opt", "gate { mlp {} }")), "attention.gate.mlp.hidden_size: must be given");
  EXPECT_THAT(ErrorOf(SmallSpec("opt", "gate { pooled: true }")),
              ::testing::HasSubstr("attention.gate.pooled: has no effect"));
  EXPECT_THAT(ErrorOf(SmallSpec("opt", "gate { unconditional {} pooled: true }")),
              ::testing::HasSubstr("attention.gate.pooled: has no effect"));
  EXPECT_THAT(ErrorOf(SmallSpec("opt", "gate { output_factor: 2 }")),
              ::testing::HasSubstr("attention.gate.output_factor: has no effect"));
}

TEST(MakeModelTest, AlphaIsGammaTimesTheConfiguredLength) {
  const auto with_alpha = SmallModel(
      SmallSpec("opt", "softmax { clipped { alpha: 2 } }", "", "data { text { sequence_length: 40 } }"));
  const auto with_gamma = SmallModel(SmallSpec("opt", "softmax { clipped { gamma: -0.05 } }"));
  const auto vanilla = SmallModel(SmallSpec("opt"));
  const ModelInput input = SmallInput();
  EXPECT_TRUE(with_alpha->Logits(input).equal(with_gamma->Logits(input)));
  EXPECT_FALSE(with_alpha->Logits(input).equal(vanilla->Logits(input)));
}

class InitialiseWeightsTest : public ::testing::Test {
 protected:
  // Wide enough for statistics.
  static v1::TrialSpec Wide(const std::string& architecture, const std::string& fields = "",
                            const std::string& attention = "") {
    v1::TrialSpec spec;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "model { " + architecture +
            " { layers: 2 hidden_size: 256 heads: 4 ffn_size: 512 vocab_size: 300 max_positions: 64 " +
            fields + " } } attention { " + attention + " }",
        &spec));
    return spec;
  }
};

// 256 inputs: uniform in +-1/16, standard deviation 1 / (16 sqrt 3).
TEST_F(InitialiseWeightsTest, ReferenceAttentionIsUniformAndTheRestIsNormal) {
  for (const std::string architecture : {"bert", "opt"}) {
    const double std = architecture == "bert" ? 0.02 : 0.006;
    const auto model = SmallModel(Wide(architecture));
    const std::set<std::string> fresh_bert = {"query", "key", "value"},
                                fresh_opt = {"q_proj", "k_proj", "v_proj", "out_proj"};
    int fresh_count = 0;
    for (const auto& item : model->named_parameters()) {
      const std::string& name = item.key();
      const at::Tensor& value = item.value();
      const std::string module = name.substr(0, name.rfind('.'));
      const std::string last = module.substr(module.rfind('.') + 1);
      const bool is_bias = name.ends_with("bias");
      if ((architecture == "bert" ? fresh_bert : fresh_opt).count(last) != 0) {
        ++fresh_count;
        EXPECT_LE(value.abs().max().item<double>(), 1.0 / 16) << name;
        EXPECT_NEAR(value.std().item<double>() * 16 * std::sqrt(3.0), 1, is_bias ? 0.2 : 0.02) << name;
      } else if (name.find("LayerNorm") != std::string::npos ||
                 name.find("layer_norm") != std::string::npos) {
        EXPECT_TRUE(value.eq(is_bias ? 0 : 1).all().item<bool>()) << name;
      } else if (is_bias) {
        EXPECT_EQ(value.abs().sum().item<float>(), 0) << name;
      } else {
        EXPECT_NEAR(value.std().item<double>() / std, 1,
                    name.find("token_type") != std::string::npos ? 0.2 : 0.03)
            << name;
        EXPECT_GT(value.abs().max().item<double>(), 2 * std) << name;
      }
    }
    EXPECT_EQ(fresh_count, architecture == "bert" ? 2 * 3 * 2 : 2 * 4 * 2);
    const at::Tensor table =
        model->named_parameters()[architecture == "bert" ? "bert.embeddings.word_embeddings.weight"
                                                         : "model.decoder.embed_tokens.weight"];
    EXPECT_EQ(table[model->pad_id()].abs().sum().item<float>(), 0);
    EXPECT_EQ(table.abs().sum(1).eq(0).sum().item<int>(), 1);
  }
}

TEST_F(InitialiseWeightsTest, LibraryAttentionIsNormalWithoutBias) {
  for (const std::string architecture : {"bert", "opt"}) {
    const auto model = SmallModel(Wide(architecture, "initialisation: LIBRARY initial_std: 0.1"));
    const std::string query = architecture == "bert" ? "bert.encoder.layer.1.attention.self.query"
                                                     : "model.decoder.layers.1.self_attn.q_proj";
    EXPECT_NEAR(model->named_parameters()[query + ".weight"].std().item<double>(), 0.1, 0.003);
    EXPECT_EQ(model->named_parameters()[query + ".bias"].abs().sum().item<float>(), 0);
  }
}

TEST_F(InitialiseWeightsTest, Gpt2DividesWhatWritesTheResidual) {
  const auto parameters = SmallModel(Wide("gpt2"))->named_parameters();
  const std::string layer = "transformer.h.1.";
  EXPECT_NEAR(parameters[layer + "attn.c_proj.weight"].std().item<double>(), 0.02 / 2, 0.0003);
  EXPECT_NEAR(parameters[layer + "mlp.c_proj.weight"].std().item<double>(), 0.02 / 2, 0.0003);
  EXPECT_NEAR(parameters[layer + "attn.c_attn.weight"].std().item<double>(), 0.02, 0.0003);
  EXPECT_NEAR(parameters["transformer.wpe.weight"].std().item<double>(), 0.02, 0.0006);
  EXPECT_TRUE(parameters["transformer.ln_f.weight"].eq(1).all().item<bool>());
  EXPECT_GT(parameters["transformer.wte.weight"][0].abs().sum().item<float>(), 0)
      << "there is no padding row";
}

// 256 inputs of 768 outputs, stored as (in, out): the limit follows the inputs.
TEST_F(InitialiseWeightsTest, FreshLinearsOfTheOthersFollowTheirInputs) {
  const auto gpt2 = SmallModel(Wide("gpt2", "initialisation: REFERENCE"))->named_parameters();
  const at::Tensor c_attn = gpt2["transformer.h.0.attn.c_attn.weight"];
  EXPECT_LE(c_attn.abs().max().item<double>(), 1.0 / 16);
  EXPECT_GT(c_attn.abs().max().item<double>(), 0.99 / 16);
  EXPECT_GT(gpt2["transformer.h.0.attn.c_attn.bias"].abs().max().item<double>(), 0.9 / 16);
  const auto llama = SmallModel(Wide("llama", "initialisation: REFERENCE"))->named_parameters();
  EXPECT_GT(llama["model.layers.1.self_attn.k_proj.weight"].abs().max().item<double>(), 0.99 / 16);
  EXPECT_NEAR(llama["model.layers.1.self_attn.o_proj.weight"].std().item<double>(), 0.02, 0.0003);
  EXPECT_NEAR(llama["model.layers.1.mlp.gate_proj.weight"].std().item<double>(), 0.02, 0.0003);
  EXPECT_FALSE(llama.contains("model.layers.1.mlp.gate_proj.bias"));
}

// 3 channels of 4 x 4 pixels are 48 inputs. As a convolution of the library, and of timm, starts.
TEST_F(InitialiseWeightsTest, PatchesStartAsTheOthersOrAsAConvolution) {
  const auto parameters = [](const std::string& fields) {
    v1::TrialSpec spec;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString("model { vit { layers: 1 hidden_size: 256 heads: 4 "
                                                      "ffn_size: 64 image_size: 8 patch_size: 4 channels: 3 "
                                                      "classes: 2 " +
                                                          fields + " } }",
                                                      &spec));
    const auto model = MakeModel(spec).value();
    InitialiseWeights(*model, spec, 1);
    return model->named_parameters();
  };
  const std::string projection = "vit.embeddings.patch_embeddings.projection.";
  const auto others = parameters("");
  EXPECT_NEAR(others[projection + "weight"].std().item<double>(), 0.02, 0.001);
  EXPECT_EQ(others[projection + "bias"].abs().max().item<float>(), 0);
  const auto convolution = parameters("patch_initialisation: CONVOLUTION");
  const double limit = 1 / std::sqrt(48.0);
  for (const char* name : {"weight", "bias"}) {
    const at::Tensor values = convolution[projection + name];
    EXPECT_LE(values.abs().max().item<double>(), limit) << name;
    EXPECT_GT(values.abs().max().item<double>(), 0.97 * limit) << name;
    EXPECT_NEAR(values.std().item<double>() / limit * std::sqrt(3.0), 1, 0.1) << name;
  }
  for (const auto& item : others) {
    if (!item.key().starts_with(projection)) {
      EXPECT_TRUE(convolution[item.key()].equal(item.value())) << item.key();
    }
  }
}

TEST_F(InitialiseWeightsTest, GatesStartAsOpenAsAsked) {
  const auto parameters = [](const std::string& gate) {
    return SmallModel(Wide("opt", "", "gate { " + gate + " }"))->named_parameters();
  };
  const std::string prefix = "model.decoder.layers.0.self_attn.gate";
  const double logit = std::log(0.25 / 0.75);
  const auto linear = parameters("linear { pi_init: 0.25 }");
  EXPECT_NEAR(linear[prefix + ".3.bias"].item<double>(), logit, 1e-6);
  EXPECT_LE(linear[prefix + ".3.weight"].abs().max().item<double>(), 1.0 / 8);
  EXPECT_GT(linear[prefix + ".3.weight"].abs().max().item<double>(), 0.8 / 8);
  const auto all_heads = parameters("all_heads_linear {}");
  EXPECT_LE(all_heads[prefix + ".weight"].abs().max().item<double>(), 1.0 / 16);
  EXPECT_LE(all_heads[prefix + ".bias"].abs().max().item<double>(), 1.0 / 16);
  EXPECT_GT(all_heads[prefix + ".bias"].abs().max().item<double>(), 0);
  const auto all_heads_pi = parameters("all_heads_linear { pi_init: 0.25 }");
  EXPECT_TRUE(torch::allclose(all_heads_pi[prefix + ".bias"], torch::full({4}, logit, at::kFloat)));
  const auto mlp = parameters("mlp { hidden_size: 16 }");
  EXPECT_GT(mlp[prefix + ".0.0.bias"].abs().max().item<double>(), 0);
  EXPECT_LE(mlp[prefix + ".0.2.weight"].abs().max().item<double>(), 1.0 / 4);
  EXPECT_GT(mlp[prefix + ".0.2.weight"].abs().max().item<double>(), 1.0 / 8);
  EXPECT_EQ(parameters("unconditional {}")[prefix].abs().sum().item<float>(), 0);
  EXPECT_TRUE(torch::allclose(parameters("unconditional { pi_init: 0.25 }")[prefix],
                              torch::full({4}, logit, at::kFloat)));
}

TEST_F(InitialiseWeightsTest, TheSeedAndTheNameDecideEverything) {
  const auto first = SmallModel(SmallSpec("bert"), 7)->named_parameters();
  const auto again = SmallModel(SmallSpec("bert"), 7)->named_parameters();
  const auto other = SmallModel(SmallSpec("bert"), 8)->named_parameters();
  const auto gated = SmallModel(SmallSpec("bert", "gate { mlp { hidden_size: 3 } }"), 7)->named_parameters();
  for (const auto& item : first) {
    EXPECT_TRUE(again[item.key()].equal(item.value())) << item.key();
    EXPECT_TRUE(gated[item.key()].equal(item.value())) << item.key() << " changed with the gate";
    const bool constant = item.value().max().equal(item.value().min());
    EXPECT_NE(other[item.key()].equal(item.value()), !constant) << item.key();
  }
  EXPECT_FALSE(first["bert.encoder.layer.0.output.dense.weight"].equal(
      first["bert.encoder.layer.1.output.dense.weight"]));
}

}  // namespace
}  // namespace inlier
