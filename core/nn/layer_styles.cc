#include "core/nn/transformer_layer.h"

// The parts of a layer by their names in each architecture's reference code, and the tensors that a tap sees.
namespace inlier {

const LayerStyle kBertLayerStyle = {
    .attention = {.projections = {"query", "key", "value"}},
    .attention_scope = "attention.self",
    .attention_output = "attention.output.dense",
    .attention_norm = "attention.output.LayerNorm",
    .attention_residual_site = "attention.output.res_act_quantizer",
    .ffn_input = "intermediate.dense",
    .ffn_input_site = "intermediate.0",
    .ffn_activation_site = "intermediate.0",
    .ffn_output = "output.dense",
    .ffn_norm = "output.LayerNorm",
    .ffn_norm_input_site = "output.LayerNorm.input",
    .ffn_residual_site = "output.res_act_quantizer",
    .observe_layer_output = false,
};

const LayerStyle kOptLayerStyle = {
    .attention = {.projections = {"q_proj", "k_proj", "v_proj"},
                  .scale_query = true,
                  .flat_heads = true,
                  .tap_context_before_gate = true},
    .attention_scope = "self_attn",
    .attention_output = "self_attn.out_proj",
    .attention_norm = "self_attn_layer_norm",
    .attention_residual_site = "self_attn_res_act_quantizer",
    .ffn_input = "fc1",
    .ffn_input_site = "fc1_act",
    .ffn_activation_site = "fc1_act",
    .ffn_output = "fc2",
    .ffn_norm = "final_layer_norm",
    .ffn_residual_site = "ffn_res_act_quantizer",
    .flat_tokens = true,
};

const LayerStyle kGpt2LayerStyle = {
    .attention = {.projections = {"c_attn", nullptr, nullptr}},
    .attention_scope = "attn",
    .attention_output = "attn.c_proj",
    .attention_norm = "ln_1",
    .attention_residual_site = "attn.residual",
    .ffn_input = "mlp.c_fc",
    .ffn_activation_site = "mlp.act",
    .ffn_output = "mlp.c_proj",
    .ffn_norm = "ln_2",
    .ffn_residual_site = "mlp.residual",
    .weight_layout = WeightLayout::kInOut,
};

const LayerStyle kLlamaLayerStyle = {
    .attention = {.projections = {"q_proj", "k_proj", "v_proj"}},
    .attention_scope = "self_attn",
    .attention_output = "self_attn.o_proj",
    .attention_norm = "input_layernorm",
    .attention_residual_site = "self_attn.residual",
    .ffn_gate = "mlp.gate_proj",
    .ffn_input = "mlp.up_proj",
    .ffn_activation_site = "mlp.act",
    .ffn_output = "mlp.down_proj",
    .ffn_norm = "post_attention_layernorm",
    .ffn_residual_site = "mlp.residual",
};

const LayerStyle kVitLayerStyle = {
    .attention = {.projections = {"query", "key", "value"}},
    .attention_scope = "attention.attention",
    .attention_output = "attention.output.dense",
    .attention_norm = "layernorm_before",
    .attention_residual_site = "attention.output.res_act_quantizer",
    .ffn_input = "intermediate.dense",
    .ffn_activation_site = "intermediate.act_quantizer",
    .ffn_output = "output.dense",
    .ffn_norm = "layernorm_after",
    .ffn_residual_site = "output.res_act_quantizer",
};

}  // namespace inlier
