// The parts of a TrialSpec that define every architecture's layers.
#ifndef INLIER_CORE_MODELS_LAYER_OPTIONS_H_
#define INLIER_CORE_MODELS_LAYER_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/models/layer_stack.h"
#include "core/nn/attention/script_checks.h"
#include "core/nn/transformer_layer.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// "path: what".
absl::Status InvalidField(const std::string& path, const std::string& what);

// The script that `field` names.
absl::StatusOr<std::shared_ptr<const Script>> ReadScript(const std::string& field, const std::string& path,
                                                         const DataRoots& roots);

// Shared parts of the architectures' messages.
struct LayerSizes {
  std::int64_t layers;
  std::int64_t hidden_size;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t ffn_size;
  double norm_epsilon;
  v1::Activation activation;
  v1::NormPlacement norm_placement;
  bool biases;
  std::int64_t head_size = 0;  // 0: hidden_size / heads.
};

template <typename Spec>
LayerSizes SizesOf(const Spec& spec) {
  LayerSizes sizes{.layers = spec.layers(),
                   .hidden_size = spec.hidden_size(),
                   .heads = spec.heads(),
                   .kv_heads = spec.heads(),
                   .ffn_size = spec.ffn_size(),
                   .norm_epsilon = spec.norm_epsilon(),
                   .activation = spec.activation(),
                   .norm_placement = spec.norm_placement(),
                   .biases = true};
  if constexpr (requires { spec.kv_heads(); }) {
    if (spec.has_kv_heads()) sizes.kv_heads = spec.kv_heads();
  }
  if constexpr (requires { spec.biases(); }) sizes.biases = spec.biases();
  if constexpr (requires { spec.head_size(); }) sizes.head_size = spec.head_size();
  return sizes;
}

// InvalidArgument starts with the path of the field; `path` is the architecture's, such as "model.bert". Scripts are read below
// `roots`, and checked.
absl::StatusOr<LayerOptions> MakeLayerOptions(const v1::TrialSpec& trial, const LayerSizes& sizes,
                                              const std::string& path, const DataRoots& roots);

PositionOptions MakePositionOptions(v1::Position position, double rotary_theta = 0);

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_LAYER_OPTIONS_H_
