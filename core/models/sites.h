// The names under which models hand tensors to an ActivationTap, in the order of execution.
//
// clang-format off
// Two kinds of sites:
//   W, A  quantization sites: where the reference code has a weight (OnWeight) or activation (OnActivation) quantizer,
//         which it calls site + ".weight_quantizer" or site + ".activation_quantizer". ViT's are placed by its paper's
//         text (docs/decisions/0006-reference-quantizers.md).
//   O     observation sites (OnActivation): measured, never quantized. The tap's result is used in the tensor's place,
//         so a quantizing tap must return such tensors unchanged.
//
// B sequences, T tokens, d hidden_size, H heads, h = d / H, F ffn_size, V vocab_size, E width of the token embedding.
//
// With head_size h of a Llama, H h in place of d between the projections. Its scores are capped before their site, its logits behind
// theirs.
//
// K = T, or T + 1 with key_value_bias, whose key is the last of every row of scores and probabilities.
//
// In every architecture, below its attention S, in no table of quantizers (the reference has none of them), only with the part:
//   O    S.gate                                    projected gate: (B, n, T, h), HEADWISE (B, n, T, 1); n = heads, for KEY and
//                                                  VALUE kv_heads. Before the norms, except at CONTEXT and OUTPUT, where it is
//                                                  behind the probabilities and behind the output projection
//   W A  S.q_norm, S.k_norm                        (h); (B, T, heads, h), (B, T, kv_heads, h)   query_key_norm
//   -    S                                         OnKeys, OnValues: (B, T, kv_heads, h)
//
// BERT, S = bert.encoder.layer.<i>.attention.self, L = bert.encoder.layer.<i>:
//   W    bert.embeddings.word_embeddings           (V, d)
//   W    bert.embeddings.token_type_embeddings     (2, d)
//   A    bert.embeddings.sum_input_token_type_embd_act_quantizer   (B, T, d)  word + token type
//   W    bert.embeddings.position_embeddings       (max_positions, d)
//   A    bert.embeddings.sum_pos_embd_act_quantizer                (B, T, d)  the same + position
//   W A  bert.embeddings.LayerNorm                 gain (d); output (B, T, d)
//   O    hidden.0                                  (B, T, d)  embedding output, after dropout
//   W A  S.query, S.key, S.value                   (d, d); output after bias (B, T, d)
//   A    S.attn_scores_act_quantizer               (B, H, T, K)  after 1/sqrt(h), before the mask
//   A    S.attn_probs_act_quantizer                (B, H, T, K)  after clipping, before dropout
//   O    S.probs                                   (B, H, T, K)  the same, after that site
//   O    S.gate                                    (B, H, T, 1), pooled (B, H, 1, 1), unconditional (H); none without gate
//   A    S.context_act_quantizer                   (B, T, d)  after the gate, heads merged
//   O    S.context                                 (B, T, d)  what the output projection reads
//   W A  L.attention.output.dense                  (d, d); (B, T, d)
//   A    L.attention.output.res_act_quantizer      (B, T, d)  residual sum 1
//   W A  L.attention.output.LayerNorm              (d); (B, T, d)
//   W A  L.intermediate.0                          (F, d); output of the non-linearity (B, T, F)
//   W A  L.output.dense                            (d, F); (B, T, d)
//   A    L.output.res_act_quantizer                (B, T, d)  residual sum 2
//   O    L.output.LayerNorm.input                  (B, T, d)  the same, after that site
//   W A  L.output.LayerNorm                        (d); (B, T, d)
//   O    hidden.<i + 1>                            (B, T, d)  layer output
//   The head has no sites: it is float, and its decoder uses the float word table. The pooler and the classifier of
//   BertClassifier have none either: the reference has quantized sites in the body only. With norm_placement PRE, which the
//   reference does not have for BERT, the norms come before what they feed, and bert.encoder.LayerNorm (W A) at the end.
//
// OPT, D = model.decoder, L = model.decoder.layers.<i>, S = L.self_attn:
//   W    D.embed_tokens                            (V, E)
//   W    D.embed_positions.quant_embedding         (max_positions + 2, d)
//   W A  D.project_in                              (d, E); (B, T, d)   only when E != d
//   A    D.embed_sum_act_quantizer                 (B, T, d)  token + position
//   O    hidden.0                                  (B, T, d)  the same, after that site
//   W A  L.self_attn_layer_norm                    (d); (B, T, d)   pre-LN
//   W A  S.q_proj, S.k_proj, S.v_proj              (d, d); (B, T, d)  q before the h^-0.5 factor
//   A    S.attn_scores_act_quantizer               (B*H, T, K)  before the mask
//   A    S.attn_probs_act_quantizer                (B*H, T, K)  after clipping, before dropout
//   O    S.probs                                   (B, H, T, K)  the same, after that site
//   A    S.context_act_quantizer                   (B*H, T, h)  before the gate
//   O    S.gate                                    as BERT
//   O    S.context                                 (B, T, d)  after the gate, heads merged: what out_proj reads
//   W A  S.out_proj                                (d, d); (B, T, d)
//   A    L.self_attn_res_act_quantizer             (B, T, d)  residual sum 1
//   W A  L.self_attn_layer_norm                    (d); (B, T, d)   post-LN
//   W A  L.final_layer_norm                        (d); (B*T, d)    pre-LN
//   W A  L.fc1_act                                 (F, d); output of the non-linearity (B*T, F)
//   W A  L.fc2                                     (d, F); (B*T, d)
//   A    L.ffn_res_act_quantizer                   (B*T, d)  residual sum 2
//   W A  L.final_layer_norm                        (d); (B, T, d)   post-LN
//   O    L                                         (B, T, d)  layer output
//   O    hidden.<i + 1>                            (B, T, d)  layer output, for all layers but the last
//   W A  D.final_layer_norm                        (d); (B, T, d)   pre-LN
//   W A  D.project_out                             (E, d); (B, T, E)   only when E != d
//   O    hidden.<layers>                           (B, T, E)  what the head reads
//   W A  lm_head                                   (V, E) the float token table; logits (B, T, V). The reference quantizes
//                                                  it with setup ALL only: a tap for another setup leaves it alone.
//
// ViT, E = vit.embeddings, L = vit.encoder.layer.<i>, S = L.attention.attention, pre-LN, P patches:
//   W A  E.patch_embeddings.projection             (d, C*p*p); (B, P, d)
//   W A  E.patch_embeddings.norm                   (d); (B, P, d)   only with patch_norm
//   A    E.sum_pos_embd_act_quantizer              (B, 1 + P, d)  [class, patches] + position; none without positions
//   O    hidden.0                                  (B, T, d)  the same and registers behind it, after dropout; T = 1 + P + registers
//   W A  L.layernorm_before                        (d); (B, T, d)
//   W A  S.query, S.key, S.value                   (d, d); (B, T, d)
//   A O  S.attn_scores_act_quantizer … S.context   as BERT
//   W A  L.attention.output.dense                  (d, d); (B, T, d)
//   A    L.attention.output.res_act_quantizer      (B, T, d)  residual sum 1
//   W A  L.layernorm_after                         (d); (B, T, d)
//   W    L.intermediate.dense                      (F, d)
//   A    L.intermediate.act_quantizer              (B, T, F)  output of the non-linearity
//   W A  L.output.dense                            (d, F); (B, T, d)
//   A    L.output.res_act_quantizer                (B, T, d)  residual sum 2
//   O    L, and the same as hidden.<i + 1>         (B, T, d)  layer output
//   W A  vit.layernorm                             (d); (B, T, d)
//   W A  classifier                                (classes, d); logits (B, classes), with setup ALL only
//
// GPT-2, L = transformer.h.<i>, S = L.attn; Llama, L = model.layers.<i>, S = L.self_attn. The reference of Bondarenko et al.
// has none of them, and no site below is in a table of its quantizers; weights and results of linears are what the
// schemes of Kaul et al. quantize (ActivationTap::OnLinear…).
//   W    transformer.wte, transformer.wpe;  model.embed_tokens
//   O    hidden.0                                  (B, T, d)  embedding output, after dropout
//   W A  L.ln_1;  L.input_layernorm
//   W A  S.c_attn (3d, d);  S.q_proj, S.k_proj, S.v_proj
//   A    S.attn_scores_act_quantizer, S.attn_probs_act_quantizer, S.context_act_quantizer; O S.probs, S.gate, S.context: as BERT
//   W A  L.attn.c_proj;  S.o_proj
//   O    L.attn.residual;  S.residual
//   W A  L.ln_2;  L.post_attention_layernorm
//   W    L.mlp.c_fc;  L.mlp.gate_proj, L.mlp.up_proj
//   O    L.mlp.act;  L.mlp.act                     (B, T, F)  what the second linear reads
//   W A  L.mlp.c_proj;  L.mlp.down_proj
//   O    L.mlp.residual;  L.mlp.residual
//   O    L, and the same as hidden.<i + 1>         (B, T, d)  layer output
//   W A  L.attention_output_layernorm; L.ffn_output_layernorm   (d); (B, T, d)  norm_placement PERI, of every architecture
//   W A  transformer.ln_f;  model.norm
//   W A  lm_head (V, d), tied or not
// clang-format on
#ifndef INLIER_CORE_MODELS_SITES_H_
#define INLIER_CORE_MODELS_SITES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace inlier {

// The tied head of OPT: the same matrix as the token table, with quantizers of its own.
inline constexpr std::string_view kTiedHeadSite = "lm_head";

// True at the output (B, T, d) or (B*T, d) of the second linear of a layer's feed-forward network.
bool IsFfnOutputSite(std::string_view site);
// True of that linear's weight, by its Hugging Face name.
bool IsFfnOutputWeight(std::string_view name);

// The number of the layer that a part belongs to, a component of its path; nothing for the embeddings and the head.
std::optional<std::int64_t> LayerOf(std::string_view site);
inline bool IsWithinLayer(std::string_view site) { return LayerOf(site).has_value(); }

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_SITES_H_
