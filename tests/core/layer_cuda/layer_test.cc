// A layer on a GPU, run on the CPU, against the CPU's in float64.
#include "core/layer_cuda/layer.h"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/layer_cpu/layer.h"
#include "core/layer_cpu/matmul.h"
#include "tests/core/layer_cuda/place.h"

namespace inlier::layer::gpu {
namespace {

using kernels::Activation;
using kernels::NormKind;

struct Case {
  std::string name;
  std::int64_t tokens;
  std::int64_t batch = 2, heads = 2, kv_heads = 2, head_size = 32, ffn = 72;
  SoftmaxKind softmax = SoftmaxKind::kSoftmax;
  bool sinks = false, gamma_of_sequence = false;
  bool causal = false, mask = false, gate = false, rotary = false;
  bool pre_norm = false, gated = false, in_out = false, bias = true;
  NormKind norm = NormKind::kLayerNorm;
  Activation activation = Activation::kGeluErf;
  double dropout = 0;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

struct DrawnCall : Call {
  at::Tensor y_gradient;
};

at::Tensor Draw(at::IntArrayRef sizes, double scale, double middle = 0) {
  return torch::randn(sizes, at::kDouble) * scale + middle;
}

Linear DrawLinear(const Case& c, std::int64_t in, std::int64_t out) {
  const double scale = 1 / std::sqrt(static_cast<double>(in));
  return {c.in_out ? Draw({in, out}, scale) : Draw({out, in}, scale),
          c.bias ? Draw({out}, 0.3) : at::Tensor()};
}

Norm DrawNorm(const Case& c, std::int64_t width) {
  return {Draw({c.norm == NormKind::kRmsSingle ? 1 : width}, 0.3, 1),
          c.norm == NormKind::kLayerNorm ? Draw({width}, 0.3) : at::Tensor()};
}

void DrawInputs(const Case& c, DrawnCall& call) {
  const std::int64_t d = call.shape.width;
  Inputs& inputs = call.inputs;
  inputs.x = Draw({c.batch, c.tokens, d}, 1);
  if (c.gate) {
    inputs.gate = Draw({c.batch, c.heads, c.tokens}, 1).sigmoid();
    if (c.pre_norm) {
      inputs.attention_input = Draw({c.batch, c.tokens, d}, 1);
      call.weights.attention_norm = {};
    }
  }
  if (c.mask) {
    inputs.key_mask = torch::zeros({c.batch, c.tokens}, at::kByte);
    inputs.key_mask[0].slice(0, (c.tokens + 1) / 2).fill_(1);
  }
  if (c.rotary) {
    const at::Tensor angles = Draw({c.tokens, c.head_size / 2}, 2);
    inputs.cosine = angles.cos();
    inputs.sine = angles.sin();
  }
  if (c.softmax == SoftmaxKind::kClipped) {
    inputs.row_constant =
        Draw({c.gamma_of_sequence ? c.batch : 1, c.tokens}, 0.1, -0.4) / static_cast<double>(c.tokens);
  }
  call.y_gradient = Draw({c.batch, c.tokens, d}, 1);
}

DrawnCall MakeCall(const Case& c) {
  torch::manual_seed(static_cast<std::uint64_t>(c.tokens));
  const std::int64_t d = c.heads * c.head_size, keys = c.kv_heads * c.head_size;
  const auto dropout = [&c](std::uint32_t site) {
    return kernels::Dropout{.seed = 0x1234567890abcdefull, .site = site, .probability = c.dropout};
  };
  DrawnCall call;
  call.shape = {.batch = c.batch,
                .tokens = c.tokens,
                .width = d,
                .heads = c.heads,
                .kv_heads = c.kv_heads,
                .ffn = c.ffn,
                .in_out = c.in_out,
                .pre_norm = c.pre_norm,
                .norm = c.norm,
                .epsilon = 1e-5,
                .activation = c.activation,
                .attention = {.tokens = c.tokens,
                              .head_size = c.head_size,
                              .scale = 1 / std::sqrt(static_cast<double>(c.head_size)),
                              .causal = c.causal,
                              .softmax = c.softmax,
                              .zeta = c.softmax == SoftmaxKind::kClipped ? 1.03 : 1},
                .null_score = 0.4,
                .probabilities = dropout(3),
                .attention_dropout = dropout(4),
                .ffn_dropout = dropout(5)};
  Weights& w = call.weights;
  if (c.in_out) {
    w.projections = {DrawLinear(c, d, d + 2 * keys)};
  } else {
    w.projections = {DrawLinear(c, d, d), DrawLinear(c, d, keys), DrawLinear(c, d, keys)};
  }
  w.output = DrawLinear(c, d, d);
  if (c.gated) w.ffn_gate = DrawLinear(c, d, c.ffn);
  w.ffn_input = DrawLinear(c, d, c.ffn);
  w.ffn_output = DrawLinear(c, c.ffn, d);
  w.attention_norm = DrawNorm(c, d);
  w.ffn_norm = DrawNorm(c, d);
  if (c.sinks) w.sinks = Draw({c.heads}, 1);
  DrawInputs(c, call);
  return call;
}

// In float32 on `device`.
DrawnCall Moved(DrawnCall call, c10::Device device) {
  const auto narrow = [device](at::Tensor& x) {
    if (x.defined()) x = x.to(device, x.scalar_type() == at::kDouble ? at::kFloat : x.scalar_type());
  };
  VisitWeights(call.weights, narrow);
  Inputs& inputs = call.inputs;
  for (at::Tensor* x : {&inputs.x, &inputs.attention_input, &inputs.gate, &inputs.cosine, &inputs.sine,
                        &inputs.row_constant, &inputs.key_mask, &call.y_gradient}) {
    narrow(*x);
  }
  return call;
}

using Named = std::vector<std::pair<std::string, at::Tensor>>;

// The output and all gradients. Those of query, key and value in one: a part of them may be 0 but for rounding.
Named Results(const at::Tensor& y, const Gradients& found) {
  const Weights& w = found.weights;
  Named results = {{"y", y},
                   {"x", found.x},
                   {"attention_input", found.attention_input},
                   {"gate", found.gate},
                   {"output.weight", w.output.weight},
                   {"output.bias", w.output.bias},
                   {"ffn_gate.weight", w.ffn_gate.weight},
                   {"ffn_gate.bias", w.ffn_gate.bias},
                   {"ffn_input.weight", w.ffn_input.weight},
                   {"ffn_input.bias", w.ffn_input.bias},
                   {"ffn_output.weight", w.ffn_output.weight},
                   {"ffn_output.bias", w.ffn_output.bias},
                   {"attention_norm.gain", w.attention_norm.gain},
                   {"attention_norm.offset", w.attention_norm.offset},
                   {"ffn_norm.gain", w.ffn_norm.gain},
                   {"ffn_norm.offset", w.ffn_norm.offset},
                   {"sinks", w.sinks}};
  std::vector<at::Tensor> projections, biases;
  for (const Linear& linear : w.projections) {
    projections.push_back(linear.weight.flatten());
    if (linear.bias.defined()) biases.push_back(linear.bias);
  }
  results.emplace_back("projections.weight", at::cat(projections));
  if (!biases.empty()) results.emplace_back("projections.bias", at::cat(biases));
  return results;
}

Named OnCpu(DrawnCall call, Products products) {
  call.products = products;
  const at::Tensor y = cpu::LayerForward(call).y;
  return Results(y, cpu::LayerBackward(call, call.y_gradient, 0));
}

Named OnDeviceOf(DrawnCall call) {
  const at::Tensor y = LayerForward(call).y;
  return Results(y, LayerBackward(call, call.y_gradient));
}

double Distance(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(c10::kCPU, at::kDouble) - b).norm().item<double>();
}

// Factors of products are rounded to bfloat16, so are the products' results: parts in a thousand of a tensor's size,
// more where probabilities are at the edge of the clip.
void ExpectClose(const Named& got, const Named& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(want[i].second.defined(), got[i].second.defined()) << want[i].first;
    if (!want[i].second.defined()) continue;
    ASSERT_EQ(want[i].second.sizes(), got[i].second.sizes()) << want[i].first;
    ASSERT_TRUE(got[i].second.is_contiguous()) << want[i].first;
    EXPECT_LE(Distance(got[i].second, want[i].second), tolerance * want[i].second.norm().item<double>())
        << want[i].first;
  }
}

class LayerTest : public testing::TestWithParam<Case> {};

TEST_P(LayerTest, IsTheOneOfTheCpuInFloat64) {
  const DrawnCall exact = MakeCall(GetParam()), call = Moved(exact, TestDevice());
  ExpectClose(OnDeviceOf(call), OnCpu(exact, Products::kFloat32), 0.012);
}

const std::vector<Case> kCases = {
    {.name = "OneToken", .tokens = 1, .dropout = 0.1},
    {.name = "Vanilla", .tokens = 7, .mask = true, .dropout = 0.1},
    {.name = "Clipped", .tokens = 63, .softmax = SoftmaxKind::kClipped, .mask = true, .dropout = 0.1},
    {.name = "ClippedBySequence",
     .tokens = 63,
     .softmax = SoftmaxKind::kClipped,
     .gamma_of_sequence = true,
     .causal = true,
     .pre_norm = true},
    {.name = "NullKeyGpt2",
     .tokens = 63,
     .head_size = 64,
     .softmax = SoftmaxKind::kNullKey,
     .causal = true,
     .pre_norm = true,
     .in_out = true,
     .activation = Activation::kGeluTanh,
     .dropout = 0.1},
    {.name = "SinksLlama",
     .tokens = 63,
     .heads = 4,
     .softmax = SoftmaxKind::kNullKey,
     .sinks = true,
     .causal = true,
     .rotary = true,
     .pre_norm = true,
     .gated = true,
     .bias = false,
     .norm = NormKind::kRmsPerChannel,
     .activation = Activation::kSilu},
    {.name = "GatedNetworkWithBiasesAfterNorms",
     .tokens = 7,
     .gated = true,
     .norm = NormKind::kRmsSingle,
     .activation = Activation::kSilu},
    {.name = "HeadGate", .tokens = 63, .softmax = SoftmaxKind::kClipped, .gate = true, .dropout = 0.1},
    {.name = "HeadGateBeforeNorms",
     .tokens = 63,
     .mask = true,
     .gate = true,
     .pre_norm = true,
     .activation = Activation::kGeluTanh,
     .dropout = 0.1},
    {.name = "LargeHeads",
     .tokens = 63,
     .heads = 2,
     .kv_heads = 1,
     .head_size = 128,
     .rotary = true,
     .norm = NormKind::kRmsSingle},
    {.name = "Image", .tokens = 197, .batch = 1, .head_size = 64, .pre_norm = true, .dropout = 0.1},
    {.name = "Long",
     .tokens = 513,
     .batch = 1,
     .heads = 1,
     .kv_heads = 1,
     .softmax = SoftmaxKind::kClipped,
     .causal = true,
     .dropout = 0.1}};

INSTANTIATE_TEST_SUITE_P(Cases, LayerTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

// A launch that overwrites its input does not depend on the order of threads.
TEST(LayerTest, OrderOfThreadsChangesNoBit) {
  for (const char* const name : {"Vanilla", "SinksLlama"}) {
    for (const Case& c : kCases) {
      if (c.name != name) continue;
      const DrawnCall call = Moved(MakeCall(c), TestDevice());
      const Named a = OnDeviceOf(call);
      ReverseThreads(true);
      const Named b = OnDeviceOf(call);
      ReverseThreads(false);
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (!a[i].second.defined()) continue;
        EXPECT_TRUE(at::equal(a[i].second, b[i].second)) << name << ", " << a[i].first;
      }
    }
  }
}

// ReLU's gradient comes or goes where rounding moves a number across 0, on the CPU as often.
TEST(LayerTest, ReluIsRoundedAsOnTheCpu) {
  if (!cpu::CanMultiply<cpu::Bf16>()) GTEST_SKIP() << "this processor has no products of bfloat16";
  const DrawnCall exact =
      MakeCall({.name = "", .tokens = 63, .pre_norm = true, .activation = Activation::kRelu});
  const Named want = OnCpu(exact, Products::kFloat32), got = OnDeviceOf(Moved(exact, TestDevice())),
              cpu = OnCpu(Moved(exact, c10::kCPU), Products::kBfloat16);
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!want[i].second.defined()) continue;
    EXPECT_LE(Distance(got[i].second, want[i].second), 1.5 * Distance(cpu[i].second, want[i].second))
        << want[i].first;
  }
}

// The layers of published models, against the CPU's in float32.
TEST(LayerTest, RealSizes) {
  if (!OnGpu()) GTEST_SKIP() << "too large for kernels on a CPU";
  const Case base = {
      .name = "", .tokens = 128, .heads = 12, .kv_heads = 12, .head_size = 64, .ffn = 3072, .dropout = 0.1};
  Case clipped = base, causal = base;
  clipped.softmax = SoftmaxKind::kClipped;
  causal.tokens = 512;
  causal.causal = causal.pre_norm = true;
  for (const Case& c : {base, clipped, causal}) {
    const DrawnCall exact = MakeCall(c);
    ExpectClose(OnDeviceOf(Moved(exact, TestDevice())), OnCpu(Moved(exact, c10::kCPU), Products::kFloat32),
                0.012);
  }
}

TEST(LayerTest, OtherSizesAreRefused) {
  EXPECT_TRUE(CanFuse(768, 12, 12));
  EXPECT_TRUE(CanFuse(4096, 32, 8));
  EXPECT_FALSE(CanFuse(768, 16, 16));     // Heads of 48.
  EXPECT_FALSE(CanFuse(8256, 129, 129));  // Wider than a norm's row may be.
  EXPECT_FALSE(CanFuse(256, 4, 3));
  EXPECT_FALSE(CanFuse(100, 3, 3));
}

}  // namespace
}  // namespace inlier::layer::gpu
