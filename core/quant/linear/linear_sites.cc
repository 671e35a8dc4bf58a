#include "core/quant/linear/linear_sites.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/quant/quantized_sites.h"

namespace inlier {
namespace {

using enum LinearSource;

struct Row {
  std::string_view linear;  // "*" stands for the number of the layer.
  LinearSource source;
  std::string_view reads;
};

// clang-format off
constexpr auto kBertRows = std::to_array<Row>({
    {"bert.encoder.layer.*.attention.self.query",       kNorm,    "bert.encoder.layer.*.attention.self"},
    {"bert.encoder.layer.*.attention.self.key",         kNorm,    "bert.encoder.layer.*.attention.self"},
    {"bert.encoder.layer.*.attention.self.value",       kNorm,    "bert.encoder.layer.*.attention.self"},
    {"bert.encoder.layer.*.attention.output.dense",     kContext, "bert.encoder.layer.*.attention.output.dense"},
    {"bert.encoder.layer.*.intermediate.0",             kNorm,    "bert.encoder.layer.*.intermediate.0"},
    {"bert.encoder.layer.*.output.dense",               kFfn,     "bert.encoder.layer.*.output.dense"},
});

constexpr auto kOptRows = std::to_array<Row>({
    {"model.decoder.layers.*.self_attn.q_proj",         kNorm,      "model.decoder.layers.*.self_attn_layer_norm"},
    {"model.decoder.layers.*.self_attn.k_proj",         kNorm,      "model.decoder.layers.*.self_attn_layer_norm"},
    {"model.decoder.layers.*.self_attn.v_proj",         kNorm,      "model.decoder.layers.*.self_attn_layer_norm"},
    {"model.decoder.layers.*.self_attn.out_proj",       kContext,   "model.decoder.layers.*.self_attn.out_proj"},
    {"model.decoder.layers.*.fc1_act",                  kNorm,      "model.decoder.layers.*.final_layer_norm"},
    {"model.decoder.layers.*.fc2",                      kFfn,       "model.decoder.layers.*.fc2"},
    {"lm_head",                                         kFinalNorm, "model.decoder.final_layer_norm"},
});

constexpr auto kGpt2Rows = std::to_array<Row>({
    {"transformer.h.*.attn.c_attn",                     kNorm,      "transformer.h.*.ln_1"},
    {"transformer.h.*.attn.c_proj",                     kContext,   "transformer.h.*.attn.c_proj"},
    {"transformer.h.*.mlp.c_fc",                        kNorm,      "transformer.h.*.ln_2"},
    {"transformer.h.*.mlp.c_proj",                      kFfn,       "transformer.h.*.mlp.c_proj"},
    {"lm_head",                                         kFinalNorm, "transformer.ln_f"},
});

constexpr auto kLlamaRows = std::to_array<Row>({
    {"model.layers.*.self_attn.q_proj",                 kNorm,      "model.layers.*.input_layernorm"},
    {"model.layers.*.self_attn.k_proj",                 kNorm,      "model.layers.*.input_layernorm"},
    {"model.layers.*.self_attn.v_proj",                 kNorm,      "model.layers.*.input_layernorm"},
    {"model.layers.*.self_attn.o_proj",                 kContext,   "model.layers.*.self_attn.o_proj"},
    {"model.layers.*.mlp.gate_proj",                    kNorm,      "model.layers.*.post_attention_layernorm"},
    {"model.layers.*.mlp.up_proj",                      kNorm,      "model.layers.*.post_attention_layernorm"},
    {"model.layers.*.mlp.down_proj",                    kFfn,       "model.layers.*.mlp.down_proj"},
    {"lm_head",                                         kFinalNorm, "model.norm"},
});

constexpr auto kVitRows = std::to_array<Row>({
    {"vit.encoder.layer.*.attention.attention.query",   kNorm,    "vit.encoder.layer.*.layernorm_before"},
    {"vit.encoder.layer.*.attention.attention.key",     kNorm,    "vit.encoder.layer.*.layernorm_before"},
    {"vit.encoder.layer.*.attention.attention.value",   kNorm,    "vit.encoder.layer.*.layernorm_before"},
    {"vit.encoder.layer.*.attention.output.dense",      kContext, "vit.encoder.layer.*.attention.output.dense"},
    {"vit.encoder.layer.*.intermediate.dense",          kNorm,    "vit.encoder.layer.*.layernorm_after"},
    {"vit.encoder.layer.*.output.dense",                kFfn,     "vit.encoder.layer.*.output.dense"},
});
// clang-format on

std::span<const Row> RowsOf(v1::ModelSpec::ArchitectureCase architecture) {
  switch (architecture) {
    case v1::ModelSpec::kBert:
      return kBertRows;
    case v1::ModelSpec::kOpt:
      return kOptRows;
    case v1::ModelSpec::kGpt2:
      return kGpt2Rows;
    case v1::ModelSpec::kLlama:
      return kLlamaRows;
    case v1::ModelSpec::kVit:
      return kVitRows;
    case v1::ModelSpec::ARCHITECTURE_NOT_SET:
      break;
  }
  return {};
}

std::string WithNumber(std::string_view path, std::string_view number) {
  std::string text(path);
  if (const std::size_t star = text.find('*'); star != std::string::npos) text.replace(star, 1, number);
  return text;
}

}  // namespace

std::optional<LinearPlace> FindLinearPlace(v1::ModelSpec::ArchitectureCase architecture,
                                           std::string_view site) {
  for (const Row& row : RowsOf(architecture)) {
    if (const std::optional<std::string_view> number = LayerNumber(row.linear, site))
      return LinearPlace{row.source, WithNumber(row.reads, *number)};
  }
  return std::nullopt;
}

bool MakesQueriesOrKeys(std::string_view site) {
  return std::ranges::any_of(
      std::to_array<std::string_view>({".q_proj", ".k_proj", ".query", ".key", ".c_attn"}),
      [site](std::string_view end) { return site.ends_with(end); });
}

}  // namespace inlier
