#include "core/train/row_sum_check.h"

#include <ATen/Functions.h>

#include "absl/strings/str_cat.h"
#include "core/models/layer_options.h"
#include "core/models/softmaxes.h"
#include "core/nn/attention/script_checks.h"

namespace inlier {

at::Tensor RowSumCheck::OnActivation(const std::string& site, const at::Tensor& activation) {
  if (!softmax_.has_script() || !status_.ok() || !site.ends_with("attn_probs_act_quantizer"))
    return activation;
  at::Tensor sums = activation.sum(-1);  // (B, H, T) or (B*H, T)
  if (real_.defined())
    sums = sums.view({real_.size(0), -1, sums.size(-1)}).masked_select(real_.to(at::kBool).unsqueeze(1));
  if (const std::string problem = RowSumProblem(sums, RowSumFromSpec(softmax_.script().row_sum()));
      !problem.empty()) {
    status_ = InvalidField(absl::StrCat("attention.softmax.script.file: ", softmax_.script().file()),
                           absl::StrCat("in the first batch of the evaluation, at ", site, ", ", problem,
                                        "; correct the function, or declare row_sum ANY, and train again"));
  }
  return activation;
}

}  // namespace inlier
