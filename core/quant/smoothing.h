// Smoothing of activations before they are rounded: each input channel of a linear is divided by a factor, and the
// weights that read it are multiplied by the same.   (Xiao et al. 2023, SmoothQuant, eq. 3 and 4)
//
//   y = (x / s) (W * s)^T        s_j = max|x_j|^alpha / max|w_j|^(1 - alpha)
#ifndef INLIER_CORE_QUANT_SMOOTHING_H_
#define INLIER_CORE_QUANT_SMOOTHING_H_

#include <ATen/core/Tensor.h>

#include <vector>

namespace inlier {

// s (in), in the dtype of `input_maximum`, computed in double; 1 where either maximum is 0.
// input_maximum: (in), the largest |x_j| over the calibration batches. weights: those of all linears that read the
// input, each (out, in). alpha: the share of the difficulty that moves to the weights.
// REQUIRES: 0 <= alpha <= 1; at least one weight.
at::Tensor SmoothingFactors(const at::Tensor& input_maximum, const std::vector<at::Tensor>& weights,
                            double alpha);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_SMOOTHING_H_
