#include "core/cuda/adam.h"
#include "core/cuda/device.cuh"

namespace inlier::cuda {
namespace {

constexpr int kThreads = 256;

template <typename G>
__global__ void __launch_bounds__(kThreads) Kernel(AdamOptions options, const AdamParameter<G>* parameters,
                                                   const AdamBlock* blocks, const AdamNumbers* numbers) {
  __shared__ float corrections[2];  // 1 - beta1^t and the root of 1 - beta2^t.
  if (threadIdx.x == 0) {
    corrections[0] = static_cast<float>(1 - pow(options.beta1, static_cast<double>(numbers->updates)));
    corrections[1] = static_cast<float>(sqrt(1 - pow(options.beta2, static_cast<double>(numbers->updates))));
  }
  __syncthreads();
  const AdamBlock block = blocks[blockIdx.x];
  const AdamParameter<G> x = parameters[block.parameter];
  const float rate = numbers->learning_rate, scale = numbers->gradient_scale,
              epsilon = static_cast<float>(options.epsilon);
  const float beta1 = static_cast<float>(options.beta1), rest1 = static_cast<float>(1 - options.beta1);
  const float beta2 = static_cast<float>(options.beta2), rest2 = static_cast<float>(1 - options.beta2);
  const std::int64_t first = block.stretch * kAdamElements;
  const std::int64_t end = first + kAdamElements < x.size ? first + kAdamElements : x.size;
  for (std::int64_t i = first + threadIdx.x; i < end; i += kThreads) {
    float p = x.p[i], g = ToFloat(x.g[i]) * scale;
    if (options.decoupled) {
      p -= rate * x.weight_decay * p;
    } else {
      g += x.weight_decay * p;
    }
    const float m = beta1 * x.m[i] + rest1 * g, v = beta2 * x.v[i] + rest2 * g * g;
    p -= rate / corrections[0] * m / (sqrtf(v) / corrections[1] + epsilon);
    x.m[i] = m;
    x.v[i] = v;
    x.p[i] = p;
    if (x.copy != nullptr) x.copy[i] = FromFloat<Bf16>(p);
  }
}

}  // namespace

std::vector<AdamBlock> AdamBlocks(const std::vector<std::int64_t>& sizes) {
  std::vector<AdamBlock> blocks;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::int64_t stretch = 0; stretch * kAdamElements < sizes[i]; ++stretch) {
      blocks.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(stretch)});
    }
  }
  return blocks;
}

template <typename G>
cudaError_t AdamStep(const AdamOptions& options, const AdamParameter<G>* parameters, const AdamBlock* blocks,
                     std::int64_t count, const AdamNumbers* numbers, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  return Launch(Kernel<G>, dim3(static_cast<unsigned>(count)), kThreads, 0, stream, options, parameters,
                blocks, numbers);
}
template cudaError_t AdamStep<float>(const AdamOptions&, const AdamParameter<float>*, const AdamBlock*,
                                     std::int64_t, const AdamNumbers*, cudaStream_t);
template cudaError_t AdamStep<Bf16>(const AdamOptions&, const AdamParameter<Bf16>*, const AdamBlock*,
                                    std::int64_t, const AdamNumbers*, cudaStream_t);

}  // namespace inlier::cuda
