#include "core/kernels/rows.h"
#include "core/kernels/store_gradient.h"
#include "core/kernels/vector_math.h"

namespace inlier::kernels {
namespace {

template <typename R>
struct ValueAndSlope {
  R value, slope;
};

// f(x) and f'(x). The compiler drops the one that a caller leaves unused.
template <Activation activation, typename R>
INLIER_INLINE ValueAndSlope<R> Apply(R x) {
  if constexpr (activation == Activation::kGeluErf) {
    // x P(x), with the normal distribution P and its density.
    const R p = R(0.5) + R(0.5) * Erf(x * R(0.70710678118654752440));
    const R density = R(0.39894228040143267794) * Exp(R(-0.5) * x * x);
    return {x * p, p + x * density};
  } else if constexpr (activation == Activation::kGeluTanh) {
    // 0.5 x (1 + tanh u) = x sigmoid(2 u).
    constexpr R kTwice = R(1.59576912160573071176), kCubic = R(0.044715);
    const auto [s, slope] = SigmoidWithSlope(kTwice * (x + kCubic * x * x * x));
    return {x * s, s + x * slope * kTwice * (1 + 3 * kCubic * x * x)};
  } else if constexpr (activation == Activation::kSilu) {
    const auto [s, slope] = SigmoidWithSlope(x);
    return {x * s, s + x * slope};
  } else {
    return {x < 0 ? R(0) : x, x <= 0 ? R(0) : R(1)};  // NaN stays NaN.
  }
}

// use.template operator()<activation>().
template <typename Use>
INLIER_INLINE void WithActivation(Activation activation, Use use) {
  switch (activation) {
    case Activation::kGeluErf:
      return use.template operator()<Activation::kGeluErf>();
    case Activation::kGeluTanh:
      return use.template operator()<Activation::kGeluTanh>();
    case Activation::kRelu:
      return use.template operator()<Activation::kRelu>();
    case Activation::kSilu:
      return use.template operator()<Activation::kSilu>();
  }
}

// One row of AddBias.
template <typename T>
INLIER_INLINE void AddBiasToRow(std::int64_t width, const Real<T>* x, const Real<T>* bias, T* out) {
  if (bias == nullptr) {
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) out[c] = ToElement<T>(x[c]);
  } else {
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) out[c] = ToElement<T>(x[c] + bias[c]);
  }
}

template <typename T>
INLIER_INLINE void AddBiasOf(std::int64_t rows, std::int64_t width, const Real<T>* x, const Real<T>* bias,
                             T* out) {
  for (std::int64_t row = 0; row < rows; ++row) AddBiasToRow(width, x + row * width, bias, out + row * width);
}

template <Activation activation, typename T>
INLIER_INLINE void ForwardOf(std::int64_t rows, std::int64_t width, const Real<T>* product,
                             const Real<T>* bias, T* h, T* f) {
  for (std::int64_t start = 0; start < rows * width; start += width) {
    T* kept = h + start;
    T* to = f + start;
    AddBiasToRow(width, product + start, bias, kept);
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) to[c] = ToElement<T>(Apply<activation>(ToReal(kept[c])).value);
  }
}

template <Activation activation, typename T>
INLIER_INLINE void BackwardOf(std::int64_t rows, std::int64_t width, const T* h, const Real<T>* df, T* dh,
                              Real<T>* bias_gradient) {
  for (std::int64_t start = 0; start < rows * width; start += width) {
    const T* kept = h + start;
    const Real<T>* above = df + start;
    StoreGradient(
        width,
        [=](std::int64_t c) INLIER_LAMBDA { return above[c] * Apply<activation>(ToReal(kept[c])).slope; },
        dh + start, bias_gradient);
  }
}

template <Activation activation, typename T>
INLIER_INLINE void GatedForwardOf(std::int64_t rows, std::int64_t width, const Real<T>* gate_product,
                                  const Real<T>* gate_bias, const Real<T>* input_product,
                                  const Real<T>* input_bias, T* g, T* u, T* f) {
  for (std::int64_t start = 0; start < rows * width; start += width) {
    T* gate = g + start;
    T* input = u + start;
    T* to = f + start;
    AddBiasToRow(width, gate_product + start, gate_bias, gate);
    AddBiasToRow(width, input_product + start, input_bias, input);
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      to[c] = ToElement<T>(Apply<activation>(ToReal(gate[c])).value * ToReal(input[c]));
    }
  }
}

template <Activation activation, typename T>
INLIER_INLINE void GatedBackwardOf(std::int64_t rows, std::int64_t width, const T* g, const T* u,
                                   const Real<T>* df, T* dg, T* du, Real<T>* gate_bias_gradient,
                                   Real<T>* input_bias_gradient) {
  for (std::int64_t start = 0; start < rows * width; start += width) {
    const T* gate = g + start;
    const T* input = u + start;
    const Real<T>* above = df + start;
    T* to_gate = dg + start;
    T* to_input = du + start;
    if (gate_bias_gradient == nullptr) {
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) {
        const ValueAndSlope<Real<T>> f = Apply<activation>(ToReal(gate[c]));
        const Real<T> d = above[c];
        to_gate[c] = ToElement<T>(d * ToReal(input[c]) * f.slope);
        to_input[c] = ToElement<T>(d * f.value);
      }
    } else {
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) {
        const ValueAndSlope<Real<T>> f = Apply<activation>(ToReal(gate[c]));
        const Real<T> d = above[c];
        const Real<T> gate_gradient = d * ToReal(input[c]) * f.slope, input_gradient = d * f.value;
        gate_bias_gradient[c] += gate_gradient;
        input_bias_gradient[c] += input_gradient;
        to_gate[c] = ToElement<T>(gate_gradient);
        to_input[c] = ToElement<T>(input_gradient);
      }
    }
  }
}

template <typename T>
INLIER_INLINE void AddColumnSumsOf(std::int64_t rows, std::int64_t width, const T* x, Real<T>* sums) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* from = x + row * width;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) sums[c] += ToReal(from[c]);
  }
}

}  // namespace

#define INLIER_ACTIVATION(T)                                                                                 \
  template <>                                                                                                \
  INLIER_KERNEL void ActivationForward<T>(Activation activation, std::int64_t rows, std::int64_t width,      \
                                          const Real<T>* product, const Real<T>* bias, T* h, T* f) {         \
    WithActivation(activation, [=]<Activation a>()                                                           \
                                   INLIER_LAMBDA { ForwardOf<a, T>(rows, width, product, bias, h, f); });    \
  }                                                                                                          \
  template <>                                                                                                \
  INLIER_KERNEL void ActivationBackward<T>(Activation activation, std::int64_t rows, std::int64_t width,     \
                                           const T* h, const Real<T>* df, T* dh, Real<T>* bias_gradient) {   \
    WithActivation(activation, [=]<Activation a>() INLIER_LAMBDA {                                           \
      BackwardOf<a, T>(rows, width, h, df, dh, bias_gradient);                                               \
    });                                                                                                      \
  }                                                                                                          \
  template <>                                                                                                \
  INLIER_KERNEL void GatedForward<T>(                                                                        \
      Activation activation, std::int64_t rows, std::int64_t width, const Real<T>* gate_product,             \
      const Real<T>* gate_bias, const Real<T>* input_product, const Real<T>* input_bias, T* g, T* u, T* f) { \
    WithActivation(activation, [=]<Activation a>() INLIER_LAMBDA {                                           \
      GatedForwardOf<a, T>(rows, width, gate_product, gate_bias, input_product, input_bias, g, u, f);        \
    });                                                                                                      \
  }                                                                                                          \
  template <>                                                                                                \
  INLIER_KERNEL void GatedBackward<T>(Activation activation, std::int64_t rows, std::int64_t width,          \
                                      const T* g, const T* u, const Real<T>* df, T* dg, T* du,               \
                                      Real<T>* gate_bias_gradient, Real<T>* input_bias_gradient) {           \
    WithActivation(activation, [=]<Activation a>() INLIER_LAMBDA {                                           \
      GatedBackwardOf<a, T>(rows, width, g, u, df, dg, du, gate_bias_gradient, input_bias_gradient);         \
    });                                                                                                      \
  }                                                                                                          \
  template <>                                                                                                \
  INLIER_KERNEL void AddBias<T>(std::int64_t rows, std::int64_t width, const Real<T>* x,                     \
                                const Real<T>* bias, T* out) {                                               \
    AddBiasOf(rows, width, x, bias, out);                                                                    \
  }                                                                                                          \
  template <>                                                                                                \
  INLIER_KERNEL void AddColumnSums<T>(std::int64_t rows, std::int64_t width, const T* x, Real<T>* sums) {    \
    AddColumnSumsOf(rows, width, x, sums);                                                                   \
  }

INLIER_ACTIVATION(float)
INLIER_ACTIVATION(double)
INLIER_ACTIVATION(Bf16)

}  // namespace inlier::kernels
