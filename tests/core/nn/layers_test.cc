// Names, norms, masks and the layer: parts that the golden cases of the models do not cover.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <limits>
#include <string>
#include <vector>

#include "core/nn/norms.h"
#include "core/nn/parameter_scope.h"
#include "core/nn/transformer_layer.h"

namespace inlier {
namespace {

TEST(ParameterScopeTest, NamesAreThePathsAndContainersAreShared) {
  torch::nn::Module root;
  const ParameterScope scope(root);
  scope.Child("model.layers.0").Create("weight", {2, 3});
  const ParameterScope layer = scope.Child("model").Child("layers.0");
  layer.Create("bias", {2});
  EXPECT_EQ(layer.path(), "model.layers.0");
  EXPECT_EQ(layer.Name("x"), "model.layers.0.x");
  EXPECT_EQ(scope.Name("x"), "x");
  std::vector<std::string> names;
  for (const auto& item : root.named_parameters()) names.push_back(item.key());
  EXPECT_THAT(names, ::testing::ElementsAre("model.layers.0.weight", "model.layers.0.bias"));
}

TEST(ParameterScopeTest, TensorsHandedOutStayTheModelsOwn) {
  torch::nn::Module root;
  const at::Tensor weight = ParameterScope(root).Child("a.b").Create("weight", {2});
  EXPECT_TRUE(weight.requires_grad());
  root.to(at::kDouble);
  EXPECT_EQ(weight.scalar_type(), at::kDouble);
  {
    const at::NoGradGuard no_grad;
    root.named_parameters()["a.b.weight"].fill_(3);
  }
  EXPECT_TRUE(weight.equal(torch::full({2}, 3.0, at::kDouble)));
  weight.sum().backward();
  EXPECT_TRUE(root.parameters()[0].grad().defined());
}

TEST(LayerNormTest, UsesThePopulationVarianceAndWidensHalfWidthInput) {
  torch::nn::Module root;
  const Norm norm = Norm::Create(ParameterScope(root).Child("norm"), 4,
                                 {.kind = kernels::NormKind::kLayerNorm, .epsilon = 0.5});
  {
    const at::NoGradGuard no_grad;
    norm.gain.copy_(torch::tensor({1.0F, 2.0F, 3.0F, 4.0F}));
    norm.offset.fill_(1);
  }
  const at::Tensor x = torch::tensor({{1.0F, 2.0F, 3.0F, 6.0F}});
  const at::Tensor expected =
      (x - 3) / std::sqrt(3.5 + 0.5) * norm.gain + 1;  // Mean 3, variance (4 + 1 + 0 + 9) / 4.
  EXPECT_TRUE(torch::allclose(norm(x, {}), expected, 1e-6, 1e-6));
  const at::Tensor half = norm(x.to(at::kBFloat16), {});
  EXPECT_EQ(half.scalar_type(), at::kFloat);
  EXPECT_TRUE(torch::allclose(half, expected, 1e-6, 1e-6));
}

TEST(NonlinearityTest, EachIsItsFormula) {
  const at::Tensor x = torch::linspace(-3, 3, 13, at::kDouble);
  EXPECT_TRUE(torch::allclose(Apply(kernels::Activation::kGeluErf, x),
                              x * 0.5 * (1 + torch::erf(x / std::sqrt(2.0))), 0, 1e-14));
  const at::Tensor inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x.pow(3));
  EXPECT_TRUE(torch::allclose(Apply(kernels::Activation::kGeluTanh, x), x * 0.5 * (1 + torch::tanh(inner)), 0,
                              1e-14));
  EXPECT_TRUE(Apply(kernels::Activation::kRelu, x).equal(x.clamp_min(0)));
  EXPECT_TRUE(torch::allclose(Apply(kernels::Activation::kSilu, x), x * torch::sigmoid(x), 0, 1e-14));
}

TEST(AttentionMaskTest, HidesPaddingAndTheFuture) {
  const at::Tensor padding = torch::tensor({{1, 1, 0}, {0, 1, 1}}, at::kLong);
  const double lowest = std::numeric_limits<float>::lowest();
  const AttentionMask none = MakeAttentionFrame({}, {}, 3, at::kFloat).mask;
  EXPECT_FALSE(none.additive.defined());
  const AttentionMask keys = MakeAttentionFrame({}, padding, 3, at::kFloat).mask;
  EXPECT_TRUE(keys.additive.equal((padding.eq(0).to(at::kFloat) * lowest).view({2, 1, 1, 3})));
  const AttentionMask causal = MakeAttentionFrame({.causal = true}, {}, 3, at::kFloat).mask;
  EXPECT_TRUE(causal.additive.eq(lowest).equal(torch::ones({1, 1, 3, 3}, at::kBool).triu(1)));
  EXPECT_TRUE(causal.causal);
  const AttentionMask both = MakeAttentionFrame({.causal = true}, padding, 3, at::kDouble).mask;
  EXPECT_EQ(both.additive.sizes(), (std::vector<std::int64_t>{2, 1, 3, 3}));
  // Hidden twice is hidden once: no infinity.
  EXPECT_EQ(both.additive[1][0][0][0].item<double>(), std::numeric_limits<double>::lowest());
  EXPECT_EQ(both.additive[1][0][1][1].item<double>(), 0);
}

TEST(AttentionMaskTest, ThePrefixSeesItself) {
  const FrameOptions options{
      .causal = true, .prefix = 3, .softmax = {.kind = SoftmaxOptions::Kind::kSigmoid}};
  const at::Tensor padding = torch::tensor({{1, 1, 1, 1, 1}, {1, 1, 0, 0, 0}}, at::kLong);
  const AttentionFrame frame = MakeAttentionFrame(options, {}, 5, at::kFloat);
  const at::Tensor seen = torch::tensor(
      {{1, 1, 1, 0, 0}, {1, 1, 1, 0, 0}, {1, 1, 1, 0, 0}, {1, 1, 1, 1, 0}, {1, 1, 1, 1, 1}}, at::kBool);
  EXPECT_TRUE(frame.mask.additive.eq(0).equal(seen.view({1, 1, 5, 5}))) << frame.mask.additive;
  EXPECT_TRUE(frame.row_lengths.flatten().equal(seen.sum(1).to(at::kFloat)));
  const AttentionFrame padded = MakeAttentionFrame(options, padding, 5, at::kFloat);
  EXPECT_TRUE(padded.mask.additive.eq(0).equal(seen.logical_and(padding.to(at::kBool).view({2, 1, 1, 5}))));
  EXPECT_TRUE(padded.row_lengths.flatten().equal(
      torch::tensor({3., 3., 3., 4., 5., 2., 2., 2., 2., 2.}, at::kFloat)));
}

LayerOptions SmallLayer(bool pre_norm) {
  LayerOptions options;
  options.attention = {
      .hidden_size = 8, .heads = 2, .kv_heads = 2, .dropout = 0, .linear = {}, .softmax = {}, .gate = {}};
  options.ffn_size = 16;
  options.norm.epsilon = 1e-5;
  options.pre_norm = pre_norm;
  return options;
}

TEST(TransformerLayerTest, AFutureTokenDoesNotReachThePast) {
  for (const bool pre_norm : {false, true}) {
    torch::manual_seed(2);
    torch::nn::Module root;
    const TransformerLayer layer(ParameterScope(root).Child("layer"), kOptLayerStyle, SmallLayer(pre_norm));
    const at::NoGradGuard no_grad;
    for (at::Tensor& parameter : root.parameters()) parameter.normal_();
    at::Tensor x = torch::randn({2, 6, 8});
    const AttentionFrame frame = MakeAttentionFrame({.causal = true}, {}, 6, x.options());
    const at::Tensor before = layer(x, frame, {});
    x.slice(1, 4).normal_();
    const at::Tensor after = layer(x, frame, {});
    EXPECT_TRUE(before.slice(1, 0, 4).equal(after.slice(1, 0, 4)));
    EXPECT_FALSE(before.slice(1, 4).equal(after.slice(1, 4)));
  }
}

TEST(TransformerLayerTest, DropoutActsInTrainingOnlyAndInBothPlaces) {
  torch::manual_seed(2);
  LayerOptions hidden = SmallLayer(true), attention = SmallLayer(true);
  hidden.dropout = 0.5;
  attention.attention.dropout = 0.5;
  for (const LayerOptions& options : {hidden, attention}) {
    torch::nn::Module root;
    const TransformerLayer layer(ParameterScope(root).Child("layer"), kBertLayerStyle, options);
    const at::NoGradGuard no_grad;
    for (at::Tensor& parameter : root.parameters()) parameter.normal_();
    const at::Tensor x = torch::randn({2, 6, 8});
    const ForwardContext training{.training = true};
    EXPECT_TRUE(layer(x, {}, {}).equal(layer(x, {}, {})));
    EXPECT_FALSE(layer(x, {}, training).equal(layer(x, {}, training)));
  }
}

}  // namespace
}  // namespace inlier
