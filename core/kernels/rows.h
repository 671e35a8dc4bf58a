// Row-wise parts of a transformer's layer: norms, non-linearities, bias, dropout and residual sums, forward and
// backward, each reading and writing memory once. Matrices are row-major and contiguous, `rows` x `width`.
//
// T: float, bfloat16 or double, the type of the products' operands; Real<T> as in element.h. Instantiated for all
// three. Results do not depend on how rows are split among calls or threads.
#ifndef INLIER_CORE_KERNELS_ROWS_H_
#define INLIER_CORE_KERNELS_ROWS_H_

#include <cstdint>

#include "core/kernels/dropout.h"
#include "core/kernels/element.h"

namespace inlier::kernels {

enum class NormKind {
  kLayerNorm,      // (x - mean) / sqrt(var + epsilon) * gain + offset, var over n elements (not n - 1).
  kRmsPerChannel,  // gain * x / sqrt(mean(x^2) + epsilon), one gain a channel: RMSNorm-M.
  kRmsSingle,      // The same with one gain for all: RMSNorm-S (Kaul et al. 2025, section 4).
};

template <typename R>
struct NormWeights {
  NormKind kind;
  R epsilon;
  const R* gain;    // (width); kRmsSingle: (1).
  const R* offset;  // (width); null for the RMS norms.
};

// y = norm(x). Of each row `mean` (0 for the RMS norms) and `inverse` = 1 / sqrt(var + epsilon), or 1 / sqrt(mean
// square + epsilon), are kept for the backward pass. `y` and `operand` (y as T) may be null.
template <typename T>
void NormForward(const NormWeights<Real<T>>& norm, std::int64_t rows, std::int64_t width, const Real<T>* x,
                 Real<T>* y, T* operand, Real<T>* mean, Real<T>* inverse);

// From dy and the x of the forward pass: dx (overwritten; may be dy itself). gain_gradient (width, or 1) and
// offset_gradient (width; null without an offset) are added to.
template <typename R>
void NormBackward(const NormWeights<R>& norm, std::int64_t rows, std::int64_t width, const R* x,
                  const R* mean, const R* inverse, const R* dy, R* dx, R* gain_gradient, R* offset_gradient);

// sum = residual + dropout(update + bias). `bias` may be null; sum may be `residual` or `update`. Row r is row
// first_row + r of the dropout.
template <typename R>
void AddDropped(std::int64_t rows, std::int64_t width, const R* residual, const R* update, const R* bias,
                const Dropout& dropout, std::uint64_t first_row, R* sum);

// gradient of the update, as T, from that of the sum; bias_gradient (width; may be null) is added to. further: the
// gradient of update + bias by its other uses.
template <typename T>
void AddDroppedBackward(std::int64_t rows, std::int64_t width, const Real<T>* sum_gradient,
                        const Dropout& dropout, std::uint64_t first_row, T* update_gradient,
                        Real<T>* bias_gradient, const Real<T>* further = nullptr);

// (|x| / tau)^power of a number.
struct ScaledPower {
  double tau = 1;
  double power = 2;  // At least 1.
};

// sums[r] = the sum over row r of the powers, each in R, their sum in double.
template <typename R>
void SumPowers(const ScaledPower& scaled, std::int64_t rows, std::int64_t width, const R* x, double* sums);

// dx = scale times the derivative of the power; 0 where x is.
template <typename R>
void PowerGradient(const ScaledPower& scaled, std::int64_t rows, std::int64_t width, const R* x, R scale,
                   R* dx);

enum class Activation { kGeluErf, kGeluTanh, kRelu, kSilu };

// h = product + bias (null for none), kept as T; f = activation(h as T), as T.
template <typename T>
void ActivationForward(Activation activation, std::int64_t rows, std::int64_t width, const Real<T>* product,
                       const Real<T>* bias, T* h, T* f);

// dh = df * activation'(h), as T; bias_gradient (width; may be null) is added to, from dh before its rounding.
template <typename T>
void ActivationBackward(Activation activation, std::int64_t rows, std::int64_t width, const T* h,
                        const Real<T>* df, T* dh, Real<T>* bias_gradient);

// The gated network: g and u are the products of the gate and of the input (biases added, kept as T);
// f = activation(g) * u. The two bias gradients: both null or neither.
template <typename T>
void GatedForward(Activation activation, std::int64_t rows, std::int64_t width, const Real<T>* gate_product,
                  const Real<T>* gate_bias, const Real<T>* input_product, const Real<T>* input_bias, T* g,
                  T* u, T* f);
template <typename T>
void GatedBackward(Activation activation, std::int64_t rows, std::int64_t width, const T* g, const T* u,
                   const Real<T>* df, T* dg, T* du, Real<T>* gate_bias_gradient,
                   Real<T>* input_bias_gradient);

// out = x + bias, as T; bias may be null.
template <typename T>
void AddBias(std::int64_t rows, std::int64_t width, const Real<T>* x, const Real<T>* bias, T* out);

// sums[c] += the sum of column c.
template <typename T>
void AddColumnSums(std::int64_t rows, std::int64_t width, const T* x, Real<T>* sums);

}  // namespace inlier::kernels

#endif  // INLIER_CORE_KERNELS_ROWS_H_
