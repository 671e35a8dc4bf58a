#include "core/optim/make_optimizer.h"

#include "core/optim/adamw.h"

namespace inlier {

std::unique_ptr<Optimizer> MakeOptimizer(const v1::OptimizerSpec& spec,
                                         const std::vector<NamedParameter>& parameters) {
  switch (spec.kind_case()) {
    case v1::OptimizerSpec::kAdamw:
    case v1::OptimizerSpec::KIND_NOT_SET:
      break;
  }
  const v1::AdamWSpec& adamw = spec.adamw();
  return std::make_unique<AdamW>(SplitForDecay(parameters, adamw.decay_norm_gamma()),
                                 AdamW::Options{.beta1 = adamw.beta1(),
                                                .beta2 = adamw.beta2(),
                                                .epsilon = adamw.epsilon(),
                                                .weight_decay = adamw.weight_decay()});
}

double PeakLearningRate(const v1::OptimizerSpec& spec) {
  switch (spec.kind_case()) {
    case v1::OptimizerSpec::kAdamw:
    case v1::OptimizerSpec::KIND_NOT_SET:
      break;
  }
  return spec.adamw().learning_rate();
}

}  // namespace inlier
