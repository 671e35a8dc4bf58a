#include "core/optim/parameter_groups.h"

namespace inlier {
namespace {

bool Contains(const std::string& name, const char* part) { return name.find(part) != std::string::npos; }

}  // namespace

bool IsDecayed(const std::string& name, bool decay_norm_gamma) {
  if (Contains(name, "bias")) return false;
  if (decay_norm_gamma) return true;
  return !Contains(name, "LayerNorm.weight") && !Contains(name, "layer_norm.weight");
}

ParameterGroups SplitForDecay(const std::vector<NamedParameter>& parameters, bool decay_norm_gamma) {
  ParameterGroups groups;
  for (const NamedParameter& parameter : parameters) {
    (IsDecayed(parameter.first, decay_norm_gamma) ? groups.decayed : groups.not_decayed).push_back(parameter);
  }
  return groups;
}

}  // namespace inlier
