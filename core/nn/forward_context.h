// Passed through every layer in one forward call.
#ifndef INLIER_CORE_NN_FORWARD_CONTEXT_H_
#define INLIER_CORE_NN_FORWARD_CONTEXT_H_

#include <cstdint>
#include <string>

#include "core/fused/precision.h"
#include "core/kernels/dropout.h"
#include "core/nn/activation_tap.h"

namespace inlier {

struct ForwardContext {
  ActivationTap* tap = nullptr;  // Null: no observer.
  bool training = false;         // Dropout is on.
  // By which code layers compute; taps see the reference's operations always.
  fused::Products products = fused::Products::kReference;
  std::uint64_t dropout_seed = 0;
  mutable std::uint32_t dropouts = 0;  // So far in this pass: the number of the next one.

  // Inactive outside of training and for p = 0; then it has no number.
  kernels::Dropout NextDropout(double p) const {
    if (!training || p == 0) return {};
    return {.seed = dropout_seed, .site = dropouts++, .probability = p};
  }

  at::Tensor Weight(const std::string& site, const at::Tensor& weight) const {
    return tap == nullptr ? weight : tap->OnWeight(site, weight);
  }
  at::Tensor Activation(const std::string& site, const at::Tensor& activation) const {
    return tap == nullptr ? activation : tap->OnActivation(site, activation);
  }
  // At the site `below` `site`.
  at::Tensor Activation(const std::string& site, const char* below, const at::Tensor& activation) const {
    return tap == nullptr ? activation : tap->OnActivation(site + "." + below, activation);
  }
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_FORWARD_CONTEXT_H_
