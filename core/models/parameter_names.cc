#include "core/models/parameter_names.h"

namespace inlier {
namespace {

// The last component but one: "ln_1" of "transformer.h.0.ln_1.weight".
std::string_view Owner(std::string_view name) {
  const std::size_t last = name.rfind('.');
  if (last == std::string_view::npos) return {};
  const std::string_view owner = name.substr(0, last);
  return owner.substr(owner.rfind('.') + 1);
}

bool HasPart(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

bool IsNormParameter(std::string_view name) {
  const std::string_view owner = Owner(name);
  return owner == "LayerNorm" || owner == "norm" || owner == "ln_1" || owner == "ln_2" || owner == "ln_f" ||
         IsQueryKeyNorm(name) || HasPart(owner, "layer_norm") || HasPart(owner, "layernorm");
}

bool IsGateParameter(std::string_view name) { return HasPart(name, ".gate.") || name.ends_with(".gate"); }

bool IsKeyValueBias(std::string_view name) { return name.ends_with(".bias_k") || name.ends_with(".bias_v"); }

bool IsQueryKeyNorm(std::string_view name) {
  const std::string_view owner = Owner(name);
  return owner == "q_norm" || owner == "k_norm";
}

bool IsStoredInOut(std::string_view name) {
  const std::string_view owner = Owner(name);
  return HasPart(name, "transformer.h.") && name.substr(name.rfind('.') + 1) == "weight" &&
         (owner == "c_attn" || owner == "c_proj" || owner == "c_fc");
}

}  // namespace inlier
