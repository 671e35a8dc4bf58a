#include "core/optim/weight_axes.h"

namespace inlier {
namespace {

constexpr WeightAxes kTable = {.input = 1, .output = std::nullopt, .residual = 1};
constexpr WeightAxes kLinear = {.input = 1, .output = 0, .residual = std::nullopt};
constexpr WeightAxes kHeadReads = {.input = 1, .output = 0, .residual = 1};
constexpr WeightAxes kStemWrites = {.input = 1, .output = 0, .residual = 0};
constexpr WeightAxes kHeadTable = {.input = 1, .output = std::nullopt, .residual = std::nullopt};
constexpr WeightAxes kTokens = {.input = 2, .output = std::nullopt, .residual = 2};
constexpr WeightAxes kReads = {.input = 1, .output = 0, .residual = 1, .hidden = true};
constexpr WeightAxes kWrites = {.input = 1, .output = 0, .residual = 0, .hidden = true};
constexpr WeightAxes kConvReads = {.input = 0, .output = 1, .residual = 0, .hidden = true};
constexpr WeightAxes kConvWrites = {.input = 0, .output = 1, .residual = 1, .hidden = true};
constexpr WeightAxes kQkvConvReads = {.input = 0, .output = 1, .residual = 0, .hidden = true, .parts = 3};

struct NamedAxes {
  std::string_view module;  // The last components of the name before ".weight".
  WeightAxes axes;
};

constexpr NamedAxes kKnown[] = {
    // BERT and ViT.
    {"word_embeddings", kTable},
    {"position_embeddings", kTable},
    {"token_type_embeddings", kTable},
    {"query", kReads},
    {"key", kReads},
    {"value", kReads},
    {"intermediate.dense", kReads},
    {"output.dense", kWrites},  // Of the attention and of the MLP.
    {"transform.dense", kHeadReads},
    {"pooler.dense", kHeadReads},
    {"classifier", kHeadReads},
    {"patch_embeddings.projection", kStemWrites},
    {"gate", kHeadReads},  // Of all heads, or projected; of any architecture.
    // Of any architecture: the gate of a norm, EmbProj.
    {"gate_down", kHeadReads},
    {"embedding_projection", kWrites},
    {"head_projection", kReads},
    // OPT and Llama.
    {"project_in", kStemWrites},
    {"project_out", kHeadReads},
    {"embed_tokens", kTable},
    {"embed_positions", kTable},
    {"q_proj", kReads},
    {"k_proj", kReads},
    {"v_proj", kReads},
    {"out_proj", kWrites},
    {"o_proj", kWrites},
    {"fc1", kReads},
    {"fc2", kWrites},
    {"gate_proj", kReads},
    {"up_proj", kReads},
    {"down_proj", kWrites},
    {"lm_head", kHeadReads},
    // GPT-2.
    {"wte", kTable},
    {"wpe", kTable},
    {"c_attn", kQkvConvReads},
    {"c_fc", kConvReads},
    {"c_proj", kConvWrites},  // Of the attention and of the MLP.
};

// Tensors of ViT that are parameters without a module.
constexpr std::string_view kVitTokens[] = {"vit.embeddings.cls_token", "vit.embeddings.position_embeddings",
                                           "vit.embeddings.register_tokens"};

}  // namespace

WeightAxes AxesOf(std::string_view name) {
  for (const std::string_view tokens : kVitTokens) {
    if (name == tokens) return kTokens;
  }
  if (name.ends_with(".bias_k") || name.ends_with(".bias_v")) return kHeadTable;
  constexpr std::string_view kWeight = ".weight";
  if (!name.ends_with(kWeight)) return kLinear;
  name.remove_suffix(kWeight.size());
  for (const NamedAxes& known : kKnown) {
    if (!name.ends_with(known.module)) continue;
    const std::size_t before = name.size() - known.module.size();
    if (before == 0 || name[before - 1] == '.') return known.axes;
  }
  return kLinear;
}

}  // namespace inlier
