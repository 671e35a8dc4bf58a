#include "core/cuda/cross_entropy.h"
#include "core/cuda/device.cuh"

namespace inlier::cuda {
namespace {

constexpr int kThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    Kernel(CrossEntropyRows call, T* all_logits, float* losses, float* log_sums, bool with_gradient) {
  const std::int64_t row = blockIdx.x, target = call.targets[row];
  T* const logits = all_logits + row * call.stride;
  const int thread = static_cast<int>(threadIdx.x), n = static_cast<int>(call.classes);
  const auto logit = [&](int j) { return ToFloat(logits[j]) + (call.bias == nullptr ? 0.0f : call.bias[j]); };
  if (target < 0) {
    if (thread == 0) losses[row] = 0;
    if (thread == 0 && log_sums != nullptr) log_sums[row] = 0;
    for (int j = thread; with_gradient && j < n; j += kThreads) logits[j] = FromFloat<T>(0);
    return;
  }
  float largest = -INFINITY;
  for (int j = thread; j < n; j += kThreads) largest = fmaxf(largest, logit(j));
  largest = BlockMax(largest);
  float sum = 0, all = 0;  // Of exp(logit - largest) and of logit - largest.
  for (int j = thread; j < n; j += kThreads) {
    const float x = logit(j) - largest;
    sum += __expf(x);
    all += x;
  }
  sum = BlockSum(sum);
  if (call.label_smoothing > 0) all = BlockSum(all);
  const float of_target = target < n ? logit(static_cast<int>(target)) - largest : NAN;
  const float classes = static_cast<float>(n);
  if (thread == 0) {
    const float log_sum = logf(sum);
    losses[row] = log_sum - (1 - call.label_smoothing) * of_target;
    if (call.label_smoothing > 0) losses[row] -= call.label_smoothing * (all / classes);
    if (log_sums != nullptr) log_sums[row] = largest + log_sum;
  }
  if (!with_gradient) return;
  const float factor = call.gradient_scale / sum,
              share = call.gradient_scale * call.label_smoothing / classes;
  const float whole = call.gradient_scale * (1 - call.label_smoothing);
  __syncthreads();  // The target's logit is read.
  for (int j = thread; j < n; j += kThreads) {
    const float gradient = __expf(logit(j) - largest) * factor - share;
    logits[j] = FromFloat<T>(j == target ? gradient - whole : gradient);
  }
}

}  // namespace

template <typename T>
cudaError_t CrossEntropy(const CrossEntropyRows& call, T* logits, float* losses, float* log_sums,
                         bool with_gradient, cudaStream_t stream) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - kThreads;
  if (call.rows <= 0 || call.rows > kMost || call.classes <= 0 || call.classes > kMost)
    return cudaErrorInvalidValue;
  return Launch(Kernel<T>, dim3(static_cast<unsigned>(call.rows)), kThreads, 0, stream, call, logits, losses,
                log_sums, with_gradient);
}
template cudaError_t CrossEntropy<float>(const CrossEntropyRows&, float*, float*, float*, bool, cudaStream_t);
template cudaError_t CrossEntropy<Bf16>(const CrossEntropyRows&, Bf16*, float*, float*, bool, cudaStream_t);

}  // namespace inlier::cuda
