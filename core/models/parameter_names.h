// The role of a parameter, by its Hugging Face name.
#ifndef INLIER_CORE_MODELS_PARAMETER_NAMES_H_
#define INLIER_CORE_MODELS_PARAMETER_NAMES_H_

#include <string_view>

namespace inlier {

// The gain or offset of a norm: "….LayerNorm.weight", "….self_attn_layer_norm.bias", "….ln_1.weight",
// "….input_layernorm.weight", "model.norm.weight", "….layernorm_before.weight", "….q_norm.weight".
bool IsNormParameter(std::string_view name);

// A parameter of an attention gate: "….gate", "….gate.weight", "….gate.<head>.…".
bool IsGateParameter(std::string_view name);

// A learned key or value that stands for no token: "….bias_k", "….bias_v".
bool IsKeyValueBias(std::string_view name);

// Of a norm of queries or keys: "….q_norm.weight", "….k_norm.bias".
bool IsQueryKeyNorm(std::string_view name);

// The registers of a ViT.
inline constexpr std::string_view kRegisterTokens = "vit.embeddings.register_tokens";

// A weight that GPT-2's Conv1D stores as (in, out).
bool IsStoredInOut(std::string_view name);

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_PARAMETER_NAMES_H_
