#include "core/optim/cayley_sgd.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "core/optim/orthogonal_matrix.h"

namespace inlier {
namespace {

at::Tensor HaarStart(std::int64_t size, std::uint64_t seed) {
  RandomStream stream(seed, "cayley_sgd_test", 0);
  return HaarMatrix(size, stream);
}

double OrthogonalityError(const at::Tensor& matrix) {
  return (at::matmul(matrix.t(), matrix) - at::eye(matrix.size(0), matrix.options()))
      .abs()
      .max()
      .item<double>();
}

// Of |R - T|^2 / 2 the gradient is R - T.
TEST(CayleySgdTest, FindsTheNearestOrthogonalMatrix) {
  const at::Tensor start = HaarStart(16, 1);
  at::Tensor flipped = at::ones({16}, at::kDouble), target = HaarStart(16, 2);
  flipped[0] = -1;  // Rotations do not lead from one sign of the determinant to the other.
  if (at::linalg_det(start).item<double>() * at::linalg_det(target).item<double>() < 0)
    target = target * flipped;
  at::Tensor matrix = start;
  for (int update = 0; update < 400; ++update) {
    matrix = Orthonormalised(CayleySgdUpdate(matrix, matrix - target, 0.3));
    ASSERT_LT(OrthogonalityError(matrix), 1e-12);
  }
  EXPECT_LT((matrix - target).abs().max().item<double>(), 1e-6);
}

TEST(CayleySgdTest, SmallStepsStayOrthogonalByThemselves) {
  at::Tensor matrix = HaarStart(24, 3).to(at::kFloat);
  for (std::uint64_t update = 0; update < 300; ++update)
    matrix = CayleySgdUpdate(matrix, HaarStart(24, 100 + update).to(at::kFloat), 0.01);
  EXPECT_LT(OrthogonalityError(matrix), 1e-5);
}

// G = R S with a symmetric S points away from the orthogonal matrices alone.
TEST(CayleySgdTest, AGradientThatLeavesTheOrthogonalMatricesMovesNothing) {
  const at::Tensor matrix = HaarStart(12, 4), any = HaarStart(12, 5);
  const at::Tensor gradient = at::matmul(matrix, any + any.t());
  EXPECT_LT((CayleySgdUpdate(matrix, gradient, 1.5) - matrix).abs().max().item<double>(), 1e-7);
  EXPECT_LT((CayleySgdUpdate(matrix, at::zeros_like(matrix), 1.5) - matrix).abs().max().item<double>(), 1e-7);
}

}  // namespace
}  // namespace inlier
