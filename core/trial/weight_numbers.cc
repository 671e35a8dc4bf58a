#include "core/trial/weight_numbers.h"

#include <ATen/Functions.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "core/models/sites.h"
#include "core/optim/draw_rotations.h"
#include "core/optim/rotation.h"
#include "core/optim/weight_axes.h"
#include "core/outliers/token_metrics.h"
#include "core/train/label_metrics.h"

namespace inlier {
namespace {

std::vector<NamedParameter> FfnOutputs(const Model& model) {
  std::vector<NamedParameter> weights;
  for (const NamedParameter& parameter : ParametersOf(model)) {
    if (IsFfnOutputWeight(parameter.first)) weights.push_back(parameter);
  }
  return weights;
}

// (d) a layer.
std::vector<at::Tensor> NormsOf(const std::vector<NamedParameter>& weights) {
  std::vector<at::Tensor> norms;
  for (const auto& [name, weight] : weights)
    norms.push_back(weight.detach().to(at::kDouble).norm(2, AxesOf(name).input));
  return norms;
}

Json Layers(std::size_t count) {
  return Side("layer", "layer", Counted(static_cast<std::int64_t>(count), 1));
}

Json ByDimension(const std::string& of, const char* value, const std::vector<at::Tensor>& rows) {
  return Grid(of, value, Layers(rows.size()), Side("dimension", "hidden dimension", Counted(rows[0].size(0))),
              at::stack(rows));
}

absl::Status NoBasis() {
  return absl::InvalidArgumentError(
      "kind: BASES: the optimizer of this training turned no gradient on the side of the residual stream; "
      "name a "
      "trial by ortho_adam with side RESIDUAL, OUT or BOTH");
}

}  // namespace

absl::StatusOr<Json> WeightNorms(const Model& model) {
  return ByDimension("feed-forward outputs", "norm of the weights", NormsOf(FfnOutputs(model)));
}

absl::StatusOr<Json> SecondMoments(const Checkpoint& checkpoint, const Model& model) {
  const v1::TrialSpec& spec = checkpoint.info().spec;
  const std::vector<NamedParameter> weights = FfnOutputs(model);
  std::vector<at::Tensor> sums;
  for (const auto& [name, weight] : weights) {
    ASSIGN_OR_RETURN(const at::Tensor sum, checkpoint.SecondMomentSums(name));
    if (!sum.defined()) {
      return absl::InvalidArgumentError(
          "kind: SECOND_MOMENTS: the trained model has none; name a trial by adam, adamw, ortho_adam or "
          "rmsprop "
          "that was trained by this release or a later one");
    }
    sums.push_back(sum.to(at::kDouble));
  }
  std::string of = "feed-forward outputs";
  if (spec.training().optimizer().has_ortho_adam()) {
    absl::StrAppend(&of, ", in the optimizer's basis");
  } else {
    const std::vector<at::Tensor> norms = NormsOf(weights);
    std::vector<std::string> correlations;
    for (std::size_t i = 0; i < sums.size(); ++i)
      correlations.push_back(absl::StrFormat("%.2f", PearsonCorrelation(norms[i], sums[i])));
    absl::StrAppend(&of, ": r with the weights' norms ", absl::StrJoin(correlations, ", "));
  }
  for (at::Tensor& sum : sums) sum = sum / sum.mean();
  return ByDimension(of, "second moments / layer's mean", sums);
}

absl::StatusOr<Json> KurtosisByBasis(const v1::TrialSpec& spec, const Model& model,
                                     const std::vector<at::Tensor>& outputs) {
  if (!spec.training().optimizer().has_ortho_adam()) return NoBasis();
  v1::OrthoAdamSpec drawn = spec.training().optimizer().ortho_adam();
  if (drawn.side() == v1::OrthoAdamSpec::IN) return NoBasis();
  drawn.set_side(v1::OrthoAdamSpec::OUT);  // A matrix depends on its axis, not on which others are turned.
  const std::vector<NamedParameter> weights = FfnOutputs(model);
  const std::map<std::string, Rotation> own = DrawRotations(drawn, weights);
  drawn.set_rotation_seed(drawn.rotation_seed() + 1);
  const std::map<std::string, Rotation> other = DrawRotations(drawn, weights);
  if (own.size() != weights.size() || weights.size() != outputs.size())
    return NoBasis();  // The axis is longer than max_size.

  at::Tensor kurtosis = at::zeros({4, static_cast<std::int64_t>(outputs.size())}, at::kDouble);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = weights[i].first;
    const at::Tensor x = outputs[i].to(at::kDouble);
    const bool by_columns = AxesOf(name).output == 0;  // A rotation of axis 0 turns columns.
    const auto turned = [&](const Rotation& rotation, bool inverse) {
      const at::Tensor from = by_columns ? x.t().contiguous() : x;
      const at::Tensor to = inverse ? rotation.ApplyInverse(from) : rotation.Apply(from);
      return by_columns ? to.t() : to;
    };
    const at::Tensor bases[] = {x, turned(own.at(name), false), turned(own.at(name), true),
                                turned(other.at(name), false)};
    for (int basis = 0; basis < 4; ++basis)
      kurtosis[basis][static_cast<std::int64_t>(i)] = TokenKurtosis(bases[basis]).mean();
  }
  return Grid("outputs of the layers", "kurtosis of a token",
              FromTop(Side("basis", "basis", {"X", "X Q^T", "X Q", "X V"})), Layers(outputs.size()),
              kurtosis);
}

}  // namespace inlier
