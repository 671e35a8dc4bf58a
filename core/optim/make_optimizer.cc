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

// Adam, AdamW and OrthoAdam have the same fields, and so has AdamW's part of others.
template <typename Spec>
Adam::Options AdamOptionsOf(const Spec& spec, Adam::Decay decay) {
  return {.beta1 = spec.beta1(),
          .beta2 = spec.beta2(),
          .epsilon = spec.epsilon(),
          .weight_decay = spec.weight_decay(),
          .decay = decay};
}

template <typename Spec>
std::unique_ptr<Optimizer> Make(const Spec& spec, const Parameters& parameters, Adam::Decay decay) {
  return std::make_unique<Adam>(SplitForDecay(parameters, spec.decay_norm_gamma()),
                                AdamOptionsOf(spec, decay));
}

std::unique_ptr<Optimizer> Make(const v1::AdamWSpec& spec, const Parameters& parameters) {
  return Make(spec, parameters, Adam::Decay::kDecoupled);
}

std::unique_ptr<Optimizer> Make(const v1::AdamSpec& spec, const Parameters& parameters) {
  return Make(spec, parameters, Adam::Decay::kPenalty);
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
                                     AdamOptionsOf(spec, Adam::Decay::kDecoupled),
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

// Calls with the message of the optimizer that `spec` names, or AdamW's.
template <typename Visit>
auto VisitKind(const v1::OptimizerSpec& spec, const Visit& visit) {
  switch (spec.kind_case()) {
    case v1::OptimizerSpec::kAdam:
      return visit(spec.adam());
    case v1::OptimizerSpec::kRmsprop:
      return visit(spec.rmsprop());
    case v1::OptimizerSpec::kSgd:
      return visit(spec.sgd());
    case v1::OptimizerSpec::kOrthoAdam:
      return visit(spec.ortho_adam());
    case v1::OptimizerSpec::kMuon:
      return visit(spec.muon());
    case v1::OptimizerSpec::kSoap:
      return visit(spec.soap());
    case v1::OptimizerSpec::kAdamw:
    case v1::OptimizerSpec::KIND_NOT_SET:
      break;
  }
  return visit(spec.adamw());
}

}  // namespace

absl::Status CheckOptimizer(const v1::OptimizerSpec& spec, const Parameters& parameters) {
  return spec.has_ortho_adam() ? CheckRotations(spec.ortho_adam(), parameters) : absl::OkStatus();
}

std::unique_ptr<Optimizer> MakeOptimizer(const v1::OptimizerSpec& spec, const Parameters& parameters) {
  return VisitKind(spec, [&parameters](const auto& kind) { return Make(kind, parameters); });
}

double PeakLearningRate(const v1::OptimizerSpec& spec) {
  return VisitKind(spec, [](const auto& kind) { return kind.learning_rate(); });
}

}  // namespace inlier
