// A tap that keeps every activation, by its site.
#ifndef INLIER_TESTS_CORE_SUPPORT_RECORDING_TAP_H_
#define INLIER_TESTS_CORE_SUPPORT_RECORDING_TAP_H_

#include <map>
#include <string>

#include "core/nn/activation_tap.h"

namespace inlier {

class RecordingTap : public ActivationTap {
 public:
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    seen[site] = activation.detach();
    return activation;
  }
  std::map<std::string, at::Tensor> seen;
};

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_SUPPORT_RECORDING_TAP_H_
