#include "core/models/sites.h"

#include <charconv>

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

std::optional<std::int64_t> LayerOf(std::string_view site) {
  for (const std::string_view layers : {".layers.", ".h.", ".layer."}) {
    const std::size_t at = site.find(layers);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = site.substr(at + layers.size());
    const std::size_t dot = rest.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    std::int64_t layer = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + dot, layer);
    if (error != std::errc() || end != rest.data() + dot) return std::nullopt;
    return layer;
  }
  return std::nullopt;
}

}  // namespace inlier
