#include "core/nn/attention/softmax.h"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <limits>
#include <utility>

namespace inlier {
namespace {

// The formula, written with the library's own operations.
at::Tensor PlainClippedSoftmax(const at::Tensor& scores, double gamma, double zeta) {
  return torch::clamp(torch::softmax(scores, -1) * (zeta - gamma) + gamma, 0, 1);
}

at::Tensor SharpScores(at::IntArrayRef shape) {
  torch::manual_seed(3);
  return torch::randn(shape, at::kDouble) * 4;
}

constexpr std::pair<double, double> kLimits[] = {{0, 1}, {-0.03, 1}, {0, 1.1}, {-0.1, 1.1}, {-1, 1}};

TEST(ClippedSoftmaxTest, ValuesAreThoseOfTheFormula) {
  const at::Tensor scores = SharpScores({2, 3, 5, 7});
  for (const auto& [gamma, zeta] : kLimits) {
    const at::Tensor p = ClippedSoftmax(scores, gamma, zeta);
    EXPECT_LE((p - PlainClippedSoftmax(scores, gamma, zeta)).abs().max().item<double>(), 1e-15)
        << gamma << " " << zeta;
  }
}

TEST(ClippedSoftmaxTest, GradientIsThatOfTheFormula) {
  for (const auto& [gamma, zeta] : kLimits) {
    const at::Tensor ours = SharpScores({2, 3, 5, 7}).requires_grad_();
    const at::Tensor plain = SharpScores({2, 3, 5, 7}).requires_grad_();
    const at::Tensor weights = torch::randn({2, 3, 5, 7}, at::kDouble);
    (ClippedSoftmax(ours, gamma, zeta) * weights).sum().backward();
    (PlainClippedSoftmax(plain, gamma, zeta) * weights).sum().backward();
    EXPECT_GT(plain.grad().abs().max().item<double>(), 0.01);
    EXPECT_LE((ours.grad() - plain.grad()).abs().max().item<double>(), 1e-14) << gamma << " " << zeta;
  }
}

TEST(ClippedSoftmaxTest, OneVisibleKeyGetsAllAndPassesNoGradient) {
  at::Tensor scores = torch::full({1, 4}, std::numeric_limits<float>::lowest());
  scores[0][2] = 1.5;
  scores.requires_grad_();
  const at::Tensor p = ClippedSoftmax(scores, -0.03, 1);
  EXPECT_TRUE(torch::allclose(p, torch::tensor({{0.0F, 0.0F, 1.0F, 0.0F}}), 0, 1e-6));
  EXPECT_EQ(p[0][0].item<float>(), 0);
  p.sum().backward();
  EXPECT_LE(scores.grad().abs().max().item<float>(), 1e-6);
}

// exp(100) is infinite in float32: a row of very negative scores is zero and passes no gradient.
TEST(SoftpickTest, VeryNegativeRowsAreZeroWithAGradientOfZero) {
  for (const float largest : {-1.0F, -80.0F, -100.0F, -1e4F, std::numeric_limits<float>::lowest()}) {
    at::Tensor scores = torch::tensor(
        {{largest, largest * 0.5F - 200, -std::numeric_limits<float>::infinity()}, {2.0F, largest, 1.0F}});
    scores.requires_grad_();
    const at::Tensor p = Softpick(scores, 1e-8);
    EXPECT_EQ(p[0].abs().sum().item<float>(), 0) << largest;
    EXPECT_GT(p[1][0].item<float>(), 0.5F);
    (p * torch::tensor({1.0F, 2.0F, 3.0F})).sum().backward();
    EXPECT_TRUE(scores.grad().isfinite().all().item<bool>()) << largest << "\n" << scores.grad();
    EXPECT_EQ(scores.grad()[0].abs().sum().item<float>(), 0) << largest;
    EXPECT_GT(scores.grad()[1].abs().sum().item<float>(), 0) << largest;
  }
}

TEST(ClippedSoftmaxTest, MaskedKeysStayExactlyZeroAndRowsAreNotRenormalised) {
  at::Tensor scores = torch::zeros({1, 64});
  scores.slice(1, 32).fill_(std::numeric_limits<float>::lowest());
  const at::Tensor p = ClippedSoftmax(scores, -0.01, 1);
  EXPECT_EQ(p.slice(1, 32).abs().sum().item<float>(), 0);
  EXPECT_NEAR(p.sum().item<float>(), 32 * (1.01 / 32 - 0.01), 1e-5);
  // A row that attends uniformly to more than -1 / gamma keys attends to nothing.
  EXPECT_EQ(ClippedSoftmax(torch::zeros({1, 64}), -0.03, 1).abs().sum().item<float>(), 0);
}

TEST(AttentionProbabilitiesTest, HalfWidthScoresAreWidened) {
  const at::Tensor scores = SharpScores({2, 8}).to(at::kBFloat16);
  SoftmaxOptions vanilla;
  SoftmaxOptions clipped{.kind = SoftmaxOptions::Kind::kClipped, .gamma = -0.03, .zeta = 1.0};
  EXPECT_TRUE(AttentionProbabilities(scores, vanilla).equal(torch::softmax(scores.to(at::kFloat), -1)));
  EXPECT_EQ(AttentionProbabilities(scores, clipped).scalar_type(), at::kFloat);
}

}  // namespace
}  // namespace inlier
