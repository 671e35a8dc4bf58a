#include "proto/spec/presets.h"

namespace inlier {

const std::vector<Preset>& Presets() {
  // "Bondarenko": Quantizable Transformers (2023), as its code trains them: OPT-350m and OPT-1.3b there keep
  // token embeddings of width 768.
  static const std::vector<Preset> presets = {
      // architecture, name, layers, hidden, heads, ffn, vocabulary, positions, embedding, source
      {"bert", "tiny", 4, 128, 4, 512, 0, 0, 0, "inlier: minutes on a CPU"},
      {"bert", "small", 4, 256, 4, 1024, 0, 0, 0, "inlier: tens of minutes on a CPU"},
      {"bert", "6-layer", 6, 768, 12, 3072, 30522, 256, 0, "Bondarenko et al. 2023, BERT-6L"},
      {"bert", "base", 12, 768, 12, 3072, 30522, 512, 0, "Devlin et al. 2019, BERT-base"},
      {"bert", "large", 24, 1024, 16, 4096, 30522, 512, 0, "Devlin et al. 2019, BERT-large"},
      {"opt", "tiny", 4, 128, 4, 512, 0, 0, 0, "inlier: minutes on a CPU"},
      {"opt", "small", 4, 256, 4, 1024, 0, 0, 0, "inlier: tens of minutes on a CPU"},
      {"opt", "6-layer", 6, 768, 12, 3072, 50272, 512, 0, "Bondarenko et al. 2023, OPT with 6 layers"},
      {"opt", "125m", 12, 768, 12, 3072, 50272, 512, 0, "Bondarenko et al. 2023, OPT-125m"},
      {"opt", "350m", 24, 1024, 16, 4096, 50272, 1024, 768, "Bondarenko et al. 2023, OPT-350m"},
      {"opt", "1.3b", 24, 2048, 32, 8192, 50272, 1024, 768, "Bondarenko et al. 2023, OPT-1.3b"},
  };
  return presets;
}

const Preset* FindPreset(std::string_view architecture, std::string_view name) {
  for (const Preset& preset : Presets()) {
    if (preset.architecture == architecture && preset.name == name) return &preset;
  }
  return nullptr;
}

std::vector<std::string> PresetNames(std::string_view architecture) {
  std::vector<std::string> names;
  for (const Preset& preset : Presets()) {
    if (preset.architecture == architecture) names.emplace_back(preset.name);
  }
  return names;
}

}  // namespace inlier
