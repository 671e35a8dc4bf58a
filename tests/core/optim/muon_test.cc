// Muon's update: nearly orthogonal, of a known size, and which parameters it is for. Whole trajectories:
// optim_golden_test.
#include "core/optim/muon.h"

#include <gtest/gtest.h>

#include "core/optim/make_optimizer.h"
#include "tests/core/optim/optimizer_fixture.h"

namespace inlier {
namespace {

constexpr Muon::Options kMuonOptions = {
    .momentum = 0.9, .nesterov = true, .newton_schulz_steps = 5, .update_scale = 0.2, .weight_decay = 0};

at::Tensor MuonUpdate(const std::string& name, const at::Tensor& gradient) {
  at::Tensor parameter = at::zeros_like(gradient).set_requires_grad(true);
  parameter.mutable_grad() = gradient;
  Muon muon({.decayed = {}, .not_decayed = {{name, parameter}}}, kMuonOptions, nullptr);
  muon.Step(1);
  return -parameter.detach();
}

TEST(MuonTest, SingularValuesAreNearOneAndVectorsAreThoseOfTheMatrix) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{16, 16}, {12, 30}, {30, 12}}) {
    at::manual_seed(3);
    const at::Tensor matrix = at::randn(shape, at::kDouble) * 1e3;
    const at::Tensor x = Orthogonalised(matrix, 5);
    const at::Tensor values = std::get<1>(at::linalg_svd(x, /*full_matrices=*/false));
    EXPECT_LT(values.max().item<double>(), 1.21);
    EXPECT_GT(values.median().item<double>(), 0.65) << "the smallest ones are still on their way";
    if (shape[0] != shape[1]) {
      EXPECT_GT(values.min().item<double>(), 0.65);
    }
    // X = U f(S) V^T: X M^T is symmetric.
    const at::Tensor product = x.matmul(matrix.t());
    EXPECT_LT((product - product.t()).abs().max().item<double>(), 1e-9 * product.abs().max().item<double>());
  }
  // An orthogonal matrix only changes its size.
  const at::Tensor eye = at::eye(4, at::kDouble), x = Orthogonalised(eye * 3, 5);
  EXPECT_LT((x - eye * x[0][0]).abs().max().item<double>(), 1e-12);
}

TEST(MuonTest, AnUpdateHasAboutTheRootMeanSquareOfAdamWs) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{64, 64}, {64, 256}, {256, 64}}) {
    at::manual_seed(3);
    const double size =
        MuonUpdate("a.fc1.weight", at::randn(shape, at::kDouble)).square().mean().sqrt().item<double>();
    EXPECT_GT(size, 0.13);
    EXPECT_LT(size, 0.25);
  }
}

TEST(MuonTest, QueryKeyAndValueOfGpt2AreThreeMatrices) {
  at::manual_seed(3);
  const at::Tensor gradient = at::randn({8, 24}, at::kDouble);
  const at::Tensor joined = MuonUpdate("transformer.h.0.attn.c_attn.weight", gradient);
  for (int part = 0; part < 3; ++part) {
    const at::Tensor own = MuonUpdate("a.fc1.weight", gradient.slice(1, 8 * part, 8 * part + 8).contiguous());
    EXPECT_LT((joined.slice(1, 8 * part, 8 * part + 8) - own).abs().max().item<double>(), 1e-12) << part;
  }
}

TEST(MuonTest, AllButMatricesOfLayersHaveAdamWsUpdates) {
  SmallNetwork ours, plain;
  v1::OptimizerSpec muon, adamw;
  muon.mutable_muon();
  adamw.mutable_adamw();
  ours.Run(*MakeOptimizer(muon, ours.parameters()), 0, 1);
  plain.Run(*MakeOptimizer(adamw, plain.parameters()), 0, 1);
  for (std::size_t i = 0; i < ours.parameters().size(); ++i) {
    const auto& [name, parameter] = ours.parameters()[i];
    const bool is_matrix = name.find("_proj.weight") != std::string::npos;
    EXPECT_EQ(at::equal(parameter, plain.parameters()[i].second), !is_matrix) << name;
  }
}

TEST(MuonTest, AGradientOfZerosMovesNothing) {
  EXPECT_EQ(MuonUpdate("a.fc1.weight", at::zeros({4, 6}, at::kDouble)).abs().max().item<double>(), 0);
}

}  // namespace
}  // namespace inlier
