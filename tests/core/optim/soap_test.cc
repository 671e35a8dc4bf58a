// SOAP where it must equal AdamW, and what its bases make it blind to. Whole trajectories: optim_golden_test.
#include "core/optim/soap.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/optim/adam.h"
#include "core/optim/orthogonal_matrix.h"
#include "tests/core/optim/optimizer_fixture.h"

namespace inlier {
namespace {

constexpr Soap::Options kSoapOptions = {.beta1 = 0.9,
                                        .beta2 = 0.95,
                                        .shampoo_beta = 0.8,
                                        .epsilon = 1e-8,
                                        .weight_decay = 0,
                                        .refresh_every = 2,
                                        .max_size = 64};

// Of full rank: the eigenvectors of a null space are any.
at::Tensor GradientOfUpdate(int update) {
  at::manual_seed(static_cast<std::uint64_t>(update) + 20);
  return at::randn({6, 6}, at::kDouble);
}

// A weight that follows `updates` gradients, each turned by `turn` from the left.
at::Tensor SoapTrained(const Soap::Options& options, const at::Tensor& turn, int updates) {
  at::Tensor weight = at::zeros({6, 6}, at::kDouble).set_requires_grad(true);
  Soap soap({.decayed = {}, .not_decayed = {{"a.fc1.weight", weight}}}, options, nullptr);
  for (int update = 0; update < updates; ++update) {
    weight.mutable_grad() = turn.matmul(GradientOfUpdate(update));
    soap.Step(0.01);
  }
  return weight.detach();
}

at::Tensor HaarOfSix() {
  RandomStream stream(5, "soap_test");
  return HaarMatrix(6, stream);
}

// Without bases it is Adam from the second gradient on.
TEST(SoapTest, WithoutBasesItIsAdamAfterTheFirstUpdate) {
  Soap::Options options = kSoapOptions;
  options.max_size = 2;
  at::Tensor weight = at::zeros({6, 6}, at::kDouble).set_requires_grad(true);
  // eps inside of the bias correction is the one difference.
  Adam adam(
      {.decayed = {}, .not_decayed = {{"a.fc1.weight", weight}}},
      {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0, .decay = Adam::Decay::kDecoupled});
  for (int update = 1; update < 8; ++update) {
    weight.mutable_grad() = GradientOfUpdate(update);
    adam.Step(0.01);
  }
  const at::Tensor ours = SoapTrained(options, at::eye(6, at::kDouble), 8);
  EXPECT_LT((ours - weight.detach()).abs().max().item<double>(), 1e-6);
  EXPECT_GT(ours.abs().max().item<double>(), 0.01);
}

// The bases turn with the gradients, so that the updates do; Adam's do not.
TEST(SoapTest, AnotherOrthogonalBasisOfTheGradientsTurnsTheUpdates) {
  const at::Tensor turn = HaarOfSix(), eye = at::eye(6, at::kDouble);
  const auto distance = [&](const Soap::Options& options) {
    return (SoapTrained(options, turn, 8) - turn.matmul(SoapTrained(options, eye, 8)))
        .abs()
        .max()
        .item<double>();
  };
  EXPECT_LT(distance(kSoapOptions), 1e-6);
  Soap::Options without = kSoapOptions;
  without.max_size = 2;
  EXPECT_GT(distance(without), 1e-2);
}

TEST(SoapTest, BasesStayOrthogonalAndRowsOfTablesHaveNone) {
  SmallNetwork model;
  Soap soap({.decayed = {}, .not_decayed = {model.parameters().begin(), model.parameters().begin() + 3}},
            kSoapOptions, nullptr);
  model.Run(soap, 0, 9);
  int bases = 0;
  for (const auto& [name, tensor] : soap.State()) {
    EXPECT_NE(name, "basis_0/model.embed_tokens.weight");
    if (name.find("basis_") != 0) continue;
    ++bases;
    EXPECT_LT((tensor.t().matmul(tensor) - at::eye(tensor.size(0), at::kDouble)).abs().max().item<double>(),
              1e-12)
        << name;
  }
  EXPECT_EQ(bases, 5);
}

TEST(SoapTest, AGradientThatIsNotFiniteIsNoError) {
  at::Tensor weight = at::zeros({3, 3}, at::kDouble).set_requires_grad(true);
  Soap soap({.decayed = {}, .not_decayed = {{"a.fc1.weight", weight}}}, kSoapOptions, nullptr);
  for (int update = 0; update < 4; ++update) {
    weight.mutable_grad() = at::full({3, 3}, std::numeric_limits<double>::quiet_NaN(), at::kDouble);
    soap.Step(0.1);
  }
  EXPECT_FALSE(weight.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace inlier
