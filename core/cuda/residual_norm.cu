#include "core/cuda/column_sums.cuh"

namespace inlier::cuda {
namespace {

using kernels::NormKind;

// A block has a row, whose sum stays in shared memory.
template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    ForwardKernel(ResidualNorm<T> call, DropoutKey dropout, const float* residual, float* sum, float* y,
                  T* operand, float* mean, float* inverse) {
  float* const x = reinterpret_cast<float*>(DynamicShared());
  const int width = static_cast<int>(call.width);
  const std::int64_t row = blockIdx.x, start = row * width;
  float total = 0;
  ForColumns(width, dropout, call.first_row + row, [&](int c, float factor) {
    float value = residual[start + c];
    if (call.update != nullptr) {
      value += (ToFloat(call.update[start + c]) + (call.bias == nullptr ? 0.0f : call.bias[c])) * factor;
      sum[start + c] = value;
    }
    x[c] = value;  // Read by this thread alone.
    total += value;
  });
  if (call.norm.gain == nullptr) return;
  const float center =
      call.norm.kind == NormKind::kLayerNorm ? BlockSum(total) / static_cast<float>(width) : 0.0f;
  float squares = 0;
  const DropoutKey none = {0, 0, 0, 0, 1};
  ForColumns(width, none, 0, [&](int c, float) { squares += (x[c] - center) * (x[c] - center); });
  const float scale = 1 / sqrtf(BlockSum(squares) / static_cast<float>(width) + call.norm.epsilon);
  if (threadIdx.x == 0) {
    mean[row] = center;
    inverse[row] = scale;
  }
  ForColumns(width, none, 0, [&](int c, float) {
    const float gain = call.norm.gain[call.norm.kind == NormKind::kRmsSingle ? 0 : c];
    const float value =
        (x[c] - center) * scale * gain + (call.norm.offset == nullptr ? 0.0f : call.norm.offset[c]);
    if (operand != nullptr) operand[start + c] = FromFloat<T>(value);
    if (y != nullptr) y[start + c] = value;
  });
}

// Block b has rows b, b + gridDim.x … With n = (x - mean) inverse and g = dy gain:
// dx = inverse (g - mean(g) - n mean(g n)), without mean(g) for the RMS norms. `partial` (3, gridDim.x, width): column
// sums of dy n, dy and the update's gradient.
template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    BackwardKernel(ResidualNorm<T> call, DropoutKey dropout, const float* x, const float* mean,
                   const float* inverse, ResidualNormGradients<T> d, float* partial) {
  float* const sums = reinterpret_cast<float*>(DynamicShared());  // (3, width)
  const int width = static_cast<int>(call.width);
  const NormKind kind = call.norm.kind;
  const DropoutKey none = {0, 0, 0, 0, 1};
  ForColumns(width, none, 0, [&](int c, float) { sums[c] = sums[width + c] = sums[2 * width + c] = 0; });
  for (std::int64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    const std::int64_t start = row * width;
    const bool normed = d.dy != nullptr;
    const float center = normed ? mean[row] : 0, scale = normed ? inverse[row] : 0;
    const auto gained = [&](int c) {
      return d.dy[start + c] * call.norm.gain[kind == NormKind::kRmsSingle ? 0 : c];
    };
    float of_gained = 0, of_product = 0;
    if (normed) {
      ForColumns(width, none, 0, [&](int c, float) {
        const float normal = (x[start + c] - center) * scale, above = d.dy[start + c];
        of_gained += gained(c);
        of_product += gained(c) * normal;
        sums[c] += above * normal;
        sums[width + c] += above;
      });
      of_gained = kind == NormKind::kLayerNorm ? BlockSum(of_gained) / static_cast<float>(width) : 0.0f;
      of_product = BlockSum(of_product) / static_cast<float>(width);
    }
    ForColumns(width, dropout, call.first_row + row, [&](int c, float factor) {
      float dx = d.sum_gradient == nullptr ? 0.0f : d.sum_gradient[start + c];
      if (normed) dx += scale * (gained(c) - of_gained - (x[start + c] - center) * scale * of_product);
      d.residual[start + c] = dx;
      if (d.update == nullptr) return;
      sums[2 * width + c] += dx * factor;
      d.update[start + c] = FromFloat<T>(dx * factor);
    });
  }
  ForColumns(width, none, 0, [&](int c, float) {
    for (int i = 0; i < 3; ++i) partial[(i * gridDim.x + blockIdx.x) * call.width + c] = sums[i * width + c];
  });
}

// gain[0] += the sum of all partial sums.
__global__ void __launch_bounds__(kRowThreads)
    AddAllKernel(std::int64_t count, const float* partial, float* gain) {
  float sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kRowThreads) sum += partial[i];
  sum = BlockSum(sum);
  if (threadIdx.x == 0) gain[0] += sum;
}

// Threads that have columns of a row (ForColumns), in whole warps.
int ThreadsOf(std::int64_t width) {
  const int items = ColumnItems(static_cast<int>(width));
  return std::min(kRowThreads, (items + kWarp - 1) / kWarp * kWarp);
}

// Blocks of the backward pass: many hide the wait for memory, few leave little to add at the end.
unsigned BackwardParts(std::int64_t rows) {
  return static_cast<unsigned>(std::min(rows, std::clamp(rows / 16, kSumRows, kNormSumRows)));
}

// Row r is row first_row + r of the whole micro-batch.
template <typename T>
ResidualNorm<T> InMicroBatch(ResidualNorm<T> call) {
  call.first_row += call.dropout.first_row;
  return call;
}

template <typename T>
bool IsValid(const ResidualNorm<T>& call) {
  return call.rows > 0 && call.rows < (std::int64_t{1} << 31) && call.width > 0 && call.width <= kWidthMax;
}

}  // namespace

template <typename T>
cudaError_t ResidualNormForward(const ResidualNorm<T>& call, const float* residual, float* sum, float* y,
                                T* operand, float* mean, float* inverse, cudaStream_t stream) {
  if (!IsValid(call)) return cudaErrorInvalidValue;
  return Launch(ForwardKernel<T>, dim3(static_cast<unsigned>(call.rows)), ThreadsOf(call.width),
                call.width * sizeof(float), stream, InMicroBatch(call), KeyOf(call.dropout), residual, sum, y,
                operand, mean, inverse);
}

template <typename T>
cudaError_t ResidualNormBackward(const ResidualNorm<T>& call, const float* sum, const float* mean,
                                 const float* inverse, const ResidualNormGradients<T>& d, float* workspace,
                                 cudaStream_t stream) {
  if (!IsValid(call)) return cudaErrorInvalidValue;
  const unsigned parts = BackwardParts(call.rows);
  const std::int64_t part = parts * call.width;
  cudaError_t error =
      Launch(BackwardKernel<T>, dim3(parts), ThreadsOf(call.width), 3 * call.width * sizeof(float), stream,
             InMicroBatch(call), KeyOf(call.dropout), sum, mean, inverse, d, workspace);
  if (error == cudaSuccess && d.gain != nullptr) {
    error = call.norm.kind == NormKind::kRmsSingle
                ? Launch(AddAllKernel, dim3(1), kRowThreads, 0, stream, part,
                         static_cast<const float*>(workspace), d.gain)
                : AddParts(parts, call.width, workspace, d.gain, stream);
  }
  if (error == cudaSuccess && d.offset != nullptr) {
    error = AddParts(parts, call.width, workspace + part, d.offset, stream);
  }
  if (error == cudaSuccess && d.bias != nullptr) {
    error = AddParts(parts, call.width, workspace + 2 * part, d.bias, stream);
  }
  return error;
}

#define INLIER_RESIDUAL_NORM(T)                                                                         \
  template cudaError_t ResidualNormForward<T>(const ResidualNorm<T>&, const float*, float*, float*, T*, \
                                              float*, float*, cudaStream_t);                            \
  template cudaError_t ResidualNormBackward<T>(const ResidualNorm<T>&, const float*, const float*,      \
                                               const float*, const ResidualNormGradients<T>&, float*,   \
                                               cudaStream_t);
INLIER_RESIDUAL_NORM(float)
INLIER_RESIDUAL_NORM(Bf16)

}  // namespace inlier::cuda
