// Times of the kernels of core/cuda on shapes of real models, with what they move and compute, and of a product of
// LibTorch's to compare with. That their results are right is left to layer_cuda_gpu_test. Prints JSON.
//
//   kernel_load [--device cuda] [--rounds 50] [--small]
//
// --small: shapes for a run of the kernels on a CPU, where times mean nothing.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/cuda/adam.h"
#include "core/cuda/attention.h"
#include "core/cuda/cross_entropy.h"
#include "core/cuda/rows.h"
#include "core/layer_cuda/launch.h"

namespace inlier::layer::gpu {
namespace {

using kernels::Bf16;

template <typename T>
T* Data(const at::Tensor& x) {
  return static_cast<T*>(x.mutable_data_ptr());
}

class Bench {
 public:
  Bench(c10::Device device, int rounds, bool small) : device_(device), rounds_(rounds), small_(small) {
    stream_ = StreamOf(Wide({1}));
  }

  nlohmann::json Run() {
    Attention("BERT-base T128", small_ ? 1 : 256, small_ ? 2 : 12, 128, 64, false, false);
    Attention("BERT-base T128 clipped", small_ ? 1 : 256, small_ ? 2 : 12, 128, 64, false, true);
    Attention("OPT-125m T512", small_ ? 1 : 48, small_ ? 1 : 12, small_ ? 256 : 512, 64, true, false);
    Attention("OPT-125m T512 clipped", small_ ? 1 : 48, small_ ? 1 : 12, small_ ? 256 : 512, 64, true, true);
    Attention("heads of 32, T128", small_ ? 1 : 256, small_ ? 2 : 8, 128, 32, false, false);
    Norm(small_ ? 64 : 32768, small_ ? 256 : 768);
    Activation(small_ ? 64 : 32768, small_ ? 256 : 3072);
    CrossEntropy(small_ ? 16 : 4096, small_ ? 1000 : 30522);
    Adam(small_ ? 20000 : 110000000);
    Product(small_ ? 256 : 4096);
    return rows_;
  }

 private:
  at::Tensor Narrow(at::IntArrayRef sizes) const { return at::randn(sizes, Options()).to(at::kBFloat16); }
  at::Tensor Wide(at::IntArrayRef sizes) const { return at::randn(sizes, Options()); }
  at::TensorOptions Options() const { return at::TensorOptions().device(device_).dtype(at::kFloat); }

  void Wait() const { Wide({1}).item(); }

  // The mean time of one call, after three to warm up.
  void Time(const std::string& kernel, const std::string& shape, double bytes, double operations,
            const std::function<void()>& run) {
    for (int i = 0; i < (small_ ? 0 : 3); ++i) run();
    Wait();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds_; ++i) run();
    Wait();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / rounds_;
    rows_.push_back({{"kernel", kernel},
                     {"shape", shape},
                     {"seconds", seconds},
                     {"bytes_per_second", bytes / seconds},
                     {"operations_per_second", operations / seconds}});
  }

  template <typename E>
  static cuda::Heads<E> HeadsOf(const at::Tensor& qkv, std::int64_t tokens, std::int64_t size,
                                std::int64_t column) {
    const std::int64_t width = qkv.size(1);
    return {.data = Data<Bf16>(qkv) + column, .sequence = tokens * width, .head = size, .row = width};
  }

  // Operations: products of whole rows, half of them under a causal mask; 2 of them forward, 5 backward.
  void Attention(const std::string& name, std::int64_t batch, std::int64_t heads, std::int64_t tokens,
                 std::int64_t size, bool causal, bool clipped) {
    const std::int64_t m = batch * tokens, d = heads * size;
    const at::Tensor qkv = Narrow({m, 3 * d}), gradient = Narrow({m, 3 * d}), o = Narrow({m, d}),
                     d_o = Narrow({m, d});
    const at::Tensor statistics = Wide({batch, heads, tokens, 2}), sums = Wide({batch, heads, tokens});
    const at::Tensor gamma = at::zeros({tokens}, Options()).fill_(-0.03);
    const cuda::AttentionShape shape = {
        .batch = batch,
        .heads = heads,
        .kv_heads = heads,
        .tokens = tokens,
        .head_size = size,
        .visible_keys = tokens,
        .scale = 0.125f,
        .causal = causal,
        .row_gamma = clipped ? Data<float>(gamma) : nullptr,
        .dropout = {.seed = 1, .site = 1, .probability = 0.1},
    };
    const auto q = HeadsOf<const Bf16>(qkv, tokens, size, 0), k = HeadsOf<const Bf16>(qkv, tokens, size, d),
               v = HeadsOf<const Bf16>(qkv, tokens, size, 2 * d);
    const double product =
        2.0 * static_cast<double>(batch * heads * tokens * tokens * size) * (causal ? 0.5 : 1);
    const double matrix = 2.0 * static_cast<double>(m * d);  // Bytes.
    Time("attention forward", name, 4 * matrix, 2 * product, [&] {
      Check(cuda::AttentionForward(shape, q, k, v, HeadsOf<Bf16>(o, tokens, size, 0), Data<float>(statistics),
                                   stream_),
            "AttentionForward");
    });
    const cuda::AttentionGradients gradients = {.o = HeadsOf<const Bf16>(d_o, tokens, size, 0),
                                                .q = HeadsOf<Bf16>(gradient, tokens, size, 0),
                                                .k = HeadsOf<Bf16>(gradient, tokens, size, d),
                                                .v = HeadsOf<Bf16>(gradient, tokens, size, 2 * d),
                                                .null_score = nullptr,
                                                .row_sums = Data<float>(sums)};
    Time("attention backward", name, 7 * matrix, 5 * product, [&] {
      Check(cuda::AttentionBackward(shape, q, k, v, Data<float>(statistics), gradients, stream_),
            "AttentionBackward");
    });
  }

  void Norm(std::int64_t rows, std::int64_t width) {
    const at::Tensor residual = Wide({rows, width}), sum = Wide({rows, width}), y = Wide({rows, width}),
                     dy = Wide({rows, width}), vectors = Wide({6, width}), statistics = Wide({2, rows});
    const at::Tensor update = Narrow({rows, width}), operand = Narrow({rows, width});
    const at::Tensor workspace = Wide({cuda::ResidualNormWorkspace(width)});
    float* const vector = Data<float>(vectors);
    float* const mean = Data<float>(statistics);
    const cuda::ResidualNorm<Bf16> call = {
        .rows = rows,
        .width = width,
        .norm = {kernels::NormKind::kLayerNorm, 1e-5f, vector, vector + width},
        .update = Data<Bf16>(update),
        .bias = vector + 2 * width,
        .dropout = {.seed = 1, .site = 2, .probability = 0.1}};
    const double n = static_cast<double>(rows * width);
    const std::string shape = std::to_string(rows) + " x " + std::to_string(width);
    Time("residual, dropout, norm forward", shape, 16 * n, 0, [&] {
      Check(cuda::ResidualNormForward<Bf16>(call, Data<float>(residual), Data<float>(sum), Data<float>(y),
                                            Data<Bf16>(operand), mean, mean + rows, stream_),
            "ResidualNormForward");
    });
    const cuda::ResidualNormGradients<Bf16> gradients = {.dy = Data<float>(dy),
                                                         .residual = Data<float>(y),
                                                         .update = Data<Bf16>(operand),
                                                         .gain = vector + 3 * width,
                                                         .offset = vector + 4 * width,
                                                         .bias = vector + 5 * width};
    Time("residual, dropout, norm backward", shape, 14 * n, 0, [&] {
      Check(cuda::ResidualNormBackward<Bf16>(call, Data<float>(sum), mean, mean + rows, gradients,
                                             Data<float>(workspace), stream_),
            "ResidualNormBackward");
    });
  }

  void Activation(std::int64_t rows, std::int64_t width) {
    const at::Tensor h = Narrow({rows, width}), f = Narrow({rows, width}), df = Narrow({rows, width});
    const at::Tensor vectors = Wide({2, width}), workspace = Wide({cuda::ActivationWorkspace(width)});
    const cuda::ActivationRows<Bf16> call = {.activation = kernels::Activation::kGeluErf,
                                             .rows = rows,
                                             .width = width,
                                             .product = Data<Bf16>(h),
                                             .bias = Data<float>(vectors)};
    const double n = static_cast<double>(rows * width);
    const std::string shape = std::to_string(rows) + " x " + std::to_string(width);
    Time("bias, GELU forward", shape, 6 * n, 0, [&] {
      Check(cuda::ActivationForward<Bf16>(call, Data<Bf16>(h), nullptr, Data<Bf16>(f), stream_),
            "ActivationForward");
    });
    Time("bias, GELU backward", shape, 6 * n, 0, [&] {
      Check(cuda::ActivationBackward<Bf16>(call, Data<Bf16>(h), nullptr, Data<Bf16>(df), Data<Bf16>(df),
                                           nullptr, Data<float>(vectors) + width, nullptr,
                                           Data<float>(workspace), stream_),
            "ActivationBackward");
    });
  }

  void CrossEntropy(std::int64_t rows, std::int64_t classes) {
    const std::int64_t stride = (classes + 63) / 64 * 64;
    const at::Tensor logits = Narrow({rows, stride}), losses = Wide({rows}), bias = Wide({classes});
    const at::Tensor targets = at::randint(classes, {rows}, Options().dtype(at::kLong));
    const cuda::CrossEntropyRows call = {.rows = rows,
                                         .classes = classes,
                                         .stride = stride,
                                         .bias = Data<float>(bias),
                                         .targets = Data<std::int64_t>(targets)};
    Time("cross-entropy with gradient", std::to_string(rows) + " x " + std::to_string(classes),
         4.0 * static_cast<double>(rows * classes), 0, [&] {
           Check(cuda::CrossEntropy<Bf16>(call, Data<Bf16>(logits), Data<float>(losses), nullptr, true,
                                          stream_),
                 "CrossEntropy");
         });
  }

  void Adam(std::int64_t count) {
    const at::Tensor p = Wide({count}), m = at::zeros({count}, Options()), v = at::zeros({count}, Options()),
                     g = Wide({count}), numbers = at::zeros({3}, Options()).fill_(1);
    const auto uploaded = [&](const auto& items) {
      const auto bytes = static_cast<std::int64_t>(items.size() * sizeof(items[0]));
      const at::Tensor host = at::empty({bytes}, at::kByte);
      std::memcpy(host.mutable_data_ptr(), items.data(), static_cast<std::size_t>(bytes));
      return host.to(device_);
    };
    const auto blocks = cuda::AdamBlocks({count});
    const std::vector<cuda::AdamParameter<float>> parameters = {
        {Data<float>(p), Data<float>(m), Data<float>(v), Data<float>(g), nullptr, count, 0.01f}};
    const at::Tensor block_table = uploaded(blocks), parameter_table = uploaded(parameters);
    Time("AdamW", std::to_string(count), 28.0 * static_cast<double>(count), 0, [&] {
      Check(
          cuda::AdamStep<float>({0.9, 0.999, 1e-8, true}, Data<cuda::AdamParameter<float>>(parameter_table),
                                Data<cuda::AdamBlock>(block_table), static_cast<std::int64_t>(blocks.size()),
                                Data<cuda::AdamNumbers>(numbers), stream_),
          "AdamStep");
    });
  }

  void Product(std::int64_t n) {
    const at::Tensor a = Narrow({n, n}), b = Narrow({n, n});
    at::Tensor c = Narrow({n, n});
    const double size = static_cast<double>(n);
    Time("LibTorch's bfloat16 product", std::to_string(n) + " cubed", 6 * size * size, 2 * size * size * size,
         [&] { at::mm_out(c, a, b); });
  }

  c10::Device device_;
  int rounds_;
  bool small_;
  cudaStream_t stream_;
  nlohmann::json rows_ = nlohmann::json::array();
};

}  // namespace
}  // namespace inlier::layer::gpu

int main(int argc, char** argv) {
  std::string device = "cuda";
  int rounds = 50;
  bool small = false;
  CLI::App app("Times of the kernels for CUDA on shapes of real models, as JSON.");
  app.add_option("--device", device);
  app.add_option("--rounds", rounds);
  app.add_flag("--small", small);
  CLI11_PARSE(app, argc, argv);
  std::printf("%s\n", inlier::layer::gpu::Bench(c10::Device(device), rounds, small).Run().dump().c_str());
  return 0;
}
