#include "core/optim/make_optimizer.h"

#include <utility>

#include "base/check.h"
#include "core/optim/adam.h"
#include "core/optim/draw_rotations.h"
#include "core/optim/muon.h"
#include "core/optim/ortho_adam.h"
#include "core/optim/rmsprop.h"
#include "core/optim/sgd.h"
#include "core/optim/soap.h"
#include "core/optim/weight_axes.h"

namespace inlier {
namespace {

using Parameters = std::vector<NamedParameter>;

// Adam and AdamW have the same fields, and so has AdamW's part of others.
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

// Parameters of one rule, and the others, for AdamW.
template <typename Rule>
std::pair<Parameters, Parameters> Split(const Parameters& parameters, const Rule& rule) {
  std::pair<Parameters, Parameters> split;
  for (const NamedParameter& parameter : parameters)
    (rule(parameter) ? split.first : split.second).push_back(parameter);
  return split;
}

template <typename Spec>
std::unique_ptr<Optimizer> MakeAdamWOf(const Spec& spec, const Parameters& others) {
  return others.empty() ? nullptr : Make(spec, others, Adam::Decay::kDecoupled);
}

std::unique_ptr<Optimizer> Make(const v1::MuonSpec& spec, const Parameters& parameters) {
  const auto [matrices, others] = Split(parameters, [](const NamedParameter& parameter) {
    return parameter.second.dim() == 2 && AxesOf(parameter.first).hidden;
  });
  return std::make_unique<Muon>(
      SplitForDecay(matrices, spec.decay_norm_gamma()),
      Muon::Options{.momentum = spec.momentum(),
                    .nesterov = spec.nesterov(),
                    .newton_schulz_steps = static_cast<int>(spec.newton_schulz_steps()),
                    .update_scale = spec.update_scale(),
                    .weight_decay = spec.weight_decay()},
      MakeAdamWOf(spec, others));
}

std::unique_ptr<Optimizer> Make(const v1::SoapSpec& spec, const Parameters& parameters) {
  const auto [matrices, others] =
      Split(parameters, [](const NamedParameter& parameter) { return parameter.second.dim() == 2; });
  return std::make_unique<Soap>(
      SplitForDecay(matrices, spec.decay_norm_gamma()),
      Soap::Options{.beta1 = spec.beta1(),
                    .beta2 = spec.beta2(),
                    .shampoo_beta = spec.has_shampoo_beta() ? spec.shampoo_beta() : spec.beta2(),
                    .epsilon = spec.epsilon(),
                    .weight_decay = spec.weight_decay(),
                    .refresh_every = spec.refresh_every(),
                    .max_size = spec.max_size()},
      MakeAdamWOf(spec, others));
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
    case v1::OptimizerSpec::kMuon:
      return Make(spec.muon(), parameters);
    case v1::OptimizerSpec::kSoap:
      return Make(spec.soap(), parameters);
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
    case v1::OptimizerSpec::kMuon:
      return spec.muon().learning_rate();
    case v1::OptimizerSpec::kSoap:
      return spec.soap().learning_rate();
    case v1::OptimizerSpec::kAdamw:
    case v1::OptimizerSpec::KIND_NOT_SET:
      break;
  }
  return spec.adamw().learning_rate();
}

}  // namespace inlier
