#include "core/quant/quantized_sites.h"

#include <cctype>
#include <cstddef>

#include "base/check.h"

namespace inlier {
namespace {

// clang-format off
const std::vector<QuantizedSite>& BertSites() {
  using enum SitePart;
  static const auto* const table = new std::vector<QuantizedSite>{
      // path                                                      weight  activation
      {"bert.embeddings.word_embeddings",                          true,   false,  kBody},
      {"bert.embeddings.token_type_embeddings",                    true,   false,  kBody},
      {"bert.embeddings.sum_input_token_type_embd_act_quantizer",  false,  true,   kBody},
      {"bert.embeddings.position_embeddings",                      true,   false,  kBody},
      {"bert.embeddings.sum_pos_embd_act_quantizer",               false,  true,   kBody},
      {"bert.embeddings.LayerNorm",                                true,   true,   kNorm},
      {"bert.encoder.layer.*.attention.self.query",                true,   true,   kBody},
      {"bert.encoder.layer.*.attention.self.key",                  true,   true,   kBody},
      {"bert.encoder.layer.*.attention.self.value",                true,   true,   kBody},
      {"bert.encoder.layer.*.attention.self.attn_scores_act_quantizer", false, true, kBody},
      {"bert.encoder.layer.*.attention.self.attn_probs_act_quantizer",  false, true, kBody},
      {"bert.encoder.layer.*.attention.self.context_act_quantizer",     false, true, kBody},
      {"bert.encoder.layer.*.attention.output.dense",              true,   true,   kBody},
      {"bert.encoder.layer.*.attention.output.res_act_quantizer",  false,  true,   kBody},
      {"bert.encoder.layer.*.attention.output.LayerNorm",          true,   true,   kNorm},
      {"bert.encoder.layer.*.intermediate.0",                      true,   true,   kBody},
      {"bert.encoder.layer.*.output.dense",                        true,   true,   kBody},
      {"bert.encoder.layer.*.output.res_act_quantizer",            false,  true,   kBody},
      {"bert.encoder.layer.*.output.LayerNorm",                    true,   true,   kNorm},
  };
  return *table;
}

// A post-LN model reaches its norms after the sums and has no final norm.
const std::vector<QuantizedSite>& OptSites() {
  using enum SitePart;
  static const auto* const table = new std::vector<QuantizedSite>{
      // path                                                      weight  activation
      {"model.decoder.embed_tokens",                               true,   false,  kBody},
      {"model.decoder.embed_positions.quant_embedding",            true,   false,  kBody},
      {"model.decoder.project_in",                                 true,   true,   kBody},
      {"model.decoder.embed_sum_act_quantizer",                    false,  true,   kBody},
      {"model.decoder.layers.*.self_attn_layer_norm",              true,   true,   kNorm},
      {"model.decoder.layers.*.self_attn.q_proj",                  true,   true,   kBody},
      {"model.decoder.layers.*.self_attn.k_proj",                  true,   true,   kBody},
      {"model.decoder.layers.*.self_attn.v_proj",                  true,   true,   kBody},
      {"model.decoder.layers.*.self_attn.attn_scores_act_quantizer", false, true,  kBody},
      {"model.decoder.layers.*.self_attn.attn_probs_act_quantizer",  false, true,  kBody},
      {"model.decoder.layers.*.self_attn.context_act_quantizer",     false, true,  kBody},
      {"model.decoder.layers.*.self_attn.out_proj",                true,   true,   kBody},
      {"model.decoder.layers.*.self_attn_res_act_quantizer",       false,  true,   kBody},
      {"model.decoder.layers.*.final_layer_norm",                  true,   true,   kNorm},
      {"model.decoder.layers.*.fc1_act",                           true,   true,   kBody},
      {"model.decoder.layers.*.fc2",                               true,   true,   kBody},
      {"model.decoder.layers.*.ffn_res_act_quantizer",             false,  true,   kBody},
      {"model.decoder.final_layer_norm",                           true,   true,   kFinalNorm},
      {"model.decoder.project_out",                                true,   true,   kBody},
      {"lm_head",                                                  true,   true,   kHead},
  };
  return *table;
}

// All weights and activations, as BERT has them, and the head: by the paper's text, for which there is no code.
const std::vector<QuantizedSite>& VitSites() {
  using enum SitePart;
  static const auto* const table = new std::vector<QuantizedSite>{
      // path                                                      weight  activation
      {"vit.embeddings.patch_embeddings.projection",               true,   true,   kBody},
      {"vit.embeddings.patch_embeddings.norm",                     true,   true,   kNorm},
      {"vit.embeddings.sum_pos_embd_act_quantizer",                false,  true,   kBody},
      {"vit.encoder.layer.*.layernorm_before",                     true,   true,   kNorm},
      {"vit.encoder.layer.*.attention.attention.query",            true,   true,   kBody},
      {"vit.encoder.layer.*.attention.attention.key",              true,   true,   kBody},
      {"vit.encoder.layer.*.attention.attention.value",            true,   true,   kBody},
      {"vit.encoder.layer.*.attention.attention.attn_scores_act_quantizer", false, true, kBody},
      {"vit.encoder.layer.*.attention.attention.attn_probs_act_quantizer",  false, true, kBody},
      {"vit.encoder.layer.*.attention.attention.context_act_quantizer",     false, true, kBody},
      {"vit.encoder.layer.*.attention.output.dense",               true,   true,   kBody},
      {"vit.encoder.layer.*.attention.output.res_act_quantizer",   false,  true,   kBody},
      {"vit.encoder.layer.*.layernorm_after",                      true,   true,   kNorm},
      {"vit.encoder.layer.*.intermediate.dense",                   true,   false,  kBody},
      {"vit.encoder.layer.*.intermediate.act_quantizer",           false,  true,   kBody},
      {"vit.encoder.layer.*.output.dense",                         true,   true,   kBody},
      {"vit.encoder.layer.*.output.res_act_quantizer",             false,  true,   kBody},
      {"vit.layernorm",                                            true,   true,   kFinalNorm},
      {"classifier",                                               true,   true,   kHead},
  };
  return *table;
}
// clang-format on

}  // namespace

bool HasQuantizedSites(v1::ModelSpec::ArchitectureCase architecture) {
  return architecture == v1::ModelSpec::kBert || architecture == v1::ModelSpec::kOpt ||
         architecture == v1::ModelSpec::kVit;
}

const std::vector<QuantizedSite>& QuantizedSites(v1::ModelSpec::ArchitectureCase architecture) {
  INLIER_CHECK(HasQuantizedSites(architecture));
  if (architecture == v1::ModelSpec::kVit) return VitSites();
  return architecture == v1::ModelSpec::kBert ? BertSites() : OptSites();
}

const QuantizedSite* FindQuantizedSite(const std::vector<QuantizedSite>& table, std::string_view site) {
  for (const QuantizedSite& entry : table) {
    if (LayerNumber(entry.path, site)) return &entry;
  }
  // The norms of PERI, which the reference lacks, are rounded as its own are.
  static constexpr QuantizedSite kOutputNorm = {"", true, true, SitePart::kNorm};
  return site.ends_with("_output_layernorm") ? &kOutputNorm : nullptr;
}

std::optional<std::string_view> LayerNumber(std::string_view path, std::string_view site) {
  const std::size_t star = path.find('*');
  if (star == std::string_view::npos)
    return path == site ? std::optional<std::string_view>("") : std::nullopt;
  if (site.substr(0, star) != path.substr(0, star)) return std::nullopt;
  std::size_t end = star;
  while (end < site.size() && std::isdigit(static_cast<unsigned char>(site[end]))) ++end;
  if (end == star || site.substr(end) != path.substr(star + 1)) return std::nullopt;
  return site.substr(star, end - star);
}

}  // namespace inlier
