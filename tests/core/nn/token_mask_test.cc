#include "core/nn/token_mask.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/nn/activation_tap.h"

namespace inlier {
namespace {

TEST(TokenMaskTest, WithoutPaddingThereIsNoMask) {
  EXPECT_FALSE(MakeTokenMask({}).padding.defined());
  const TokenMask full = MakeTokenMask(torch::ones({2, 3}, torch::kLong));
  EXPECT_FALSE(full.padding.defined());
  const at::Tensor x = torch::randn({2, 3, 4});
  EXPECT_TRUE(WithoutPadding(full, x).is_same(x));
  EXPECT_FALSE(PaddingOf(full, x).defined());
}

TEST(TokenMaskTest, TheFirstTokenIsTheFirstThatIsNoPadding) {
  const TokenMask mask = MakeTokenMask(torch::tensor({{1, 1, 0}, {0, 1, 1}, {0, 0, 0}}));
  EXPECT_TRUE(torch::equal(mask.first, torch::tensor({0L, 1L, 0L})));
  EXPECT_TRUE(torch::equal(mask.not_first.logical_not().sum(1), torch::tensor({1L, 1L, 0L})));
  EXPECT_TRUE(
      torch::equal(mask.not_later, torch::tensor({{1, 0, 1}, {1, 1, 0}, {1, 1, 1}}).to(torch::kBool)));
}

TEST(TokenMaskTest, TokensMayBeFlat) {
  const TokenMask mask = MakeTokenMask(torch::tensor({{1, 1, 0}, {0, 1, 1}}));
  const at::Tensor x = torch::arange(12, torch::kFloat).view({2, 3, 2});
  EXPECT_EQ(PaddingOf(mask, x).sizes(), (std::vector<std::int64_t>{2, 3, 1}));
  EXPECT_EQ(PaddingOf(mask, x.view({6, 2})).sizes(), (std::vector<std::int64_t>{6, 1}));
  const at::Tensor filled = WithoutPadding(mask, x);
  EXPECT_TRUE(torch::equal(filled.view({6, 2}), WithoutPadding(mask, x.view({6, 2}))));
  EXPECT_TRUE(torch::equal(filled[0][2], x[0][0])) << "the first token of its sequence";
  EXPECT_TRUE(torch::equal(filled[1][0], x[1][1]));
  EXPECT_TRUE(torch::equal(filled[1][2], x[1][2]));
  EXPECT_THROW(PaddingOf(mask, torch::zeros({5, 2})), c10::Error);
}

class PassCounter : public ActivationTap {
 public:
  void OnPass(const at::Tensor& attention_mask) override {
    ++passes;
    masked = attention_mask.defined();
  }
  int passes = 0;
  bool masked = false;
};

TEST(TokenMaskTest, AChainPassesTheMaskToEveryTap) {
  PassCounter first, second;
  TapChain chain({&first, &second});
  chain.OnPass(torch::ones({1, 2}));
  EXPECT_TRUE(first.masked && second.masked);
  EXPECT_EQ(first.passes + second.passes, 2);
}

}  // namespace
}  // namespace inlier
