#include "core/optim/make_optimizer.h"

#include "base/check.h"
#include "core/optim/adam.h"
#include "core/optim/draw_rotations.h"
#include "core/optim/ortho_adam.h"
#include "core/optim/rmsprop.h"
#include "core/optim/sgd.h"

namespace inlier {
namespace {

using Parameters = std::vector<NamedParameter>;

// Adam and AdamW have the same fields.
template <typename Spec>
std::unique_ptr<Optimizer> Make(const Spec& spec, const Parameters& parameters, Adam::Decay decay) {
  return std::make_unique<Adam>(SplitForDecay(parameters, spec.decay_norm_gamma()),
                                Adam::Options{.beta1 = spec.beta1(),
                                              .beta2 = spec.beta2(),
                                              .epsilon = spec.epsilon(),
                                              .weight_decay = spec.weight_decay(),
                                              .decay = decay});
}

std::unique_ptr<Optimizer> Make(const v1::RmsPropSpec& spec, const Parameters& parameters) {
  return std::make_unique<RmsProp>(SplitForDecay(parameters, spec.decay_norm_gamma()),
                                   RmsProp::Options{.alpha = spec.alpha(),
                                                    .epsilon = spec.epsilon(),
                                                    .momentum = spec.momentum(),
                                                    .centered = spec.centered(),
                                                    .weight_decay = spec.weight_decay()});
}

std::unique_ptr<Optimizer> Make(const v1::SgdSpec& spec, const Parameters& parameters) {
  return std::make_unique<Sgd>(
      SplitForDecay(parameters, spec.decay_norm_gamma()),
      Sgd::Options{
          .momentum = spec.momentum(), .nesterov = spec.nesterov(), .weight_decay = spec.weight_decay()});
}

std::unique_ptr<Optimizer> Make(const v1::OrthoAdamSpec& spec, const Parameters& parameters) {
  INLIER_CHECK(CheckRotations(spec, parameters).ok());
  return std::make_unique<OrthoAdam>(SplitForDecay(parameters, spec.decay_norm_gamma()),
                                     OrthoAdam::Options{.beta1 = spec.beta1(),
                                                        .beta2 = spec.beta2(),
                                                        .epsilon = spec.epsilon(),
                                                        .weight_decay = spec.weight_decay()},
                                     DrawRotations(spec, parameters));
}

}  // namespace

absl::Status CheckOptimizer(const v1::OptimizerSpec& spec, const Parameters& parameters) {
  return spec.has_ortho_adam() ? CheckRotations(spec.ortho_adam(), parameters) : absl::OkStatus();
}

std::unique_ptr<Optimizer> MakeOptimizer(const v1::OptimizerSpec& spec, const Parameters& parameters) {
  switch (spec.kind_case()) {
    case v1::OptimizerSpec::kAdam:
      return Make(spec.adam(), parameters, Adam::Decay::kPenalty);
    case v1::OptimizerSpec::kRmsprop:
      return Make(spec.rmsprop(), parameters);
    case v1::OptimizerSpec::kSgd:
      return Make(spec.sgd(), parameters);
    case v1::OptimizerSpec::kOrthoAdam:
      return Make(spec.ortho_adam(), parameters);
    case v1::OptimizerSpec::kAdamw:
    case v1::OptimizerSpec::KIND_NOT_SET:
      break;
  }
  return Make(spec.adamw(), parameters, Adam::Decay::kDecoupled);
}

double PeakLearningRate(const v1::OptimizerSpec& spec) {
  switch (spec.kind_case()) {
    case v1::OptimizerSpec::kAdam:
      return spec.adam().learning_rate();
    case v1::OptimizerSpec::kRmsprop:
      return spec.rmsprop().learning_rate();
    case v1::OptimizerSpec::kSgd:
      return spec.sgd().learning_rate();
    case v1::OptimizerSpec::kOrthoAdam:
      return spec.ortho_adam().learning_rate();
    case v1::OptimizerSpec::kAdamw:
    case v1::OptimizerSpec::KIND_NOT_SET:
      break;
  }
  return spec.adamw().learning_rate();
}

}  // namespace inlier
