#include "core/quant/slice_grid.h"

#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <torch/types.h>

#include <limits>

namespace inlier {
namespace {

const float kFloatNan = std::numeric_limits<float>::quiet_NaN();
const float kInfinity = std::numeric_limits<float>::infinity();

at::Tensor Absmax(const at::Tensor& x, int bits, at::IntArrayRef dims) {
  return RoundToGrid(x, AbsmaxGrid(x, bits, dims));
}
at::Tensor Zeropoint(const at::Tensor& x, int bits, at::IntArrayRef dims) {
  return RoundToGrid(x, ZeropointGrid(x, bits, dims));
}

TEST(SliceGridTest, AbsmaxByHand) {
  const at::Tensor x = torch::tensor({{-254.f, 1.f, 3.f, 100.f}, {0.5f, 1.5f, 2.5f, 127.f}});
  const SliceGrid rows = AbsmaxGrid(x, 8, {-1});
  EXPECT_TRUE(torch::equal(rows.scale, torch::tensor({{2.f}, {1.f}})));
  EXPECT_TRUE(torch::equal(RoundToIntegers(x, rows),
                           torch::tensor({{-127.f, 0.f, 2.f, 50.f}, {0.f, 2.f, 2.f, 127.f}})))
      << "half to even";
  EXPECT_EQ(AbsmaxGrid(x, 8, {}).scale.item<float>(), 2.f);
  EXPECT_EQ(AbsmaxGrid(x, 8, {0}).scale.sizes(), (std::vector<std::int64_t>{1, 4}));
}

TEST(SliceGridTest, GroupsByHand) {
  const at::Tensor x = torch::tensor({{127.f, 1.f, 254.f, 3.f, 0.5f}, {0.f, 0.f, -127.f, 8.f, 1.f}});
  const SliceGrid grid = AbsmaxGroupGrid(x, 8, 2);
  EXPECT_TRUE(torch::equal(grid.scale, torch::tensor({{1.f, 2.f, 0.5f / 127}, {1.f, 1.f, 1.f / 127}})))
      << "the last group of a row has one entry";
  const SliceGrid expanded = ExpandGroups(grid, 2, 5);
  EXPECT_TRUE(torch::equal(expanded.scale[0], torch::tensor({1.f, 1.f, 2.f, 2.f, 0.5f / 127})));
  EXPECT_TRUE(
      torch::equal(RoundToGrid(x, expanded)[0].slice(0, 0, 4), torch::tensor({127.f, 1.f, 254.f, 4.f})));
  // A group of a whole row, or larger, is a row.
  for (const std::int64_t size : {5, 64}) {
    const SliceGrid rows = ZeropointGroupGrid(x, 4, size);
    EXPECT_TRUE(torch::equal(RoundToGrid(x, ExpandGroups(rows, size, 5)), Zeropoint(x, 4, {-1}))) << size;
  }
}

TEST(SliceGridTest, GroupsOfTokensAndTilesByHand) {
  const at::Tensor x = torch::tensor({{127.f, 1.f, 254.f, 3.f, 0.5f}, {0.f, 0.f, -127.f, 8.f, 1.f}});
  const SliceGrid rows = AbsmaxGroupGrid(x, 8, 2), tokens = AbsmaxGroupGrid(x.view({2, 1, 5}), 8, 2);
  EXPECT_TRUE(torch::equal(tokens.scale, rows.scale.view({2, 1, 3})));
  const SliceGrid zeropoint = ZeropointGroupGrid(x.view({2, 1, 5}), 4, 2);
  EXPECT_TRUE(torch::equal(zeropoint.scale, ZeropointGroupGrid(x, 4, 2).scale.view({2, 1, 3})));
  const at::Tensor tall = torch::cat({x, torch::full({1, 5}, 12.7f)});
  const SliceGrid tiles = AbsmaxGroupGrid(tall, 8, 4, 2);
  EXPECT_TRUE(torch::equal(tiles.scale, torch::tensor({{2.f, 1.f / 127}, {2.f, 1.f / 127}, {0.1f, 0.1f}})))
      << "the last tile has one row, the last group one column";
}

TEST(SliceGridTest, ZeropointByHand) {
  const at::Tensor x = torch::tensor({5.f, 6.f, 12.4f, 20.f});  // Scale 1, all above 0.
  const SliceGrid grid = ZeropointGrid(x, 4, {});
  EXPECT_EQ(grid.scale.item<float>(), 1.f);
  EXPECT_EQ(grid.zero_point.item<float>(), -5.f) << "not clamped";
  EXPECT_TRUE(torch::equal(Zeropoint(x, 4, {}), torch::tensor({5.f, 6.f, 12.f, 20.f})));
}

TEST(SliceGridTest, SlicesDoNotSeeEachOther) {
  torch::manual_seed(1);
  const at::Tensor x = torch::randn({3, 4, 5});
  at::Tensor louder = x.clone();
  louder[1][2] *= 1000;
  for (const auto& round : {&Absmax, &Zeropoint}) {
    const at::Tensor before = round(x, 8, {-1}), after = round(louder, 8, {-1});
    EXPECT_TRUE(torch::equal(before[0], after[0]));
    EXPECT_TRUE(torch::equal(before[1][1], after[1][1]));
    EXPECT_FALSE(torch::equal(before[1][2], after[1][2]));
    EXPECT_FALSE(torch::equal(round(x, 8, {})[0], round(louder, 8, {})[0]));
  }
}

TEST(SliceGridTest, NothingIsFurtherFromItsValueThanHalfAStep) {
  torch::manual_seed(2);
  const at::Tensor x = torch::randn({8, 64}, torch::kDouble) + 3;
  for (const int bits : {2, 4, 8, 16}) {
    const SliceGrid absmax = AbsmaxGrid(x, bits, {-1});
    EXPECT_TRUE(((RoundToGrid(x, absmax) - x).abs() <= absmax.scale * 0.5000001).all().item<bool>()) << bits;
    const SliceGrid zeropoint = ZeropointGrid(x, bits, {-1});
    // z is rounded too: at an end a value may be cut by up to another half step.
    EXPECT_TRUE(((RoundToGrid(x, zeropoint) - x).abs() <= zeropoint.scale * 1.0000001).all().item<bool>())
        << bits;
  }
}

TEST(SliceGridTest, ZerosStayZeros) {
  const at::Tensor zeros = torch::zeros({2, 3});
  EXPECT_TRUE(torch::equal(AbsmaxGrid(zeros, 8, {-1}).scale, torch::ones({2, 1})));
  EXPECT_TRUE(torch::equal(Absmax(zeros, 8, {}), zeros));
  EXPECT_TRUE(torch::equal(Zeropoint(zeros, 4, {-1}), zeros));
}

TEST(SliceGridTest, AConstantSliceStaysAsItIs) {
  at::Tensor x = torch::full({2, 3}, 0.1f);
  x[1] = torch::tensor({1.f, 2.f, 3.f});
  const at::Tensor rounded = Zeropoint(x, 4, {-1});
  EXPECT_TRUE(torch::equal(rounded[0], x[0]));
  EXPECT_FALSE(rounded.isnan().any().item<bool>());
  EXPECT_NEAR(Absmax(x, 4, {-1})[0][0].item<float>(), 0.1f, 1e-7f);
}

TEST(SliceGridTest, ASpanTooSmallForAScaleIsLeftAlone) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const at::Tensor x = torch::tensor({0.f, tiny});
  EXPECT_TRUE(torch::equal(Zeropoint(x, 8, {}), x));
  EXPECT_TRUE(torch::equal(Absmax(x, 8, {}), torch::zeros({2})));
}

TEST(SliceGridTest, NanStaysVisible) {
  for (const float bad : {kFloatNan, kInfinity, -kInfinity}) {
    const at::Tensor x = torch::tensor({{1.f, bad, 2.f}, {1.f, 2.f, 3.f}});
    for (const auto& round : {&Absmax, &Zeropoint}) {
      const at::Tensor by_row = round(x, 8, {-1});
      EXPECT_TRUE(by_row[0].isnan().any().item<bool>()) << bad;
      EXPECT_FALSE(by_row[1].isnan().any().item<bool>()) << bad;
      EXPECT_TRUE(round(x, 8, {}).isnan().all().item<bool>()) << bad;
    }
  }
  EXPECT_TRUE(AbsmaxGridOfLargest(torch::tensor({kFloatNan}), 8).scale.isnan().item<bool>());
}

TEST(SliceGridTest, HalfPrecisionIsRoundedInFloat) {
  torch::manual_seed(3);
  for (const auto dtype : {torch::kHalf, torch::kBFloat16}) {
    const at::Tensor x = torch::randn({4, 8}).to(dtype);
    for (const auto& round : {&Absmax, &Zeropoint}) {
      const at::Tensor rounded = round(x, 8, {-1});
      EXPECT_EQ(rounded.scalar_type(), dtype);
      EXPECT_TRUE(torch::equal(rounded, round(x.to(torch::kFloat), 8, {-1}).to(dtype)));
    }
  }
}

TEST(SliceGridTest, AGpuRoundsAsTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  torch::manual_seed(4);
  const at::Tensor x = torch::randn({64, 1000});
  for (const auto& round : {&Absmax, &Zeropoint}) {
    for (const int bits : {4, 8}) {
      EXPECT_TRUE(torch::equal(round(x.cuda(), bits, {-1}).cpu(), round(x, bits, {-1}))) << bits;
      EXPECT_TRUE(torch::equal(round(x.cuda(), bits, {}).cpu(), round(x, bits, {}))) << bits;
    }
  }
}

TEST(SliceGridTest, TheTensorItselfIsNotWrittenTo) {
  const at::Tensor x = torch::randn({3, 3}), copy = x.clone();
  Absmax(x, 4, {-1});
  Zeropoint(x, 4, {});
  EXPECT_TRUE(torch::equal(x, copy));
}

}  // namespace
}  // namespace inlier
