#include "core/train/low_precision/learned_scale.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/nn/precision.h"

namespace inlier {
namespace {

constexpr char kState[] = "learned";
constexpr double kSmallestScale = 1e-12;  // Of zeros.

double LargestInteger(int bits) { return std::ldexp(1.0, bits - 1) - 1; }  // Q_P

class OptimizerWithScales : public Optimizer {
 public:
  OptimizerWithScales(std::unique_ptr<Optimizer> inner, std::vector<NamedParameter> scales)
      : inner_(std::move(inner)), scales_(std::move(scales)) {}

  void Step(double learning_rate) override { inner_->Step(learning_rate); }

  std::vector<NamedParameter> State() const override {
    std::vector<NamedParameter> state = inner_->State();
    for (const NamedParameter& scale : ScaleState()) state.push_back(scale);
    return state;
  }

  absl::Status LoadState(const std::map<std::string, at::Tensor>& state) override {
    const absl::Status loaded = inner_->LoadState(state);
    if (!loaded.ok()) return loaded;
    const c10::NoGradGuard no_grad;
    for (const auto& [name, target] : ScaleState()) {
      const auto found = state.find(name);
      if (found == state.end() || found->second.sizes() != target.sizes())
        return absl::NotFoundError(absl::StrCat("the optimizer's state has no scale ", name));
      target.copy_(found->second);
    }
    return absl::OkStatus();
  }

 private:
  std::vector<NamedParameter> ScaleState() const {
    std::vector<NamedParameter> state;
    for (const auto& [name, scale] : scales_)
      state.emplace_back(absl::StrCat(kState, "/", name), scale.detach());
    return state;
  }

  const std::unique_ptr<Optimizer> inner_;
  const std::vector<NamedParameter> scales_;
};

}  // namespace

at::Tensor RoundWithLearnedScale(const at::Tensor& v, const at::Tensor& scale, int bits, std::int64_t count) {
  const double largest = LargestInteger(bits);
  const double of_gradient = 1 / std::sqrt(static_cast<double>(count) * largest);
  // The value of `scale`, with a part of its gradient.
  const at::Tensor s = scale.mul(of_gradient) + scale.mul(1 - of_gradient).detach();
  const at::Tensor clipped = AtLeastFloat32(v).div(s).clamp(-largest - 1, largest);
  const at::Tensor rounded = clipped + (clipped.round() - clipped).detach();
  return rounded.mul(s).to(v.scalar_type());
}

at::Tensor InitialScale(const at::Tensor& v, int bits) {
  const at::Tensor mean = AtLeastFloat32(v.detach()).abs().mean();
  return mean.mul(2 / std::sqrt(LargestInteger(bits))).clamp_min(kSmallestScale).reshape({1});
}

void LearnedScales::Add(const std::string& name, int bits, const at::Tensor& v) {
  const bool is_new =
      entries_.emplace(name, Entry{InitialScale(v, bits).log().requires_grad_(), true}).second;
  INLIER_CHECK(is_new);
}

void LearnedScales::AddUnseen(const std::string& name, const at::Tensor& like) {
  const at::Tensor unknown = at::full({1}, std::numeric_limits<double>::quiet_NaN(),
                                      AtLeastFloat32(like.detach()).options().requires_grad(false));
  INLIER_CHECK(entries_.emplace(name, Entry{unknown.requires_grad_(), false}).second);
}

at::Tensor LearnedScales::Round(const std::string& name, const at::Tensor& v, int bits, std::int64_t count) {
  Entry& entry = entries_.at(name);
  if (!entry.known) {
    const c10::NoGradGuard no_grad;
    if (std::isnan(entry.log_scale.item<double>())) entry.log_scale.copy_(InitialScale(v, bits).log());
    entry.known = true;
  }
  return RoundWithLearnedScale(v, entry.log_scale.exp(), bits, count);
}

std::vector<NamedParameter> LearnedScales::Parameters() const {
  std::vector<NamedParameter> parameters;
  for (const auto& [name, entry] : entries_) parameters.emplace_back(name, entry.log_scale);
  return parameters;
}

std::unique_ptr<Optimizer> WithScalesInState(std::unique_ptr<Optimizer> inner,
                                             std::vector<NamedParameter> scales) {
  if (scales.empty()) return inner;
  return std::make_unique<OptimizerWithScales>(std::move(inner), std::move(scales));
}

}  // namespace inlier
