// Projected gates, norms of queries and keys, the key and value bias, in whole models: identities that hold for every
// architecture, what a tap sees of keys and values, initial weights. Numbers: the golden cases; gradients:
// gradient_check_test.cc.
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <map>
#include <string>
#include <vector>

#include "core/nn/attention/rotary.h"
#include "spec/trial/unfused_part.h"
#include "tests/core/models/test_models.h"
#include "tests/core/support/recording_tap.h"

namespace inlier {
namespace {

std::string FieldsOf(const std::string& architecture) {
  return std::string(architecture == "llama" ? "kv_heads: 2 " : "") + "initial_std: 0.3 norm_epsilon: 1e-12";
}

// In float64, with weights far from 0.
std::shared_ptr<LanguageModel> WideModel(const std::string& architecture, const std::string& attention) {
  const auto model = SmallModel(SmallSpec(architecture, attention, FieldsOf(architecture)));
  model->to(at::kDouble);
  return model;
}

// The parameters whose name ends so.
std::vector<at::Tensor> Ending(const torch::nn::Module& model, const std::string& end) {
  std::vector<at::Tensor> found;
  for (const auto& item : model.named_parameters()) {
    if (item.key().ends_with(end)) found.push_back(item.value());
  }
  return found;
}

double Apart(LanguageModel& a, LanguageModel& b, const ModelInput& input) {
  const at::NoGradGuard no_grad;
  return (a.Logits(input) - b.Logits(input)).abs().max().item<double>();
}

ModelInput PaddedInput() {
  ModelInput input = SmallInput();
  input.attention_mask = torch::ones_like(input.ids);
  input.attention_mask[1].slice(0, 6).zero_();
  return input;
}

// A key of zeros has the score 0 under every query, and a value of zeros adds nothing: the null key of softmax-1.
TEST(AttentionPartsTest, ABiasOfZerosIsSoftmaxOne) {
  for (const std::string architecture : kArchitectures) {
    const auto bias = WideModel(architecture, "key_value_bias: true");
    const auto null_key = WideModel(architecture, "softmax { softmax_n { n: 1 } }");
    const at::NoGradGuard no_grad;
    ASSERT_EQ(Ending(*bias, ".bias_k").size(), 2u);
    EXPECT_GT(Apart(*bias, *null_key, PaddedInput()), 1e-3) << architecture;
    for (const char* end : {".bias_k", ".bias_v"}) {
      for (at::Tensor& parameter : Ending(*bias, end)) parameter.zero_();
    }
    EXPECT_LT(Apart(*bias, *null_key, PaddedInput()), 1e-13) << architecture;
    EXPECT_LT(Apart(*bias, *null_key, SmallInput()), 1e-13) << architecture;
  }
}

TEST(AttentionPartsTest, QueriesAndKeysHaveNoSizeUnderTheirNorm) {
  for (const std::string architecture : kArchitectures) {
    for (const std::string norm : {"HEAD_RMS", "HEAD_LAYER"}) {
      const auto model = WideModel(architecture, "query_key_norm: " + norm);
      const auto same = WideModel(architecture, "query_key_norm: " + norm);
      const at::NoGradGuard no_grad;
      for (const char* end : {"query.weight", "query.bias", "key.weight", "key.bias", "q_proj.weight",
                              "q_proj.bias", "k_proj.weight", "k_proj.bias", "c_attn.weight"}) {
        for (at::Tensor& parameter : Ending(*model, end)) {
          // Of c_attn (in, out) queries and keys; its bias starts at 0.
          (parameter.dim() == 2 && parameter.size(1) == 48 ? parameter.slice(1, 0, 32) : parameter).mul_(100);
        }
      }
      // Apart by the norm's epsilon.
      EXPECT_LT(Apart(*model, *same, SmallInput()), 1e-8) << architecture << ", " << norm;
      const auto plain = WideModel(architecture, "");
      EXPECT_GT(Apart(*plain, *same, SmallInput()), 1e-2) << architecture << ", " << norm;
      for (at::Tensor& parameter : Ending(*model, "q_norm.weight")) parameter.mul_(3);
      EXPECT_GT(Apart(*model, *same, SmallInput()), 1e-2) << architecture << ", " << norm;
      EXPECT_EQ(Ending(*model, "k_norm.weight")[1].sizes(), std::vector<std::int64_t>{4});
      EXPECT_EQ(Ending(*model, "k_norm.bias").size(), norm == "HEAD_LAYER" ? 2u : 0u);
    }
  }
}

TEST(AttentionPartsTest, AHalfOpenGateTimesTwoIsNone) {
  for (const std::string architecture : kArchitectures) {
    const auto plain = WideModel(architecture, "");
    for (const std::string place : {"CONTEXT", "VALUE", "KEY", "QUERY", "OUTPUT"}) {
      for (const std::string granularity : {"ELEMENTWISE", "HEADWISE"}) {
        const std::string gate = "gate { projected { place: " + place + " granularity: " + granularity +
                                 " } output_factor: 2 initial_std: ";
        EXPECT_LT(Apart(*plain, *WideModel(architecture, gate + "0 }"), PaddedInput()), 1e-13)
            << architecture << ", " << gate;
        EXPECT_GT(Apart(*plain, *WideModel(architecture, gate + "1 }"), PaddedInput()), 1e-4)
            << architecture << ", " << gate;
      }
    }
  }
}

TEST(AttentionPartsTest, EveryPlaceIsAnother) {
  for (const std::string architecture : kArchitectures) {
    std::map<std::string, at::Tensor> logits;
    for (const std::string place : {"CONTEXT", "VALUE", "KEY", "QUERY", "OUTPUT"}) {
      const auto model =
          WideModel(architecture, "gate { projected { place: " + place + " } initial_std: 1 }");
      logits[place] = model->Logits(SmallInput()).detach();
      for (const auto& [other, others] : logits) {
        if (other == place) continue;
        EXPECT_GT((logits[place] - others).abs().max().item<double>(), 1e-6)
            << architecture << ": " << place << " and " << other;
      }
    }
  }
}

// Keeps the tensors of OnKeys and OnValues, one of them doubled: a number added to all keys alike changes no probability.
class CacheTap : public ActivationTap {
 public:
  at::Tensor OnKeys(const std::string& site, const at::Tensor& keys) override {
    return Visit("K " + site, keys);
  }
  at::Tensor OnValues(const std::string& site, const at::Tensor& values) override {
    return Visit("V " + site, values);
  }
  std::string target;
  std::map<std::string, at::Tensor> seen;

 private:
  at::Tensor Visit(const std::string& what, const at::Tensor& tensor) {
    seen[what] = tensor;
    return what == target ? tensor * 2 : tensor;
  }
};

TEST(AttentionPartsTest, ATapSeesKeysAndValuesAsACacheKeepsThem) {
  const std::map<std::string, std::string> sites = {{"bert", "bert.encoder.layer.1.attention.self"},
                                                    {"opt", "model.decoder.layers.1.self_attn"},
                                                    {"gpt2", "transformer.h.1.attn"},
                                                    {"llama", "model.layers.1.self_attn"}};
  for (const std::string architecture : kArchitectures) {
    const std::string site = sites.at(architecture);
    const auto model = WideModel(architecture,
                                 "key_value_bias: true query_key_norm: HEAD_LAYER "
                                 "gate { projected { place: VALUE } initial_std: 1 }");
    CacheTap tap;
    TapChain chain({&tap});
    const at::Tensor plain = model->Logits(SmallInput(), &chain).detach();
    ASSERT_EQ(tap.seen.size(), 4u) << architecture;
    const std::int64_t kv_heads = architecture == "llama" ? 2 : 4;
    const at::Tensor keys = tap.seen.at("K " + site);
    EXPECT_EQ(keys.sizes(), (std::vector<std::int64_t>{3, 8, kv_heads, 4})) << "no bias, each head once";
    EXPECT_EQ(tap.seen.at("V " + site).sizes(), keys.sizes());
    // Gains start at 1: the mean square of a head's key is 1, and a rotation keeps it.
    EXPECT_LT((keys.square().mean(-1) - 1).abs().max().item<double>(), 1e-3);
    for (const std::string part : {"K ", "V "}) {
      tap.target = part + site;
      EXPECT_FALSE(model->Logits(SmallInput(), &chain).allclose(plain)) << architecture << ", " << part;
    }
  }
}

TEST(AttentionPartsTest, KeysAreSeenRotatedAndValuesGated) {
  const auto model =
      WideModel("llama", "gate { projected { place: VALUE granularity: HEADWISE } initial_std: 1 }");
  CacheTap cache;
  RecordingTap recorder;
  TapChain chain({&cache, &recorder});
  model->Logits(SmallInput(), &chain);
  const std::string site = "model.layers.0.self_attn";
  const at::Tensor projected = recorder.seen.at(site + ".k_proj").unflatten(-1, {2, 4});
  const RotaryTable table = MakeRotaryTable(8, {.size = 4, .theta = 10000}, at::kDouble);
  EXPECT_TRUE(cache.seen.at("K " + site).allclose(Rotate(projected, table), 0, 1e-12));
  EXPECT_FALSE(cache.seen.at("K " + site).allclose(projected));
  const at::Tensor values = recorder.seen.at(site + ".v_proj").unflatten(-1, {2, 4});
  const at::Tensor open = recorder.seen.at(site + ".gate").transpose(1, 2);
  EXPECT_TRUE(cache.seen.at("V " + site).allclose(values * open, 0, 1e-12));
}

TEST(AttentionPartsTest, TheBiasIsTheLastKeyOfTheProbabilities) {
  for (const std::string architecture : kArchitectures) {
    const auto model = WideModel(architecture, "key_value_bias: true");
    RecordingTap recorder;
    model->Logits(PaddedInput(), &recorder);
    int found = 0;
    for (const auto& [site, tensor] : recorder.seen) {
      if (!site.ends_with(".probs")) continue;
      ++found;
      ASSERT_EQ(tensor.sizes(), (std::vector<std::int64_t>{3, 4, 8, 9})) << site;
      EXPECT_GT(tensor.select(3, 8).min().item<double>(), 1e-6) << "every query sees it";
      EXPECT_LT(tensor[1].slice(2, 6, 8).abs().max().item<double>(), 1e-30) << "padding stays hidden";
      EXPECT_LT((tensor.sum(-1) - 1).abs().max().item<double>(), 1e-12);
    }
    EXPECT_EQ(found, 2) << architecture;
  }
}

TEST(AttentionPartsTest, InitialWeightsAreThoseOfLinearsAndElsewhereUnchanged) {
  const v1::TrialSpec plain = SmallSpec("gpt2", "", "initial_std: 0.5");
  const v1::TrialSpec spec = SmallSpec(
      "gpt2", "key_value_bias: true query_key_norm: HEAD_LAYER gate { projected { } }", "initial_std: 0.5");
  const auto model = SmallModel(spec), without = SmallModel(plain);
  const auto known = without->named_parameters();
  std::map<std::string, std::vector<at::Tensor>> parts;
  for (const auto& item : model->named_parameters()) {
    if (known.contains(item.key())) {
      EXPECT_TRUE(item.value().equal(known[item.key()])) << item.key();
    } else {
      const std::size_t attention = item.key().find(".attn.");
      ASSERT_NE(attention, std::string::npos) << item.key();
      parts[item.key().substr(attention + 6)].push_back(item.value().detach());
    }
  }
  ASSERT_EQ(parts.size(), 7u);
  for (const char* name : {"gate.weight", "bias_k", "bias_v"}) {
    EXPECT_NEAR(at::cat(parts.at(name)).std().item<double>(), 0.5, 0.2) << name;
    EXPECT_FALSE(parts.at(name)[0].equal(parts.at(name)[1])) << name;
  }
  for (const char* norm : {"q_norm", "k_norm"}) {
    EXPECT_TRUE(parts.at(std::string(norm) + ".weight")[0].eq(1).all().item<bool>());
    EXPECT_TRUE(parts.at(std::string(norm) + ".bias")[0].eq(0).all().item<bool>());
  }
}

TEST(AttentionPartsTest, TheFusedEngineHasAllButTheBias) {
  for (const std::string architecture : kArchitectures) {
    for (const std::string part : kAttentionParts) {
      const auto model = SmallModel(SmallSpec(architecture, part));
      const bool fused = part.find("key_value_bias") == part.npos;
      EXPECT_EQ(model->can_fuse(layer::Place::kCpuFloat32), fused) << architecture << ", " << part;
      EXPECT_EQ(UnfusedPart(SmallSpec(architecture, part)).empty(), fused)
          << "what `check` reports of " << part;
    }
  }
}

TEST(AttentionPartsTest, APrefixSeesItselfAndIsNotPredicted) {
  const at::NoGradGuard no_grad;
  for (const std::string architecture : {"opt", "gpt2", "llama"}) {
    const auto model = WideModel(architecture, "prefix_tokens: 3");
    const ModelInput input = SmallInput();  // (3, 8)
    const at::Tensor logits = model->Logits(input);
    // At how many positions from the first nothing changes with the token there.
    const auto unchanged = [&](std::int64_t token) {
      ModelInput other = input;
      other.ids = input.ids.clone();
      other.ids.select(1, token).add_(1);
      const at::Tensor changed = (model->Logits(other) - logits).abs().amax(at::IntArrayRef({0, 2})).gt(1e-9);
      return changed.nonzero()[0].item<std::int64_t>();
    };
    EXPECT_EQ(unchanged(1), 0) << architecture;
    EXPECT_EQ(unchanged(2), 0) << architecture;
    EXPECT_EQ(unchanged(3), 3) << architecture;
    at::Tensor labels = input.ids.clone();
    EXPECT_EQ(model->TargetsIn(labels), 3 * 5) << architecture;
    const double loss = model->Loss(input, labels).item<double>();
    labels.slice(1, 0, 3).fill_(3);
    EXPECT_EQ(model->Loss(input, labels).item<double>(), loss) << architecture;
    labels.select(1, 3).fill_(3);
    EXPECT_NE(model->Loss(input, labels).item<double>(), loss) << architecture;
  }
}

TEST(AttentionPartsTest, PooledProjectedGatesAreRefused) {
  const auto made = MakeModel(SmallSpec("bert", "gate { projected { } pooled: true }"));
  EXPECT_EQ(made.status().message(), "attention.gate.pooled: is not defined for a projected gate");
}

}  // namespace
}  // namespace inlier
