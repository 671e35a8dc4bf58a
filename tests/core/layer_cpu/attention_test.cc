// Fused attention against the formulas of core/layer_cpu/attention.h composed from LibTorch's operations in
// float64, with gradients by autograd.
#include "core/layer_cpu/attention.h"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/layer_cpu/layer_parts.h"

namespace inlier::layer::cpu {
namespace {

struct Call {
  AttentionShape shape;
  std::int64_t visible_keys = 0;         // 0: all.
  std::vector<std::uint8_t> key_hidden;  // Empty: none.
  std::vector<double> row_constants;     // Empty: null.
  double null_score = 0;
  kernels::Dropout dropout;
  at::Tensor q, k, v, d_o;  // (T, h) float64.
};

// All float64. log_sum: the logarithm of each row's sum of exponentials, from the statistics.
struct Result {
  at::Tensor o, log_sum, dq, dk, dv, null_score_gradient;
  std::vector<at::Tensor> All() const { return {o, log_sum, dq, dk, dv, null_score_gradient}; }
};
constexpr const char* kNames[] = {"o", "log_sum", "dq", "dk", "dv", "null_score_gradient"};

Call MakeCall(std::int64_t tokens, std::int64_t head_size, bool causal, SoftmaxKind kind) {
  Call call;
  call.shape = {.tokens = tokens,
                .head_size = head_size,
                .scale = 1 / std::sqrt(static_cast<double>(head_size)),
                .causal = causal,
                .softmax = kind};
  torch::manual_seed(static_cast<std::uint64_t>(31 * tokens + head_size));
  for (at::Tensor* tensor : {&call.q, &call.k, &call.v, &call.d_o})
    *tensor = torch::randn({tokens, head_size}, at::kDouble);
  if (kind == SoftmaxKind::kClipped) {
    call.shape.zeta = 1.05;
    for (std::int64_t t = 0; t < tokens; ++t)  // Another gamma each row; about half of the keys are clipped.
      call.row_constants.push_back(-(0.5 + 0.1 * static_cast<double>(t % 5)) /
                                   static_cast<double>(tokens + 1));
  }
  if (kind == SoftmaxKind::kNullKey) call.null_score = 0.7;
  if (kind == SoftmaxKind::kSoftpick) call.shape.epsilon = 1e-3;
  for (std::int64_t t = 0; t < tokens && kind == SoftmaxKind::kSigmoid; ++t)
    call.row_constants.push_back(std::log(static_cast<double>(1 + t % 5)));
  return call;
}

// The numbers of T next to those of a float64 tensor, as float64.
template <typename T>
at::Tensor Rounded(const at::Tensor& x) {
  return x.to(kTypeOf<T>).to(at::kDouble);
}

at::Tensor HiddenKeys(const Call& call) {
  const std::int64_t tokens = call.shape.tokens;
  at::Tensor hidden = torch::zeros({tokens, tokens}, at::kBool);
  if (call.shape.causal) hidden = torch::ones({tokens, tokens}, at::kBool).triu(1);
  hidden.slice(0, 0, call.shape.prefix).slice(1, 0, call.shape.prefix).fill_(false);
  if (call.visible_keys > 0) hidden.slice(1, call.visible_keys).fill_(true);
  for (std::size_t j = 0; j < call.key_hidden.size(); ++j)
    if (call.key_hidden[j] != 0) hidden.select(1, static_cast<std::int64_t>(j)).fill_(true);
  return hidden;
}

// Softpick's probabilities of masked scores, and the logarithm of its denominator as that of a sum of exponentials.
std::pair<at::Tensor, at::Tensor> PlainSoftpick(const at::Tensor& scores, const at::Tensor& hidden,
                                                double epsilon) {
  const at::Tensor m = scores.detach().amax(1, /*keepdim=*/true);
  const at::Tensor r = (at::exp(scores - m) - at::exp(-m)).masked_fill(hidden, 0);
  const at::Tensor sum = r.abs().sum(1, /*keepdim=*/true) + epsilon;
  return {at::relu(r) / sum, (m + sum.log()).squeeze(1)};
}

// The plain formulas in `type`.
template <typename T>
Result Plain(const Call& call, at::ScalarType type) {
  const auto leaf = [type](const at::Tensor& x) {
    return Rounded<T>(x).to(type).clone().requires_grad_(true);
  };
  at::Tensor q = leaf(call.q), k = leaf(call.k), v = leaf(call.v);
  at::Tensor z = torch::full({1}, static_cast<Real<T>>(call.null_score), type).requires_grad_(true);
  const std::int64_t tokens = call.shape.tokens;
  const at::Tensor hidden = HiddenKeys(call);
  const double infinity = std::numeric_limits<double>::infinity();
  const at::Tensor scores = (at::mm(q, k.t()) * call.shape.scale).masked_fill(hidden, -infinity);
  const bool null_key = call.shape.softmax == SoftmaxKind::kNullKey;
  const at::Tensor all = null_key ? at::cat({scores, z.expand({tokens, 1})}, 1) : scores;
  at::Tensor p = at::softmax(all, 1).slice(1, 0, tokens), log_sum = at::logsumexp(all, 1);
  if (call.shape.softmax == SoftmaxKind::kSoftpick)
    std::tie(p, log_sum) = PlainSoftpick(scores, hidden, call.shape.epsilon);
  if (call.shape.softmax == SoftmaxKind::kSigmoid) {
    const at::Tensor logarithms =
        torch::tensor(call.row_constants, at::kDouble).to(kTypeOf<Real<T>>).to(type);
    p = at::sigmoid(scores - logarithms.unsqueeze(1));
    log_sum = torch::zeros({tokens}, type);
  }
  if (call.shape.softmax == SoftmaxKind::kClipped) {
    at::Tensor gamma = torch::zeros({tokens, 1}, type);
    for (std::int64_t t = 0; t < tokens && !call.row_constants.empty(); ++t)
      gamma[t] = static_cast<Real<T>>(call.row_constants[static_cast<std::size_t>(t)]);
    p = ((call.shape.zeta - gamma) * p + gamma).clamp(0, 1).masked_fill(hidden, 0);
  }
  if (call.dropout.active()) {
    std::vector<double> factors(static_cast<std::size_t>(tokens * tokens));
    for (std::int64_t t = 0; t < tokens; ++t)
      kernels::DropoutFactors(call.dropout, static_cast<std::uint64_t>(1000 + t), tokens,
                              factors.data() + t * tokens);
    p = p * torch::tensor(factors, at::kDouble).view({tokens, tokens}).to(type);
  }
  const at::Tensor o = at::mm(p, v);
  o.backward(Rounded<T>(call.d_o).to(type));
  const at::Tensor null_gradient = z.grad().defined() ? z.grad() : torch::zeros({1});
  Result result{o.detach(), log_sum.detach(), q.grad(), k.grad(), v.grad(), null_gradient};
  for (at::Tensor* x :
       {&result.o, &result.log_sum, &result.dq, &result.dk, &result.dv, &result.null_score_gradient})
    *x = x->to(at::kDouble);
  return result;
}

// q, k and v are parts of one matrix, and so are their gradients; o and d_o have further columns, which stay
// as they are. Scratch memory is full of NaN.
template <typename T>
Result Fused(const Call& call) {
  const std::int64_t tokens = call.shape.tokens, size = call.shape.head_size;
  constexpr std::int64_t kFurther = 6;
  constexpr double kUntouched = 77;
  const at::Tensor untouched = torch::full({tokens, kFurther}, kUntouched, at::kDouble);
  const at::Tensor qkv = at::cat({call.q, call.k, call.v}, 1).to(kTypeOf<T>).contiguous();
  const at::Tensor d_o = at::cat({call.d_o, untouched}, 1).to(kTypeOf<T>).contiguous();
  const at::Tensor o = torch::full({tokens, size + kFurther}, kUntouched, kTypeOf<Real<T>>);
  const at::Tensor gradients = torch::full({tokens, 3 * size + kFurther}, kUntouched, kTypeOf<T>);
  const at::Tensor statistics = torch::empty({tokens, 2}, kTypeOf<Real<T>>);
  const at::Tensor null_gradient = torch::full({1}, 3.0, kTypeOf<Real<T>>);
  const at::Tensor gamma = torch::tensor(call.row_constants, at::kDouble).to(kTypeOf<Real<T>>);

  AttentionHead<T> head;
  head.q = Data<T>(qkv);
  head.k = head.q + size;
  head.v = head.k + size;
  head.stride = 3 * size;
  head.visible_keys = call.visible_keys > 0 ? call.visible_keys : tokens;
  head.key_hidden = call.key_hidden.empty() ? nullptr : call.key_hidden.data();
  head.row_constant = call.row_constants.empty() ? nullptr : Data<Real<T>>(gamma);
  head.null_score = static_cast<Real<T>>(call.null_score);
  head.dropout = call.dropout;
  head.first_row = 1000;

  const std::size_t bytes = static_cast<std::size_t>(AttentionScratch<T>(call.shape));
  std::byte* const scratch = Scratch(ScratchSlot::kAttention, bytes);
  std::memset(scratch, 0xff, bytes);
  AttentionForward<T>(call.shape, head, Data<Real<T>>(o), size + kFurther, Data<Real<T>>(statistics),
                      scratch);
  std::memset(scratch, 0xff, bytes);
  T* const dq = Data<T>(gradients);
  const bool null_key = call.shape.softmax == SoftmaxKind::kNullKey;
  AttentionBackward<T>(call.shape, head, Data<Real<T>>(statistics), Data<T>(d_o), size + kFurther, dq,
                       dq + size, dq + 2 * size, 3 * size + kFurther,
                       null_key ? Data<Real<T>>(null_gradient) : nullptr, scratch);
  const at::Tensor largest = statistics.select(1, 0).to(at::kDouble) * call.shape.scale;
  const at::Tensor log_sum = call.shape.softmax == SoftmaxKind::kSigmoid  // It saves nothing.
                                 ? torch::zeros({tokens}, at::kDouble)
                                 : largest - statistics.select(1, 1).to(at::kDouble).log();
  const auto part = [&](const at::Tensor& x, std::int64_t i) {
    return x.slice(1, i * size, (i + 1) * size).to(at::kDouble).contiguous();
  };
  EXPECT_TRUE(at::equal(o.slice(1, size).to(at::kDouble), untouched));
  EXPECT_TRUE(at::equal(gradients.slice(1, 3 * size).to(at::kDouble), untouched));
  return {part(o, 0),         log_sum,
          part(gradients, 0), part(gradients, 1),
          part(gradients, 2), null_gradient.to(at::kDouble) - 3.0};
}

// The largest difference as a part of the largest number; both 0 are equal.
double Difference(const at::Tensor& actual, const at::Tensor& expected) {
  const double difference = (actual - expected).abs().max().item<double>();
  const double largest = expected.abs().max().item<double>();
  return difference == 0 ? 0 : difference / std::max(largest, std::numeric_limits<double>::min());
}

template <typename T>
constexpr double kTolerance = std::is_same_v<T, double> ? 1e-12
                              : std::is_same_v<T, Bf16> ? 2e-2
                                                        : 1e-5;

template <typename T>
void ExpectPlain(const Call& call, const std::string& what) {
  const std::vector<at::Tensor> expected = Plain<T>(call, at::kDouble).All(), actual = Fused<T>(call).All();
  // A zero of exact arithmetic (softmax of one key) is rounded: it is compared with the gradient's size.
  const double floor = 0.1 * call.d_o.abs().max().item<double>();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double largest = std::max(expected[i].abs().max().item<double>(), i == 0 || i == 1 ? 0.0 : floor);
    const double difference = (actual[i] - expected[i]).abs().max().item<double>();
    EXPECT_LE(difference, kTolerance<T> * largest) << kNames[i] << ", " << what;
  }
}

constexpr SoftmaxKind kKinds[] = {SoftmaxKind::kSoftmax, SoftmaxKind::kClipped, SoftmaxKind::kNullKey,
                                  SoftmaxKind::kSoftpick, SoftmaxKind::kSigmoid};

std::string Describe(const Call& call) {
  return "T " + std::to_string(call.shape.tokens) + " h " + std::to_string(call.shape.head_size) + " kind " +
         std::to_string(static_cast<int>(call.shape.softmax)) + (call.shape.causal ? " causal" : "");
}

template <typename T>
class AttentionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!CanMultiply<T>()) GTEST_SKIP() << "this processor has no block product of the type";
  }
};
using Types = testing::Types<float, double, Bf16>;
TYPED_TEST_SUITE(AttentionTest, Types);

TYPED_TEST(AttentionTest, IsThePlainFormulas) {
  const std::int64_t sizes[] = {8, 16, 32, 64, 128};
  int number = 0;
  for (const std::int64_t tokens : {1, 2, 7, 63, 64, 65, 128, 197, 513}) {
    for (const SoftmaxKind kind : kKinds) {
      for (const bool causal : {false, true}) {
        Call call = MakeCall(tokens, sizes[number++ % 5], causal, kind);
        if (number % 3 != 0) call.dropout = {.seed = 5, .site = 2, .probability = 0.25};
        ExpectPlain<TypeParam>(call, Describe(call));
      }
    }
  }
}

// Within a block of queries, at its end, and over several.
TYPED_TEST(AttentionTest, APrefixSeesItself) {
  for (const std::int64_t prefix : {2, 10, 64, 70, 129}) {
    for (const SoftmaxKind kind : kKinds) {
      Call call = MakeCall(130, 32, /*causal=*/true, kind);
      call.shape.prefix = prefix;
      if (prefix != 10) call.dropout = {.seed = 5, .site = 2, .probability = 0.25};
      if (prefix == 70) call.visible_keys = 66;
      ExpectPlain<TypeParam>(call, Describe(call) + ", prefix " + std::to_string(prefix));
    }
  }
}

TYPED_TEST(AttentionTest, EveryHeadSizeInEveryKind) {
  for (const std::int64_t size : {2, 8, 16, 32, 64, 80, 128, 192}) {
    for (const SoftmaxKind kind : kKinds) {
      const Call call = MakeCall(65, size, /*causal=*/true, kind);
      ExpectPlain<TypeParam>(call, Describe(call));
    }
  }
}

// Hidden keys have no part in anything, also with huge numbers, and where gamma is above 0.
TYPED_TEST(AttentionTest, PaddingIsOutOfSight) {
  for (const std::int64_t tokens : {7, 65, 130}) {
    for (const SoftmaxKind kind : kKinds) {
      for (const bool causal : {false, true}) {
        for (const bool at_end : {false, true}) {
          Call call = MakeCall(tokens, 16, causal, kind);
          if (kind == SoftmaxKind::kClipped)
            call.row_constants.assign(static_cast<std::size_t>(tokens), 0.01);
          call.dropout = {.seed = 9, .site = 1, .probability = 0.1};
          if (at_end) {
            call.visible_keys = tokens / 2;
          } else {
            call.key_hidden.assign(static_cast<std::size_t>(tokens), 0);
            for (std::int64_t j = 1; j < tokens; j += 3) call.key_hidden[static_cast<std::size_t>(j)] = 1;
          }
          const std::string what = Describe(call) + (at_end ? ", the end is padding" : ", keys are hidden");
          ExpectPlain<TypeParam>(call, what);

          const at::Tensor hidden = HiddenKeys(call).all(0).view({tokens, 1});
          const Result result = Fused<TypeParam>(call);
          EXPECT_EQ(0, result.dk.masked_select(hidden).abs().max().template item<double>()) << what;
          EXPECT_EQ(0, result.dv.masked_select(hidden).abs().max().template item<double>()) << what;
          call.k = call.k.masked_fill(hidden, 1e4);
          call.v = call.v.masked_fill(hidden, -1e20);
          const Result other = Fused<TypeParam>(call);
          for (std::size_t i = 0; i < std::size(kNames); ++i)
            EXPECT_TRUE(at::equal(result.All()[i], other.All()[i])) << kNames[i] << ", " << what;
        }
      }
    }
  }
}

TYPED_TEST(AttentionTest, OneVisibleKey) {
  for (const std::int64_t tokens : {1, 5, 70}) {
    for (const SoftmaxKind kind : kKinds) {
      Call call = MakeCall(tokens, 8, /*causal=*/false, kind);
      if (kind == SoftmaxKind::kSoftpick) {  // At a score of 0 the only probability jumps from 0 to 1.
        call.q = call.q.abs();
        call.k = call.k.abs();
      }
      call.visible_keys = 1;
      ExpectPlain<TypeParam>(call, Describe(call));
      call.visible_keys = 0;
      call.key_hidden.assign(static_cast<std::size_t>(tokens), 1);
      call.key_hidden.back() = 0;
      ExpectPlain<TypeParam>(call, Describe(call) + ", the last");
      if (kind != SoftmaxKind::kSoftmax) continue;
      // The context is the value, and the scores get no gradient.
      const Result result = Fused<TypeParam>(call);
      const at::Tensor value = Rounded<TypeParam>(call.v).slice(0, tokens - 1);
      EXPECT_TRUE(at::equal(result.o, value.expand({tokens, 8})));
      EXPECT_LE(result.dk.abs().max().template item<double>(), 1e-4);
    }
  }
}

TYPED_TEST(AttentionTest, SoftmaxIsClippedWithGamma0AndZeta1BitForBit) {
  for (const std::int64_t tokens : {7, 64, 197}) {
    for (const bool causal : {false, true}) {
      Call softmax = MakeCall(tokens, 32, causal, SoftmaxKind::kSoftmax);
      softmax.q = softmax.q * 5;  // Some probabilities are 0 and 1.
      softmax.dropout = {.seed = 3, .site = 4, .probability = 0.1};
      Call clipped = softmax;
      clipped.shape.softmax = SoftmaxKind::kClipped;
      clipped.row_constants.assign(static_cast<std::size_t>(tokens), 0);
      const Result a = Fused<TypeParam>(softmax), b = Fused<TypeParam>(clipped);
      for (std::size_t i = 0; i < std::size(kNames); ++i)
        EXPECT_TRUE(at::equal(a.All()[i], b.All()[i])) << kNames[i] << ", T " << tokens;
    }
  }
}

// One key has all of the probability, and zeta stretches it beyond 1.
TYPED_TEST(AttentionTest, ZetaAboveOneSaturates) {
  constexpr std::int64_t kTokens = 16;
  Call call = MakeCall(kTokens, kTokens, /*causal=*/false, SoftmaxKind::kClipped);
  call.shape.scale = 1;
  call.shape.zeta = 1.3;
  call.row_constants.assign(kTokens, -0.1);
  call.q = 40 * torch::eye(kTokens, at::kDouble);
  call.k = call.q;
  const Result result = Fused<TypeParam>(call);
  EXPECT_TRUE(at::equal(result.o, Rounded<TypeParam>(call.v)));
  EXPECT_TRUE(at::equal(result.dv, Rounded<TypeParam>(call.d_o)));
  EXPECT_EQ(0, result.dq.abs().max().template item<double>());
  EXPECT_EQ(0, result.dk.abs().max().template item<double>());
}

// All keys are alike, so that gamma clips all of them.
TYPED_TEST(AttentionTest, ExactZerosStayZeros) {
  for (const std::int64_t tokens : {7, 65}) {
    Call call = MakeCall(tokens, 8, /*causal=*/false, SoftmaxKind::kClipped);
    call.q.zero_();
    call.row_constants.assign(static_cast<std::size_t>(tokens), -0.5);
    const Result result = Fused<TypeParam>(call);
    for (const at::Tensor& x : {result.o, result.dq, result.dk, result.dv})
      EXPECT_EQ(0, x.abs().max().template item<double>()) << "T " << tokens;
  }
}

// Scores of some hundreds: what the forward pass saves of a row must not add to the rounding of the scores.
TEST(AttentionInFloat32Test, LargeScoresAreAsExactAsThePlainFormulasInFloat32) {
  for (const SoftmaxKind kind : kKinds) {
    Call call = MakeCall(128, 64, /*causal=*/false, kind);
    call.q = call.q * 100;
    const std::vector<at::Tensor> exact = Plain<float>(call, at::kDouble).All();
    const std::vector<at::Tensor> plain = Plain<float>(call, at::kFloat).All(),
                                  fused = Fused<float>(call).All();
    for (const std::size_t i : {0, 2, 3, 4}) {
      EXPECT_LE(Difference(fused[i], exact[i]), 1.1 * Difference(plain[i], exact[i]) + 1e-6)
          << kNames[i] << ", " << Describe(call);
    }
  }
}

// sum(o * d_o) along a direction of q, k, v and the null score.
TEST(AttentionInFloat64Test, GradientsAreFiniteDifferences) {
  for (const SoftmaxKind kind : kKinds) {
    for (const bool causal : {false, true}) {
      Call call = MakeCall(13, 8, causal, kind);
      call.shape.epsilon =
          1e-10;  // Softpick's largest score is a constant of the gradient, which matters by epsilon alone.
      call.dropout = {.seed = 1, .site = 1, .probability = 0.2};
      call.key_hidden.assign(13, 0);
      call.key_hidden[4] = 1;
      const Result result = Fused<double>(call);
      const at::Tensor a = torch::randn_like(call.q), b = torch::randn_like(call.q),
                       c = torch::randn_like(call.q);
      double expected = (result.dq * a + result.dk * b + result.dv * c).sum().item<double>();
      if (kind == SoftmaxKind::kNullKey) expected += result.null_score_gradient.item<double>();
      constexpr double kStep = 1e-6;
      const auto loss = [&](double step) {
        Call moved = call;
        moved.q = call.q + step * a;
        moved.k = call.k + step * b;
        moved.v = call.v + step * c;
        moved.null_score += step;
        return (Fused<double>(moved).o * call.d_o).sum().item<double>();
      };
      EXPECT_NEAR((loss(kStep) - loss(-kStep)) / (2 * kStep), expected,
                  1e-7 * std::max(1.0, std::abs(expected)))
          << Describe(call);
    }
  }
}

}  // namespace
}  // namespace inlier::layer::cpu
