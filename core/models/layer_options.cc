#include "core/models/layer_options.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/mapped_file.h"
#include "base/status.h"
#include "core/models/norms.h"
#include "core/models/softmaxes.h"
#include "spec/trial/data_kind.h"

namespace inlier {

absl::Status InvalidField(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

absl::StatusOr<std::shared_ptr<const Script>> ReadScript(const std::string& field, const std::string& path,
                                                         const DataRoots& roots) {
  const absl::StatusOr<MappedFile> file = MappedFile::Open(path, roots);
  if (!file.ok()) return InvalidField(field, std::string(file.status().message()));
  return Script::Load(file->bytes(), absl::StrCat(field, ": ", path));
}

namespace {

// Without a gate for ProjectedGateSpec, which ProjectedGateFromSpec reads.
absl::StatusOr<GateOptions> GateFromSpec(const v1::GateSpec& gate, const LayerSizes& sizes,
                                         const DataRoots& roots) {
  GateOptions options;
  if (gate.has_projected()) return options;
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
      if (options.mlp_hidden_size == 0)
        return InvalidField("attention.gate.mlp.hidden_size", "must be given");
      break;
    case v1::GateSpec::kAllHeadsLinear:
      options.kind = GateOptions::Kind::kAllHeadsLinear;
      break;
    case v1::GateSpec::kUnconditional:
      options.kind = GateOptions::Kind::kUnconditional;
      break;
    case v1::GateSpec::kScript: {
      options.kind = GateOptions::Kind::kScript;
      ASSIGN_OR_RETURN(options.script, ReadScript("attention.gate.script.file", gate.script().file(), roots));
      RETURN_IF_ERROR(CheckGateScript(*options.script, sizes.heads, sizes.hidden_size / sizes.heads));
      break;
    }
    case v1::GateSpec::kProjected:
      break;
  }
  const bool has_logits = options.kind != GateOptions::Kind::kNone &&
                          options.kind != GateOptions::Kind::kUnconditional &&
                          options.kind != GateOptions::Kind::kScript;
  if (options.pooled && !has_logits)
    return InvalidField("attention.gate.pooled",
                        "has no effect without a gate that reads its input by logits");
  if (options.output_factor != 1 && options.kind == GateOptions::Kind::kNone) {
    return InvalidField("attention.gate.output_factor", "has no effect without a gate");
  }
  return options;
}

ProjectedGateOptions::Place PlaceFromSpec(v1::ProjectedGateSpec::Place place) {
  switch (place) {
    case v1::ProjectedGateSpec::CONTEXT:
      return ProjectedGateOptions::Place::kContext;
    case v1::ProjectedGateSpec::VALUE:
      return ProjectedGateOptions::Place::kValue;
    case v1::ProjectedGateSpec::KEY:
      return ProjectedGateOptions::Place::kKey;
    case v1::ProjectedGateSpec::QUERY:
      return ProjectedGateOptions::Place::kQuery;
    case v1::ProjectedGateSpec::OUTPUT:
      return ProjectedGateOptions::Place::kOutput;
  }
  return ProjectedGateOptions::Place::kNone;
}

absl::StatusOr<ProjectedGateOptions> ProjectedGateFromSpec(const v1::GateSpec& gate) {
  if (!gate.has_projected()) return ProjectedGateOptions();
  if (gate.pooled()) return InvalidField("attention.gate.pooled", "is not defined for a projected gate");
  return ProjectedGateOptions{.place = PlaceFromSpec(gate.projected().place()),
                              .headwise = gate.projected().granularity() == v1::ProjectedGateSpec::HEADWISE,
                              .output_factor = gate.output_factor()};
}

std::optional<NormOptions> QueryKeyNormFromSpec(v1::QueryKeyNorm norm, double epsilon) {
  switch (norm) {
    case v1::NO_NORM:
      return std::nullopt;
    case v1::HEAD_RMS:
      return NormOptions{.kind = kernels::NormKind::kRmsPerChannel, .epsilon = epsilon};
    case v1::HEAD_LAYER:
      return NormOptions{.kind = kernels::NormKind::kLayerNorm, .epsilon = epsilon};
  }
  return std::nullopt;
}

absl::StatusOr<kernels::Activation> NonlinearityFromSpec(v1::Activation activation) {
  switch (activation) {
    case v1::GELU_ERF:
      return kernels::Activation::kGeluErf;
    case v1::GELU_TANH:
      return kernels::Activation::kGeluTanh;
    case v1::RELU:
      return kernels::Activation::kRelu;
    case v1::SILU:
      return kernels::Activation::kSilu;
  }
  return InvalidField("model activation", absl::StrCat("unknown value ", static_cast<int>(activation)));
}

}  // namespace

absl::StatusOr<LayerOptions> MakeLayerOptions(const v1::TrialSpec& trial, const LayerSizes& sizes,
                                              const std::string& path, const DataRoots& roots) {
  for (const auto& [name, size] :
       {std::pair("layers", sizes.layers), std::pair("hidden_size", sizes.hidden_size),
        std::pair("heads", sizes.heads), std::pair("ffn_size", sizes.ffn_size)}) {
    if (size == 0) return InvalidField(absl::StrCat(path, ".", name), "must be given and at least 1");
  }
  if (sizes.head_size == 0 && sizes.hidden_size % sizes.heads != 0) {
    return InvalidField(path + ".heads",
                        absl::StrCat(sizes.heads, " does not divide hidden_size ", sizes.hidden_size));
  }
  if (sizes.kv_heads == 0 || sizes.heads % sizes.kv_heads != 0) {
    return InvalidField(path + ".kv_heads",
                        absl::StrCat(sizes.kv_heads, " does not divide heads ", sizes.heads));
  }
  LayerOptions layer;
  layer.attention.hidden_size = sizes.hidden_size;
  layer.attention.heads = sizes.heads;
  layer.attention.kv_heads = sizes.kv_heads;
  layer.attention.head_size = sizes.head_size;
  layer.attention.dropout = trial.attention().dropout();
  layer.attention.linear.bias = sizes.biases;
  ASSIGN_OR_RETURN(layer.attention.softmax, SoftmaxFromSpec(trial, sizes.heads, roots));
  ASSIGN_OR_RETURN(layer.attention.gate, GateFromSpec(trial.attention().gate(), sizes, roots));
  ASSIGN_OR_RETURN(layer.attention.projected_gate, ProjectedGateFromSpec(trial.attention().gate()));
  layer.attention.query_key_norm =
      QueryKeyNormFromSpec(trial.attention().query_key_norm(), sizes.norm_epsilon);
  layer.attention.key_value_bias = trial.attention().key_value_bias();
  layer.attention.prefix_tokens = trial.attention().prefix_tokens();
  layer.attention.window = trial.attention().window();
  layer.attention.windowed = trial.attention().has_window();
  layer.ffn_size = sizes.ffn_size;
  ASSIGN_OR_RETURN(layer.nonlinearity, NonlinearityFromSpec(sizes.activation));
  layer.norm = NormFromSpec(trial, sizes.norm_epsilon);
  layer.pre_norm = sizes.norm_placement != v1::POST;
  layer.output_norms = sizes.norm_placement == v1::PERI;
  if (sizes.norm_placement == v1::ENDS) layer.attention_norm = layer.ffn_norm = false;
  layer.residual_gain = trial.residual_gain();
  layer.dropout = trial.dropout();
  return layer;
}

PositionOptions MakePositionOptions(v1::Position position, double rotary_theta) {
  switch (position) {
    case v1::LEARNED:
      return {.kind = PositionOptions::Kind::kLearned};
    case v1::ROTARY:
      return {.kind = PositionOptions::Kind::kRotary, .rotary = {.theta = rotary_theta}};
    case v1::NONE:
      return {.kind = PositionOptions::Kind::kNone};
  }
  return {};
}

}  // namespace inlier
