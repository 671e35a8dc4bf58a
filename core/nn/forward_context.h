// Passed through every layer in one forward call.
#ifndef INLIER_CORE_NN_FORWARD_CONTEXT_H_
#define INLIER_CORE_NN_FORWARD_CONTEXT_H_

#include <string>

#include "core/nn/activation_tap.h"

namespace inlier {

struct ForwardContext {
  ActivationTap* tap = nullptr;  // Null: no observer.
  bool training = false;         // Dropout is on.

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
