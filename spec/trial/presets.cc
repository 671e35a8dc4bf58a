#include "spec/trial/presets.h"

namespace inlier {

// clang-format off
const std::vector<Preset>& Presets() {
  // Bondarenko et al. as their code trains them: OPT-350m and OPT-1.3b there keep token embeddings of width 768.
  // Kaul et al. print widths only; layers and heads are inferred from the parameter counts.
  static const auto* const presets = new std::vector<Preset>{
      {"bert", "tiny", {{"layers", 4}, {"hidden_size", 128}, {"heads", 4}, {"ffn_size", 512}}, "inlier: minutes on a CPU"},
      {"bert", "small", {{"layers", 4}, {"hidden_size", 256}, {"heads", 4}, {"ffn_size", 1024}}, "inlier: tens of minutes on a CPU"},
      {"bert", "liao-small", {{"layers", 6}, {"hidden_size", 512}, {"heads", 8}, {"ffn_size", 2048}, {"vocab_size", 30522}, {"max_positions", 128}}, "Liao and Monz 2024, BERT-small", 34'903'354},
      {"bert", "6-layer", {{"layers", 6}, {"hidden_size", 768}, {"heads", 12}, {"ffn_size", 3072}, {"vocab_size", 30522}, {"max_positions", 256}}, "Bondarenko et al. 2023, BERT-6L", 66'790'458},
      {"bert", "base", {{"layers", 12}, {"hidden_size", 768}, {"heads", 12}, {"ffn_size", 3072}, {"vocab_size", 30522}, {"max_positions", 512}}, "Devlin et al. 2019, BERT-base", 109'514'298},
      {"bert", "large", {{"layers", 24}, {"hidden_size", 1024}, {"heads", 16}, {"ffn_size", 4096}, {"vocab_size", 30522}, {"max_positions", 512}}, "Devlin et al. 2019, BERT-large", 335'174'458},
      {"opt", "tiny", {{"layers", 4}, {"hidden_size", 128}, {"heads", 4}, {"ffn_size", 512}}, "inlier: minutes on a CPU"},
      {"opt", "small", {{"layers", 4}, {"hidden_size", 256}, {"heads", 4}, {"ffn_size", 1024}}, "inlier: tens of minutes on a CPU"},
      {"opt", "6-layer", {{"layers", 6}, {"hidden_size", 768}, {"heads", 12}, {"ffn_size", 3072}, {"vocab_size", 50272}, {"max_positions", 512}}, "Bondarenko et al. 2023, OPT with 6 layers", 81'532'416},
      {"opt", "125m", {{"layers", 12}, {"hidden_size", 768}, {"heads", 12}, {"ffn_size", 3072}, {"vocab_size", 50272}, {"max_positions", 512}}, "Bondarenko et al. 2023, OPT-125m", 124'059'648},
      {"opt", "350m", {{"layers", 24}, {"hidden_size", 1024}, {"heads", 16}, {"ffn_size", 4096}, {"vocab_size", 50272}, {"max_positions", 1024}, {"embedding_size", 768}}, "Bondarenko et al. 2023, OPT-350m", 343'543'808},
      {"opt", "1.3b", {{"layers", 24}, {"hidden_size", 2048}, {"heads", 32}, {"ffn_size", 8192}, {"vocab_size", 50272}, {"max_positions", 1024}, {"embedding_size", 768}}, "Bondarenko et al. 2023, OPT-1.3b", 1'252'458'496},
      {"gpt2", "tiny", {{"layers", 4}, {"hidden_size", 128}, {"heads", 4}, {"ffn_size", 512}}, "inlier: minutes on a CPU"},
      {"gpt2", "small", {{"layers", 4}, {"hidden_size", 256}, {"heads", 4}, {"ffn_size", 1024}}, "inlier: tens of minutes on a CPU"},
      {"gpt2", "60m", {{"layers", 12}, {"hidden_size", 512}, {"heads", 8}, {"ffn_size", 2048}, {"vocab_size", 50257}, {"max_positions", 256}, {"biases", 0}}, "Kaul et al. 2025, GPT2-60M; layers and heads inferred", 63'611'417},
      {"gpt2", "130m", {{"layers", 12}, {"hidden_size", 768}, {"heads", 12}, {"ffn_size", 3072}, {"vocab_size", 50257}, {"max_positions", 256}, {"biases", 0}}, "Kaul et al. 2025, GPT2-130M; layers and heads inferred", 123'728'665},
      {"gpt2", "350m", {{"layers", 24}, {"hidden_size", 1024}, {"heads", 16}, {"ffn_size", 4096}, {"vocab_size", 50257}, {"max_positions", 256}, {"biases", 0}}, "Kaul et al. 2025, GPT2-350M; layers and heads inferred", 353'715'249},
      {"gpt2", "1.4b", {{"layers", 24}, {"hidden_size", 2048}, {"heads", 32}, {"ffn_size", 8192}, {"vocab_size", 50257}, {"max_positions", 256}, {"biases", 0}}, "Kaul et al. 2025, GPT2-1.4B; layers and heads inferred", 1'311'410'225},
      {"llama", "tiny", {{"layers", 4}, {"hidden_size", 128}, {"heads", 4}, {"ffn_size", 352}}, "inlier: minutes on a CPU"},
      {"llama", "small", {{"layers", 4}, {"hidden_size", 256}, {"heads", 4}, {"ffn_size", 704}}, "inlier: tens of minutes on a CPU"},
      {"llama", "130m", {{"layers", 12}, {"hidden_size", 768}, {"heads", 12}, {"ffn_size", 2048}, {"vocab_size", 32000}, {"max_positions", 256}}, "Kaul et al. 2025, Llama2-130M; layers, heads and ffn_size inferred", 134'086'681},
      {"vit", "tiny", {{"layers", 4}, {"hidden_size", 128}, {"heads", 4}, {"ffn_size", 512}, {"patch_size", 4}}, "inlier: minutes on a CPU"},
      {"vit", "small", {{"layers", 4}, {"hidden_size", 256}, {"heads", 4}, {"ffn_size", 1024}, {"patch_size", 4}}, "inlier: tens of minutes on a CPU"},
      {"vit", "s16", {{"layers", 12}, {"hidden_size", 384}, {"heads", 6}, {"ffn_size", 1536}, {"image_size", 224}, {"patch_size", 16}, {"channels", 3}, {"classes", 1000}}, "Bondarenko et al. 2023, ViT-S/16", 22'050'664},
      {"vit", "b16", {{"layers", 12}, {"hidden_size", 768}, {"heads", 12}, {"ffn_size", 3072}, {"image_size", 224}, {"patch_size", 16}, {"channels", 3}, {"classes", 1000}}, "Dosovitskiy et al. 2021, ViT-B/16", 86'567'656},
  };
  return *presets;
}
// clang-format on

}  // namespace inlier
