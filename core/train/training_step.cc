#include "core/train/training_step.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/zeros_like.h>

#include <optional>

#include "base/check.h"
#include "core/optim/gradient_norm.h"
#include "core/optim/make_optimizer.h"
#include "core/train/engine.h"
#include "core/train/regularizer.h"

namespace inlier {
namespace {

// While it exists, products are in bfloat16 on one kind of device; each weight is cast once.
class Bfloat16Autocast {
 public:
  explicit Bfloat16Autocast(c10::DeviceType device_type) : device_type_(device_type) {
    at::autocast::set_autocast_enabled(device_type_, true);
    at::autocast::set_autocast_dtype(device_type_, at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~Bfloat16Autocast() {
    at::autocast::decrement_nesting();
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_type_, false);
  }
  Bfloat16Autocast(const Bfloat16Autocast&) = delete;
  Bfloat16Autocast& operator=(const Bfloat16Autocast&) = delete;

 private:
  const c10::DeviceType device_type_;
};

at::Tensor ForwardLoss(Model& model, ModelInput input, const at::Tensor& labels,
                       const TrainingStep::Settings& settings, c10::DeviceType device_type,
                       Regularizer& regularizer, LowPrecision* low_precision) {
  if (low_precision != nullptr) low_precision->BeginPass(input.dropout_seed);
  input.linears = low_precision;
  input.products = settings.products;
  input.ffn_penalty = regularizer.ffn_penalty();
  std::optional<Bfloat16Autocast> autocast;
  if (settings.products == layer::Products::kReference && settings.precision == v1::BFLOAT16)
    autocast.emplace(device_type);
  return model.Loss(input, labels, regularizer.tap(), settings.label_smoothing);
}

TrainingStep::Settings SettingsOf(const Model& model, const v1::TrainingSpec& spec, std::int64_t updates) {
  return {.schedule = MakeLrSchedule(spec.schedule(), PeakLearningRate(spec.optimizer()), updates),
          .gradient_clip_norm = spec.gradient_clip_norm(),
          .gradient_accumulation = static_cast<int>(spec.gradient_accumulation()),
          .precision = spec.precision(),
          .label_smoothing = spec.label_smoothing(),
          .products = ChooseEngine(spec, model, model.parameters().at(0).device().type()).products,
          .regularizer = spec.regularizer()};
}

}  // namespace

TrainingStep::TrainingStep(Model& model, std::unique_ptr<Optimizer> optimizer, const Settings& settings,
                           std::unique_ptr<LowPrecision> low_precision)
    : model_(model),
      optimizer_(std::move(optimizer)),
      settings_(settings),
      low_precision_(std::move(low_precision)),
      parameters_(model.parameters()),
      device_type_(parameters_.at(0).device().type()) {
  INLIER_CHECK(settings.gradient_accumulation >= 1);
  INLIER_CHECK((!settings.regularizer.has_kurtosis() && low_precision_ == nullptr) ||
               settings.products == layer::Products::kReference);
  if (low_precision_ == nullptr) return;
  for (const auto& [name, scale] : low_precision_->Scales()) parameters_.push_back(scale);
}

at::Tensor TrainingStep::AddMicroBatch(const ModelInput& input, const at::Tensor& labels,
                                       const Weight& weight) {
  Regularizer regularizer(settings_.regularizer);
  const auto weighted = [](const at::Tensor& mean, double part) { return part == 1 ? mean : mean.mul(part); };
  const at::Tensor loss =
      weighted(ForwardLoss(model_, input, labels, settings_, device_type_, regularizer, low_precision_.get()),
               weight.of_loss);
  at::Tensor whole = loss;
  if (HasPenalty(settings_.regularizer)) {
    const at::Tensor penalty = weighted(regularizer.Penalty(), weight.of_penalty);
    whole = loss.add(penalty);
    penalty_ = penalty.detach();
  }
  if (settings_.gradient_accumulation == 1) {
    whole.backward();
  } else {
    whole.div(settings_.gradient_accumulation).backward();
  }
  return loss.detach();
}

std::vector<at::Tensor> TrainingStep::Gradients() {
  std::vector<at::Tensor> gradients;
  for (at::Tensor& parameter : parameters_) {
    if (!parameter.grad().defined()) parameter.mutable_grad() = at::zeros_like(parameter.detach());
    gradients.push_back(parameter.grad());
  }
  return gradients;
}

TrainingStep::Applied TrainingStep::Apply(std::int64_t k) {
  const double rate = settings_.schedule.At(k);
  const at::Tensor norm = ClipGradientNorm(parameters_, settings_.gradient_clip_norm);
  optimizer_->Step(rate);
  // Without old gradients the next backward pass can hand over its own without an addition.
  for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
  return {rate, norm};
}

TrainingStep MakeTrainingStep(Model& model, const v1::TrainingSpec& spec, std::int64_t updates) {
  std::unique_ptr<LowPrecision> low_precision = MakeLowPrecision(spec, model);
  const std::vector<NamedParameter> scales =
      low_precision == nullptr ? std::vector<NamedParameter>() : low_precision->Scales();
  std::vector<NamedParameter> parameters = ParametersOf(model);
  parameters.insert(parameters.end(), scales.begin(), scales.end());
  return TrainingStep(model, WithScalesInState(MakeOptimizer(spec.optimizer(), parameters), scales),
                      SettingsOf(model, spec, updates), std::move(low_precision));
}

TrainingStep MakeTrainingStep(Model& model, const v1::TrainingSpec& spec, std::int64_t updates,
                              std::unique_ptr<Optimizer> optimizer) {
  INLIER_CHECK(!spec.low_precision().learned_scales());
  return TrainingStep(model, std::move(optimizer), SettingsOf(model, spec, updates),
                      MakeLowPrecision(spec, model));
}

std::vector<NamedParameter> ParametersOf(const Model& model) {
  std::vector<NamedParameter> parameters;
  for (const auto& item : model.named_parameters()) parameters.emplace_back(item.key(), item.value());
  return parameters;
}

}  // namespace inlier
