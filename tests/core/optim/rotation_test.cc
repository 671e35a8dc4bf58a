// Rotations against products written out, and the properties of random orthogonal matrices.
#include "core/optim/rotation.h"

#include <gtest/gtest.h>

#include "core/optim/orthogonal_matrix.h"
#include "tests/core/optim/optimizer_fixture.h"

namespace inlier {
namespace {

at::Tensor Haar(std::int64_t size, std::uint64_t seed) {
  RandomStream stream(seed, "rotation_test");
  return HaarMatrix(size, stream);
}

void ExpectNear(const at::Tensor& actual, const at::Tensor& expected, double allowed = 1e-13) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  EXPECT_LE((actual - expected).abs().max().item<double>(), allowed);
  EXPECT_TRUE(actual.is_contiguous());
}

TEST(RotationTest, OfAMatrixIsAProductFromTheLeftAndFromTheRight) {
  const at::Tensor x = Scattered({4, 6}, 0.2), q0 = Haar(4, 1), q1 = Haar(6, 2);
  ExpectNear(Rotation({AxisRotation::Dense(0, q0)}).Apply(x), q0.matmul(x));
  ExpectNear(Rotation({AxisRotation::Dense(1, q1)}).Apply(x), x.matmul(q1.t()));
  ExpectNear(Rotation({AxisRotation::Dense(0, q0), AxisRotation::Dense(1, q1)}).Apply(x),
             q0.matmul(x).matmul(q1.t()));
}

TEST(RotationTest, OfVectorsOfMoreAxesAndOfAWholeTensor) {
  const at::Tensor v = Scattered({5}, 0.1), x = Scattered({2, 5, 3}, 0.3), q = Haar(5, 3), all = Haar(30, 4);
  ExpectNear(Rotation({AxisRotation::Dense(0, q)}).Apply(v), q.matmul(v));
  ExpectNear(Rotation({AxisRotation::Dense(1, q)}).Apply(x), at::einsum("ij,ajb->aib", {q, x}));
  ExpectNear(Rotation::OfVector(all).Apply(x), all.matmul(x.reshape({-1})).reshape({2, 5, 3}));
}

TEST(RotationTest, BlocksEqualTheDenseMatrixMadeOfThem) {
  const at::Tensor a = Haar(4, 1), b = Haar(4, 2), rest = Haar(2, 3);
  const at::Tensor dense = at::block_diag({a, b, rest});
  for (const std::int64_t axis : {0, 1}) {
    const at::Tensor x = axis == 0 ? Scattered({10, 7}, 0.5) : Scattered({7, 10}, 0.5);
    const Rotation blocks({{.axis = axis, .blocks = at::stack({a, b}), .rest = rest}});
    const Rotation whole({AxisRotation::Dense(axis, dense)});
    ExpectNear(blocks.Apply(x), whole.Apply(x));
    ExpectNear(blocks.ApplyInverse(x), whole.ApplyInverse(x));
    ExpectNear(blocks.Checksum(), whole.Checksum());
  }
}

TEST(RotationTest, TheInverseLeadsBack) {
  const at::Tensor x = Scattered({8, 6}, 0.7);
  const Rotation rotation({{.axis = 0, .blocks = at::stack({Haar(4, 1), Haar(4, 2)}), .rest = {}},
                           {.axis = 1, .blocks = Haar(4, 3).unsqueeze(0), .rest = Haar(2, 4)}});
  ExpectNear(rotation.ApplyInverse(rotation.Apply(x)), x);
  ExpectNear(rotation.Apply(rotation.ApplyInverse(x.t().contiguous().t())), x);
}

TEST(RotationTest, ChecksumDistinguishesMatricesAndAllowsRounding) {
  const at::Tensor q = Haar(16, 1);
  const double sum = Rotation({AxisRotation::Dense(0, q)}).Checksum().item<double>();
  const auto distance = [sum](const at::Tensor& other) {
    return std::abs(Rotation({AxisRotation::Dense(0, other)}).Checksum().item<double>() - sum);
  };
  EXPECT_LT(distance(q * (1 + 1e-14)), 1e-12);
  EXPECT_GT(distance(Haar(16, 2)), 1e-2);
  EXPECT_GT(distance(q.t()), 1e-2);
  EXPECT_GT(distance(q.flip(0)), 1e-2);
}

TEST(OrthogonalMatrixTest, HadamardIsOrthogonalWithEntriesOfOneSize) {
  for (const std::int64_t size : {1, 2, 8, 64}) {
    RandomStream stream(5, "hadamard");
    const at::Tensor q = HadamardMatrix(size, stream);
    EXPECT_LE((q.matmul(q.t()) - at::eye(size, at::kDouble)).abs().max().item<double>(), 1e-14) << size;
    EXPECT_LE((q.abs() * std::sqrt(static_cast<double>(size)) - 1).abs().max().item<double>(), 1e-14) << size;
  }
}

TEST(OrthogonalMatrixTest, HadamardSignsAreRandom) {
  RandomStream stream(5, "hadamard"), other(6, "hadamard");
  const at::Tensor row = HadamardMatrix(64, stream)[0], other_row = HadamardMatrix(64, other)[0];
  EXPECT_GT(row.lt(0).sum().item<std::int64_t>(), 16);
  EXPECT_LT(row.lt(0).sum().item<std::int64_t>(), 48);
  EXPECT_FALSE(at::equal(row, other_row));
}

}  // namespace
}  // namespace inlier
