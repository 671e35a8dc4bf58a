#include "core/optim/parameter_groups.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace inlier {
namespace {

// The module of a parameter, in lower case: "layernorm" of "bert.embeddings.LayerNorm.weight"; empty for a name of one part.
std::string ModuleOf(const std::string& name) {
  const std::size_t end = name.rfind('.');
  if (end == std::string::npos) return "";
  const std::size_t dot = end == 0 ? std::string::npos : name.rfind('.', end - 1);
  const std::size_t begin = dot == std::string::npos ? 0 : dot + 1;
  return absl::AsciiStrToLower(name.substr(begin, end - begin));
}

bool IsOfNorm(const std::string& name) {
  const std::string module = ModuleOf(name);
  return absl::StrContains(module, "norm") || absl::StartsWith(module, "ln_");
}

bool IsTokenOfVit(const std::string& name) {
  constexpr char kScope[] = "vit.embeddings.";
  if (!absl::StartsWith(name, kScope)) return false;
  const std::string own = name.substr(sizeof(kScope) - 1);
  return own == "cls_token" || own == "position_embeddings" || own == "register_tokens";
}

}  // namespace

bool IsDecayed(const std::string& name, bool decay_norm_gamma) {
  // Of learned keys and values too: "….bias_k", "….bias_v".
  if (absl::StrContains(name, "bias") || absl::EndsWith(name, ".sinks") ||
      absl::EndsWith(name, ".log_scale") || IsTokenOfVit(name))
    return false;
  if (!IsOfNorm(name)) return true;
  return decay_norm_gamma && absl::EndsWith(name, ".weight");
}

ParameterGroups SplitForDecay(const std::vector<NamedParameter>& parameters, bool decay_norm_gamma) {
  ParameterGroups groups;
  for (const NamedParameter& parameter : parameters) {
    (IsDecayed(parameter.first, decay_norm_gamma) ? groups.decayed : groups.not_decayed).push_back(parameter);
  }
  return groups;
}

}  // namespace inlier
