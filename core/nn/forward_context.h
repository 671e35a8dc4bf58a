// Passed through every layer in one forward call.
#ifndef INLIER_CORE_NN_FORWARD_CONTEXT_H_
#define INLIER_CORE_NN_FORWARD_CONTEXT_H_

#include <cstdint>
#include <string>

#include "core/kernels/dropout.h"
#include "core/layer/precision.h"
#include "core/nn/activation_tap.h"
#include "core/nn/ffn_penalty.h"
#include "core/nn/linear_arithmetic.h"

namespace inlier {

struct ForwardContext {
  ActivationTap* tap = nullptr;
  bool training = false;  // Dropout is on.
  // The code by which layers compute; taps see the reference's operations always.
  layer::Products products = layer::Products::kReference;
  std::uint64_t dropout_seed = 0;
  std::int64_t examples = 1;            // In this pass.
  std::int64_t first_example = 0;       // The place of the first of them in the micro-batch.
  FfnPenalty* ffn_penalty = nullptr;    // Null: none. Every layer adds to it.
  LinearArithmetic* linears = nullptr;  // Null: LibTorch's. REQUIRES: products are kReference with one.
  mutable std::uint32_t dropouts = 0;   // So far in this pass: the number of the next one.

  // The next dropout, of a matrix with so many rows an example. Outside of training and for p = 0 it is inactive and has
  // no number.
  kernels::Dropout NextDropout(double p, std::int64_t rows_of_example) const {
    if (!training || p == 0) return {};
    return {.seed = dropout_seed,
            .site = dropouts++,
            .probability = p,
            .first_row = static_cast<std::uint64_t>(first_example * rows_of_example)};
  }

  at::Tensor Weight(const std::string& site, const at::Tensor& weight) const {
    return tap == nullptr ? weight : tap->OnWeight(site, weight);
  }
  at::Tensor Activation(const std::string& site, const at::Tensor& activation) const {
    return tap == nullptr ? activation : tap->OnActivation(site, activation);
  }
  at::Tensor Activation(const std::string& site, const char* below, const at::Tensor& activation) const {
    return tap == nullptr ? activation : tap->OnActivation(site + "." + below, activation);
  }
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_FORWARD_CONTEXT_H_
