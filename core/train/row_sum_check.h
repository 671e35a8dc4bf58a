// Checks the sums of a script's rows of probabilities in a running model, before they are rounded.
#ifndef INLIER_CORE_TRAIN_ROW_SUM_CHECK_H_
#define INLIER_CORE_TRAIN_ROW_SUM_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "core/nn/activation_tap.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// To be chained before a quantizing tap. Changes nothing, and does nothing for other softmaxes.
class RowSumCheck : public ActivationTap {
 public:
  explicit RowSumCheck(const v1::SoftmaxSpec& softmax) : softmax_(softmax) {}

  void OnPass(const at::Tensor& attention_mask) override { real_ = attention_mask; }
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override;

  // InvalidArgument for the first row of a token, not of padding, that is not as declared.
  const absl::Status& status() const { return status_; }

 private:
  const v1::SoftmaxSpec& softmax_;
  at::Tensor real_;
  absl::Status status_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_ROW_SUM_CHECK_H_
