#include "core/cuda/column_sums.cuh"

namespace inlier::cuda {
namespace {

using kernels::Activation;

struct ValueAndSlope {
  float value, slope;
};

// The logistic function s and its slope s (1 - s), the latter without the loss of digits of 1 - s.
__device__ inline ValueAndSlope Sigmoid(float x) {
  const float e = __expf(x < 0 ? x : -x), small = e / (1 + e), large = 1 / (1 + e);
  return {x < 0 ? small : large, small * large};
}

// f(x) and f'(x), by the formulas of core/kernels/activation_rows.cc.
__device__ inline ValueAndSlope Apply(Activation activation, float x) {
  switch (activation) {
    case Activation::kGeluErf: {
      const float p = 0.5f + 0.5f * erff(x * 0.70710678f), density = 0.39894228f * __expf(-0.5f * x * x);
      return {x * p, p + x * density};
    }
    case Activation::kGeluTanh: {
      const float twice = 1.59576912f, cubic = 0.044715f;
      const ValueAndSlope s = Sigmoid(twice * (x + cubic * x * x * x));
      return {x * s.value, s.value + x * s.slope * twice * (1 + 3 * cubic * x * x)};
    }
    case Activation::kSilu: {
      const ValueAndSlope s = Sigmoid(x);
      return {x * s.value, s.value + x * s.slope};
    }
    default:
      return {x < 0 ? 0.0f : x, x <= 0 ? 0.0f : 1.0f};  // NaN stays NaN.
  }
}

// Threads of a block are neighbours in a row; block (i, j) has 256 columns of rows j, j + gridDim.y …
template <typename T>
__global__ void __launch_bounds__(kRowThreads) ForwardKernel(ActivationRows<T> call, T* h, T* u, T* f) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kRowThreads + threadIdx.x;
  if (c >= call.width) return;
  const float bias = call.bias == nullptr ? 0.0f : call.bias[c];
  const float input_bias = call.input_bias == nullptr ? 0.0f : call.input_bias[c];
  for (std::int64_t row = blockIdx.y; row < call.rows; row += gridDim.y) {
    const std::int64_t i = row * call.width + c;
    const T kept = FromFloat<T>(ToFloat(call.product[i]) + bias);
    float value = Apply(call.activation, ToFloat(kept)).value;
    h[i] = kept;
    if (call.input_product != nullptr) {
      u[i] = FromFloat<T>(ToFloat(call.input_product[i]) + input_bias);
      value *= ToFloat(u[i]);
    }
    f[i] = FromFloat<T>(value);
  }
}

// `partial` (2, gridDim.y, width): column sums of dh and du.
template <typename T>
__global__ void __launch_bounds__(kRowThreads) BackwardKernel(ActivationRows<T> call, const T* h, const T* u,
                                                              const T* df, T* dh, T* du, float* partial) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kRowThreads + threadIdx.x;
  if (c >= call.width) return;
  float of_h = 0, of_u = 0;
  for (std::int64_t row = blockIdx.y; row < call.rows; row += gridDim.y) {
    const std::int64_t i = row * call.width + c;
    const ValueAndSlope f = Apply(call.activation, ToFloat(h[i]));
    const float above = ToFloat(df[i]), to_h = (u == nullptr ? above : above * ToFloat(u[i])) * f.slope;
    of_h += to_h;
    dh[i] = FromFloat<T>(to_h);
    if (u == nullptr) continue;
    of_u += above * f.value;
    du[i] = FromFloat<T>(above * f.value);
  }
  partial[blockIdx.y * call.width + c] = of_h;
  partial[(gridDim.y + blockIdx.y) * call.width + c] = of_u;
}

template <typename T>
dim3 GridOf(const ActivationRows<T>& call) {
  return {static_cast<unsigned>((call.width + kRowThreads - 1) / kRowThreads), Parts(call.rows)};
}

}  // namespace

template <typename T>
cudaError_t ActivationForward(const ActivationRows<T>& call, T* h, T* u, T* f, cudaStream_t stream) {
  if (call.rows <= 0 || call.width <= 0) return cudaErrorInvalidValue;
  return Launch(ForwardKernel<T>, GridOf(call), kRowThreads, 0, stream, call, h, u, f);
}

template <typename T>
cudaError_t ActivationBackward(const ActivationRows<T>& call, const T* h, const T* u, const T* df, T* dh,
                               T* du, float* bias_gradient, float* input_bias_gradient, float* workspace,
                               cudaStream_t stream) {
  if (call.rows <= 0 || call.width <= 0) return cudaErrorInvalidValue;
  const unsigned parts = Parts(call.rows);
  cudaError_t error =
      Launch(BackwardKernel<T>, GridOf(call), kRowThreads, 0, stream, call, h, u, df, dh, du, workspace);
  if (error == cudaSuccess && bias_gradient != nullptr) {
    error = AddParts(parts, call.width, workspace, bias_gradient, stream);
  }
  if (error == cudaSuccess && input_bias_gradient != nullptr) {
    error = AddParts(parts, call.width, workspace + parts * call.width, input_bias_gradient, stream);
  }
  return error;
}

#define INLIER_ACTIVATION(T)                                                                                 \
  template cudaError_t ActivationForward<T>(const ActivationRows<T>&, T*, T*, T*, cudaStream_t);             \
  template cudaError_t ActivationBackward<T>(const ActivationRows<T>&, const T*, const T*, const T*, T*, T*, \
                                             float*, float*, float*, cudaStream_t);
INLIER_ACTIVATION(float)
INLIER_ACTIVATION(Bf16)

}  // namespace inlier::cuda
