#include "core/nn/attention/attention_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <map>
#include <string>
#include <vector>

namespace inlier {
namespace {

constexpr std::int64_t kHidden = 12, kHeads = 3, kHeadSize = 4, kBatch = 2, kTokens = 5;

struct GateUnderTest {
  explicit GateUnderTest(const GateOptions& options)
      : gate(ParameterScope(root), "gate", kHidden, kHeads, options) {
    torch::manual_seed(5);
    const at::NoGradGuard no_grad;
    for (at::Tensor& parameter : root.parameters()) parameter.normal_();
    root.to(at::kDouble);
    x = torch::randn({kBatch, kTokens, kHidden}, at::kDouble);
  }
  at::Tensor Parameter(const std::string& name) const { return root.named_parameters()[name]; }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& item : root.named_parameters()) names.push_back(item.key());
    return names;
  }
  // sigmoid(logit(head, its slice of a token)), one head and token at a time.
  at::Tensor OneByOne(const std::function<at::Tensor(const std::string&, const at::Tensor&)>& logit) const {
    at::Tensor values = torch::zeros({kBatch, kHeads, kTokens, 1}, at::kDouble);
    for (std::int64_t b = 0; b < kBatch; ++b) {
      for (std::int64_t head = 0; head < kHeads; ++head) {
        for (std::int64_t t = 0; t < kTokens; ++t) {
          const at::Tensor slice = x[b][t].slice(0, head * kHeadSize, (head + 1) * kHeadSize);
          values[b][head][t][0] = logit("gate." + std::to_string(head), slice).sigmoid().squeeze();
        }
      }
    }
    return values;
  }

  torch::nn::Module root;
  AttentionGate gate;
  at::Tensor x;
};

TEST(AttentionGateTest, NoGateHasNoParametersAndChangesNothing) {
  GateUnderTest none{GateOptions{}};
  const at::Tensor context = torch::randn({kBatch, kHeads, kTokens, kHeadSize}, at::kDouble);
  EXPECT_TRUE(none.gate.Apply(context, none.x, {}).is_same(context));
  EXPECT_TRUE(none.Names().empty());
}

TEST(AttentionGateTest, LinearGateReadsOnlyItsHeadsSlice) {
  GateUnderTest linear{GateOptions{.kind = GateOptions::Kind::kLinear}};
  EXPECT_THAT(linear.Names(), ::testing::ElementsAre("gate.0.weight", "gate.0.bias", "gate.1.weight",
                                                     "gate.1.bias", "gate.2.weight", "gate.2.bias"));
  EXPECT_EQ(linear.Parameter("gate.1.weight").sizes(), (std::vector<std::int64_t>{1, kHeadSize}));
  const at::Tensor expected = linear.OneByOne([&](const std::string& name, const at::Tensor& slice) {
    return torch::linear(slice, linear.Parameter(name + ".weight"), linear.Parameter(name + ".bias"));
  });
  EXPECT_TRUE(torch::allclose(linear.gate.Values(linear.x), expected, 0, 1e-14));
}

TEST(AttentionGateTest, MlpGateIsTwoLayersPerHead) {
  GateUnderTest mlp{GateOptions{.kind = GateOptions::Kind::kMlp, .mlp_hidden_size = 6}};
  EXPECT_EQ(mlp.Parameter("gate.2.0.weight").sizes(), (std::vector<std::int64_t>{6, kHeadSize}));
  EXPECT_EQ(mlp.Parameter("gate.2.0.bias").sizes(), (std::vector<std::int64_t>{6}));
  EXPECT_EQ(mlp.Parameter("gate.2.2.weight").sizes(), (std::vector<std::int64_t>{1, 6}));
  EXPECT_EQ(mlp.Parameter("gate.2.2.bias").sizes(), (std::vector<std::int64_t>{1}));
  const at::Tensor expected = mlp.OneByOne([&](const std::string& name, const at::Tensor& slice) {
    const at::Tensor hidden =
        torch::linear(slice, mlp.Parameter(name + ".0.weight"), mlp.Parameter(name + ".0.bias")).relu();
    return torch::linear(hidden, mlp.Parameter(name + ".2.weight"), mlp.Parameter(name + ".2.bias"));
  });
  EXPECT_TRUE(torch::allclose(mlp.gate.Values(mlp.x), expected, 0, 1e-14));
}

TEST(AttentionGateTest, AllHeadsLinearGateReadsTheWholeInput) {
  GateUnderTest all{GateOptions{.kind = GateOptions::Kind::kAllHeadsLinear}};
  const at::Tensor expected = torch::linear(all.x, all.Parameter("gate.weight"), all.Parameter("gate.bias"))
                                  .sigmoid()
                                  .transpose(1, 2)
                                  .unsqueeze(-1);
  EXPECT_TRUE(torch::allclose(all.gate.Values(all.x), expected, 0, 1e-14));
}

TEST(AttentionGateTest, UnconditionalGateIsOneNumberAHead) {
  GateUnderTest gate{GateOptions{.kind = GateOptions::Kind::kUnconditional}};
  EXPECT_THAT(gate.Names(), ::testing::ElementsAre("gate"));
  EXPECT_TRUE(gate.gate.Values(gate.x).equal(gate.Parameter("gate").sigmoid()));
  const at::Tensor ones = torch::ones({kBatch, kHeads, kTokens, kHeadSize}, at::kDouble);
  const at::Tensor gated = gate.gate.Apply(ones, gate.x, {});
  EXPECT_TRUE(
      torch::allclose(gated.select(1, 2), ones.select(1, 2) * gate.Parameter("gate")[2].sigmoid(), 0, 1e-15));
}

TEST(AttentionGateTest, PooledGateAveragesLogitsNotValues) {
  GateUnderTest pooled{GateOptions{.kind = GateOptions::Kind::kLinear, .pooled = true}};
  const at::Tensor values = pooled.gate.Values(pooled.x);
  ASSERT_EQ(values.sizes(), (std::vector<std::int64_t>{kBatch, kHeads, 1, 1}));
  at::Tensor logit = torch::zeros({}, at::kDouble);
  for (std::int64_t t = 0; t < kTokens; ++t) {
    logit += torch::linear(pooled.x[1][t].slice(0, 4, 8), pooled.Parameter("gate.1.weight"),
                           pooled.Parameter("gate.1.bias"))[0] /
             kTokens;
  }
  EXPECT_NEAR(values[1][1].item<double>(), logit.sigmoid().item<double>(), 1e-14);
}

TEST(AttentionGateTest, OutputFactorScalesTheContextButNotTheObservedGate) {
  class Recorder : public ActivationTap {
   public:
    at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
      seen[site] = activation;
      return activation;
    }
    at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override {
      ADD_FAILURE() << "gates are not quantized: " << site;
      return weight;
    }
    std::map<std::string, at::Tensor> seen;
  } recorder;
  GateUnderTest gate{GateOptions{.kind = GateOptions::Kind::kLinear, .output_factor = 4}};
  const at::Tensor context = torch::randn({kBatch, kHeads, kTokens, kHeadSize}, at::kDouble);
  const at::Tensor gated = gate.gate.Apply(context, gate.x, {.tap = &recorder});
  const at::Tensor values = gate.gate.Values(gate.x);
  EXPECT_TRUE(torch::allclose(gated, context * values * 4, 0, 1e-14));
  ASSERT_EQ(recorder.seen.size(), 1);
  EXPECT_TRUE(recorder.seen.at("gate").equal(values));
}

}  // namespace
}  // namespace inlier
