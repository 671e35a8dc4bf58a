// Attention of core/cuda, run on a CPU, against float64: products as loops, rows of core/kernels/softmax_rows.h.
#include "core/cuda/attention.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/kernels/softmax_rows.h"
#include "tests/core/cuda/on_cpu/cuda_runtime_api.h"
#include "tests/core/kernels/numbers.h"

namespace inlier::cuda {
namespace {

using kernels::Bf16;
using kernels::Numbers;
using kernels::ToReal;
using on_cpu::Order;

struct Case {
  std::string name;
  std::int64_t tokens, head_size;
  std::int64_t batch = 1, heads = 2, kv_heads = 2;
  bool causal = false, hide = false, null = false;
  double zeta = 1, gamma = 0, dropout = 0;
  std::int64_t visible_keys = 0;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// Operands of one case, and the results of the kernels or of the reference.
struct Attention {
  explicit Attention(const Case& c) : c(c), width(c.heads * c.head_size), kv_width(c.kv_heads * c.head_size) {
    const std::int64_t rows = c.batch * c.tokens;
    q = Numbers<Bf16>(rows * width, 1);
    k = Numbers<Bf16>(rows * kv_width, 2);
    v = Numbers<Bf16>(rows * kv_width, 3);
    d_o = Numbers<Bf16>(rows * width, 4);
    hidden.resize(rows);
    for (std::int64_t i = 0; i < rows; ++i) hidden[i] = c.hide && i % c.tokens % 3 == 1;
    gamma.resize(c.tokens);
    for (std::int64_t t = 0; t < c.tokens; ++t) gamma[t] = static_cast<float>(c.gamma * (1 + t % 3));
    null_score.resize(c.heads);
    for (std::int64_t h = 0; h < c.heads; ++h) null_score[h] = 0.5f * static_cast<float>(h);
    dropout = {.seed = 0x123456789abcdefull, .site = 5, .probability = c.dropout, .first_row = 3};
  }

  Heads<const Bf16> Constant(const std::vector<Bf16>& x, std::int64_t row) const {
    return {x.data(), c.tokens * row, c.head_size, row};
  }
  Heads<Bf16> View(std::vector<Bf16>& x, std::int64_t row) const {
    return {x.data(), c.tokens * row, c.head_size, row};
  }

  AttentionShape Shape() const {
    return {.batch = c.batch,
            .heads = c.heads,
            .kv_heads = c.kv_heads,
            .tokens = c.tokens,
            .head_size = c.head_size,
            .visible_keys = c.visible_keys == 0 ? c.tokens : c.visible_keys,
            .scale = scale(),
            .zeta = static_cast<float>(c.zeta),
            .causal = c.causal,
            .key_hidden = c.hide ? hidden.data() : nullptr,
            .row_gamma = c.gamma == 0 ? nullptr : gamma.data(),
            .gamma_sequence = 0,
            .null_score = c.null ? null_score.data() : nullptr,
            .dropout = dropout,
            .first_row = 7};
  }
  float scale() const { return 0.5f / static_cast<float>(c.head_size) * 4; }

  void Run(Order order) {
    on_cpu::order = order;
    const std::int64_t rows = c.batch * c.tokens;
    o.assign(rows * width, Bf16{0x7fc0});
    dq = o;
    dk.assign(rows * kv_width, Bf16{0x7fc0});
    dv = dk;
    statistics.assign(2 * rows * c.heads, NAN);
    row_sums.assign(rows * c.heads, NAN);
    d_null.assign(c.heads, 1);
    const AttentionShape shape = Shape();
    ASSERT_EQ(cudaSuccess,
              AttentionForward(shape, Constant(q, width), Constant(k, kv_width), Constant(v, kv_width),
                               View(o, width), statistics.data(), nullptr));
    const AttentionGradients gradients = {.o = Constant(d_o, width),
                                          .q = View(dq, width),
                                          .k = View(dk, kv_width),
                                          .v = View(dv, kv_width),
                                          .null_score = c.null ? d_null.data() : nullptr,
                                          .row_sums = row_sums.data()};
    ASSERT_EQ(cudaSuccess, AttentionBackward(shape, Constant(q, width), Constant(k, kv_width),
                                             Constant(v, kv_width), statistics.data(), gradients, nullptr));
    on_cpu::order = Order::kForward;
  }

  Case c;
  std::int64_t width, kv_width;
  std::vector<Bf16> q, k, v, d_o, o, dq, dk, dv;
  std::vector<std::uint8_t> hidden;
  std::vector<float> gamma, null_score, statistics, row_sums, d_null;
  kernels::Dropout dropout;
};

// The same in float64.
struct Reference {
  explicit Reference(const Attention& a)
      : o(a.q.size()), dq(a.q.size()), dk(a.k.size()), dv(a.k.size()), d_null(a.c.heads, 1) {
    for (std::int64_t b = 0; b < a.c.batch; ++b) {
      for (std::int64_t h = 0; h < a.c.heads; ++h) Head(a, b, h);
    }
  }

  void Head(const Attention& a, std::int64_t b, std::int64_t h) {
    const std::int64_t t = a.c.tokens, size = a.c.head_size, stride = (t + 15) / 16 * 16;
    const std::int64_t query = b * t * a.width + h * size,
                       key = b * t * a.kv_width + h / (a.c.heads / a.c.kv_heads) * size;
    const auto q = [&](std::int64_t i, std::int64_t d) {
      return double{ToReal(a.q[query + i * a.width + d])};
    };
    const auto k = [&](std::int64_t j, std::int64_t d) {
      return double{ToReal(a.k[key + j * a.kv_width + d])};
    };
    const auto v = [&](std::int64_t j, std::int64_t d) {
      return double{ToReal(a.v[key + j * a.kv_width + d])};
    };
    const auto g = [&](std::int64_t i, std::int64_t d) {
      return double{ToReal(a.d_o[query + i * a.width + d])};
    };
    std::vector<double> s(t * stride), gradient(t * stride), left(t * stride), ds(t * stride),
        statistics(2 * t), factors(stride), gamma(a.gamma.begin(), a.gamma.end());
    for (std::int64_t i = 0; i < t; ++i) {
      for (std::int64_t j = 0; j < t; ++j) {
        for (std::int64_t d = 0; d < size; ++d) {
          s[i * stride + j] += q(i, d) * k(j, d);
          gradient[i * stride + j] += g(i, d) * v(j, d);
        }
      }
    }
    const AttentionShape shape = a.Shape();
    const double null_score = a.null_score[h];
    const kernels::SoftmaxRows<double> rows = {
        .rows = t,
        .first_query = 0,
        .causal = a.c.causal,
        .visible_keys = shape.visible_keys,
        .key_hidden = a.c.hide ? a.hidden.data() + b * t : nullptr,
        .scale = shape.scale,
        .zeta = shape.zeta,
        .row_constant = a.c.gamma == 0 ? nullptr : gamma.data(),
        .null_score = a.c.null ? &null_score : nullptr,
        .dropout = a.dropout,
        .first_row = shape.first_row + static_cast<std::uint64_t>((b * a.c.heads + h) * t)};
    std::vector<double> scores = s;
    kernels::SoftmaxForward<double>(rows, stride, scores.data(), stride, left.data(), stride,
                                    statistics.data(), factors.data());
    kernels::SoftmaxBackward<double>(rows, stride, s.data(), gradient.data(), stride, statistics.data(),
                                     left.data(), ds.data(), stride, a.c.null ? &d_null[h] : nullptr,
                                     factors.data());
    for (std::int64_t i = 0; i < t; ++i) {
      for (std::int64_t j = 0; j < t; ++j) {
        const double p = left[i * stride + j], e = ds[i * stride + j];
        if (p == 0 && e == 0) continue;
        for (std::int64_t d = 0; d < size; ++d) {
          o[query + i * a.width + d] += p * v(j, d);
          dq[query + i * a.width + d] += e * k(j, d);
          dk[key + j * a.kv_width + d] += e * q(i, d);
          dv[key + j * a.kv_width + d] += p * g(i, d);
        }
      }
    }
  }

  std::vector<double> o, dq, dk, dv, d_null;
};

// bfloat16 keeps 8 bits: a result of sums of rounded factors is off by a few parts in 1000 of a typical element.
template <typename T>
void ExpectClose(const std::vector<T>& got, const std::vector<double>& want, const std::string& what) {
  double error = 0, size = 0, worst = 0, largest = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double difference = ToReal(got[i]) - want[i];
    error += difference * difference;
    size += want[i] * want[i];
    worst = std::fmax(worst, std::fabs(difference));
    largest = std::fmax(largest, std::fabs(want[i]));
    ASSERT_FALSE(std::isnan(difference)) << what << ", element " << i;
  }
  EXPECT_LE(std::sqrt(error), 0.004 * std::sqrt(size)) << what;
  EXPECT_LE(worst, 0.008 * largest) << what;
}

template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

class AttentionTest : public ::testing::TestWithParam<Case> {};

TEST_P(AttentionTest, IsTheOneOfTheCpuAndTheSameBitsInAnyOrder) {
  Attention a(GetParam());
  a.Run(Order::kForward);
  const Reference reference(a);
  ExpectClose(a.o, reference.o, "o");
  ExpectClose(a.dq, reference.dq, "dq");
  ExpectClose(a.dk, reference.dk, "dk");
  ExpectClose(a.dv, reference.dv, "dv");
  if (a.c.null) ExpectClose(a.d_null, reference.d_null, "gradient of the null score");
  Attention again(GetParam());
  again.Run(Order::kReversed);
  EXPECT_TRUE(SameBits(a.o, again.o));
  EXPECT_TRUE(SameBits(a.dq, again.dq));
  EXPECT_TRUE(SameBits(a.dk, again.dk));
  EXPECT_TRUE(SameBits(a.dv, again.dv));
  EXPECT_TRUE(SameBits(a.d_null, again.d_null));
}

Case OneHead(Case c, double dropout = 0) {
  c.heads = c.kv_heads = 1;
  c.dropout = dropout;
  return c;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, AttentionTest,
    ::testing::Values(
        Case{.name = "OneToken", .tokens = 1, .head_size = 32},
        Case{.name = "Seven", .tokens = 7, .head_size = 64, .null = true},
        Case{.name = "Causal", .tokens = 63, .head_size = 64, .batch = 2, .causal = true, .dropout = 0.1},
        Case{.name = "Clipped", .tokens = 63, .head_size = 32, .zeta = 1.03, .gamma = -0.01},
        Case{.name = "SaturatesAndGammaAbove0",
             .tokens = 63,
             .head_size = 32,
             .hide = true,
             .zeta = 8,
             .gamma = 0.01,
             .dropout = 0.2},
        Case{.name = "Grouped",
             .tokens = 63,
             .head_size = 32,
             .heads = 4,
             .kv_heads = 2,
             .hide = true,
             .null = true},
        OneHead({.name = "TwoParts", .tokens = 197, .head_size = 64, .gamma = -0.001}, 0.1),
        OneHead({.name = "LargeHeads", .tokens = 197, .head_size = 128, .hide = true, .null = true}, 0.1),
        OneHead({.name = "LargeHeadsFourParts", .tokens = 260, .head_size = 128}),
        OneHead({.name = "LargeHeadsCausal", .tokens = 140, .head_size = 128, .causal = true}),
        OneHead({.name = "FourParts", .tokens = 300, .head_size = 32, .causal = true, .null = true}, 0.1),
        OneHead({.name = "Long",
                 .tokens = 513,
                 .head_size = 32,
                 .hide = true,
                 .null = true,
                 .zeta = 1.003,
                 .gamma = -0.0005},
                0.1),
        OneHead({.name = "LongCausal", .tokens = 530, .head_size = 32, .causal = true}),
        Case{.name = "OneVisibleKey", .tokens = 63, .head_size = 32, .null = true, .visible_keys = 1},
        OneHead({.name = "FewVisibleKeys", .tokens = 197, .head_size = 32, .visible_keys = 130})),
    [](const auto& info) { return info.param.name; });

// With values that are the unit vectors, o is the probabilities.
TEST(AttentionTest, ExactZerosStayZerosAndHiddenKeysGetNoGradient) {
  Attention a({.name = "",
               .tokens = 63,
               .head_size = 64,
               .heads = 1,
               .kv_heads = 1,
               .causal = true,
               .hide = true,
               .zeta = 1.05,
               .gamma = -0.02,
               .dropout = 0.1});
  for (std::int64_t i = 0; i < 63 * 64; ++i)
    a.v[i] = kernels::ToElement<Bf16>(i / 64 == i % 64 ? 1.0f : 0.0f);
  a.Run(Order::kForward);
  const Reference reference(a);
  int zeros = 0, ones = 0;
  for (std::size_t i = 0; i < a.o.size(); ++i) {
    EXPECT_EQ(reference.o[i] == 0, ToReal(a.o[i]) == 0) << i;
    EXPECT_NEAR(reference.o[i], ToReal(a.o[i]), 0.004 * reference.o[i]) << i;
    zeros += reference.o[i] == 0 && static_cast<std::int64_t>(i % 64) <= static_cast<std::int64_t>(i / 64);
    ones += std::fabs(reference.o[i] - 1 / (1 - std::lround(0.1 * 65536) / 65536.0)) < 1e-12;
  }
  EXPECT_GT(zeros, 500);
  EXPECT_GT(ones, 0);
  for (std::int64_t i = 0; i < 63 * 64; ++i) {
    if (i / 64 % 3 != 1) continue;
    ASSERT_EQ(0, ToReal(a.dk[i]));
    ASSERT_EQ(0, ToReal(a.dv[i]));
  }
}

TEST(AttentionTest, RowWithoutAVisibleKeyIsZeros) {
  Attention a({.name = "", .tokens = 7, .head_size = 32, .hide = true});
  a.hidden.assign(7, 1);
  a.Run(Order::kForward);
  for (const auto* x : {&a.o, &a.dq, &a.dk, &a.dv}) {
    for (const Bf16 y : *x) ASSERT_EQ(0, ToReal(y));
  }
}

TEST(AttentionTest, OtherShapesAreRefused) {
  AttentionShape shape = {
      .batch = 1, .heads = 1, .kv_heads = 1, .tokens = 4, .head_size = 48, .visible_keys = 4, .dropout = {}};
  EXPECT_FALSE(CanAttend(shape));
  EXPECT_EQ(cudaErrorInvalidValue, AttentionForward(shape, {}, {}, {}, {}, nullptr, nullptr));
  shape.head_size = 64;
  EXPECT_TRUE(CanAttend(shape));
  shape.visible_keys = 0;
  EXPECT_FALSE(CanAttend(shape));
}

}  // namespace
}  // namespace inlier::cuda
