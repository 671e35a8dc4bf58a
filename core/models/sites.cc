#include "core/models/sites.h"

#include <cctype>

namespace inlier {

bool IsFfnOutputSite(std::string_view site) {
  if (!IsWithinLayer(site)) return false;
  // OPT, GPT-2, Llama; BERT and ViT, whose attention has an output.dense too.
  for (const std::string_view name : {".fc2", ".mlp.c_proj", ".mlp.down_proj"}) {
    if (site.ends_with(name)) return true;
  }
  return site.ends_with(".output.dense") && !site.ends_with(".attention.output.dense");
}

bool IsFfnOutputWeight(std::string_view name) {
  constexpr std::string_view kWeight = ".weight";
  return name.ends_with(kWeight) && IsFfnOutputSite(name.substr(0, name.size() - kWeight.size()));
}

bool IsWithinLayer(std::string_view site) {
  for (const std::string_view layers : {".layers.", ".h.", ".layer."}) {
    const std::size_t at = site.find(layers);
    if (at == std::string_view::npos) continue;
    const std::size_t number = at + layers.size();
    return number < site.size() && std::isdigit(static_cast<unsigned char>(site[number])) &&
           site.find('.', number) != std::string_view::npos;
  }
  return false;
}

}  // namespace inlier
