#include "core/models/make_model.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "core/models/bert.h"
#include "core/models/opt.h"

namespace inlier {
namespace {

absl::Status Invalid(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

absl::StatusOr<SoftmaxOptions> SoftmaxFromSpec(const v1::TrialSpec& spec) {
  const v1::SoftmaxSpec& softmax = spec.attention().softmax();
  SoftmaxOptions options;
  switch (softmax.kind_case()) {
    case v1::SoftmaxSpec::kVanilla:
    case v1::SoftmaxSpec::KIND_NOT_SET:
      break;
    case v1::SoftmaxSpec::kClipped:
      options.kind = SoftmaxOptions::Kind::kClipped;
      options.zeta = softmax.clipped().zeta();
      switch (softmax.clipped().lower_case()) {
        case v1::ClippedSoftmaxSpec::kGamma:
          options.gamma = softmax.clipped().gamma();
          break;
        case v1::ClippedSoftmaxSpec::kAlpha:
          options.gamma = -softmax.clipped().alpha() / spec.data().text().sequence_length();
          break;
        case v1::ClippedSoftmaxSpec::LOWER_NOT_SET:
          return Invalid("attention.softmax.clipped", "gamma or alpha must be given");
      }
      break;
  }
  return options;
}

absl::StatusOr<GateOptions> GateFromSpec(const v1::GateSpec& gate) {
  GateOptions options;
  options.pooled = gate.pooled();
  options.output_factor = gate.output_factor();
  switch (gate.kind_case()) {
    case v1::GateSpec::kNone:
    case v1::GateSpec::KIND_NOT_SET:
      break;
    case v1::GateSpec::kLinear:
      options.kind = GateOptions::Kind::kLinear;
      break;
    case v1::GateSpec::kMlp:
      options.kind = GateOptions::Kind::kMlp;
      options.mlp_hidden_size = gate.mlp().hidden_size();
      if (options.mlp_hidden_size == 0) return Invalid("attention.gate.mlp.hidden_size", "must be given");
      break;
    case v1::GateSpec::kAllHeadsLinear:
      options.kind = GateOptions::Kind::kAllHeadsLinear;
      break;
    case v1::GateSpec::kUnconditional:
      options.kind = GateOptions::Kind::kUnconditional;
      break;
  }
  const bool conditional =
      options.kind != GateOptions::Kind::kNone && options.kind != GateOptions::Kind::kUnconditional;
  if (options.pooled && !conditional)
    return Invalid("attention.gate.pooled", "has no effect without a gate that reads its input");
  if (options.output_factor != 1 && options.kind == GateOptions::Kind::kNone) {
    return Invalid("attention.gate.output_factor", "has no effect without a gate");
  }
  return options;
}

absl::StatusOr<Nonlinearity> NonlinearityFromSpec(v1::Activation activation) {
  switch (activation) {
    case v1::GELU_ERF:
      return Nonlinearity::kGeluErf;
    case v1::GELU_TANH:
      return Nonlinearity::kGeluTanh;
    case v1::RELU:
      return Nonlinearity::kRelu;
    case v1::SILU:
      return Nonlinearity::kSilu;
  }
  return Invalid("model activation", absl::StrCat("unknown value ", static_cast<int>(activation)));
}

// What BertSpec and OptSpec have in common.
template <typename Spec>
absl::StatusOr<LayerOptions> LayerFromSpec(const v1::TrialSpec& trial, const Spec& spec,
                                           const std::string& path) {
  const struct {
    const char* name;
    std::uint64_t value;
  } sizes[] = {{"layers", spec.layers()},         {"hidden_size", spec.hidden_size()},
               {"heads", spec.heads()},           {"ffn_size", spec.ffn_size()},
               {"vocab_size", spec.vocab_size()}, {"max_positions", spec.max_positions()}};
  for (const auto& size : sizes) {
    if (size.value == 0) return Invalid(absl::StrCat(path, ".", size.name), "must be given and at least 1");
  }
  if (spec.hidden_size() % spec.heads() != 0) {
    return Invalid(path + ".heads",
                   absl::StrCat(spec.heads(), " does not divide hidden_size ", spec.hidden_size()));
  }
  LayerOptions layer;
  layer.attention.hidden_size = spec.hidden_size();
  layer.attention.heads = spec.heads();
  layer.attention.dropout = trial.attention().dropout();
  ASSIGN_OR_RETURN(layer.attention.softmax, SoftmaxFromSpec(trial));
  ASSIGN_OR_RETURN(layer.attention.gate, GateFromSpec(trial.attention().gate()));
  layer.ffn_size = spec.ffn_size();
  ASSIGN_OR_RETURN(layer.nonlinearity, NonlinearityFromSpec(spec.activation()));
  layer.norm_epsilon = spec.norm_epsilon();
  layer.pre_norm = spec.norm_placement() == v1::PRE;
  layer.dropout = trial.dropout();
  return layer;
}

absl::StatusOr<std::shared_ptr<LanguageModel>> MakeBert(const v1::TrialSpec& trial) {
  const v1::BertSpec& spec = trial.model().bert();
  BertOptions options;
  ASSIGN_OR_RETURN(options.layer, LayerFromSpec(trial, spec, "model.bert"));
  options.layers = spec.layers();
  options.vocab_size = spec.vocab_size();
  options.max_positions = spec.max_positions();
  return std::make_shared<Bert>(options);
}

absl::StatusOr<std::shared_ptr<LanguageModel>> MakeOpt(const v1::TrialSpec& trial) {
  const v1::OptSpec& spec = trial.model().opt();
  OptOptions options;
  ASSIGN_OR_RETURN(options.layer, LayerFromSpec(trial, spec, "model.opt"));
  options.layers = spec.layers();
  options.vocab_size = spec.vocab_size();
  options.max_positions = spec.max_positions();
  options.embedding_size = spec.has_embedding_size() ? spec.embedding_size() : spec.hidden_size();
  return std::make_shared<Opt>(options);
}

}  // namespace

absl::StatusOr<std::shared_ptr<LanguageModel>> MakeModel(const v1::TrialSpec& resolved) {
  switch (resolved.model().architecture_case()) {
    case v1::ModelSpec::kBert:
      return MakeBert(resolved);
    case v1::ModelSpec::kOpt:
      return MakeOpt(resolved);
    case v1::ModelSpec::ARCHITECTURE_NOT_SET:
      break;
  }
  return Invalid("model", "one of bert and opt must be given");
}

std::int64_t CountParameters(const torch::nn::Module& model) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : model.parameters()) count += parameter.numel();
  return count;
}

}  // namespace inlier
