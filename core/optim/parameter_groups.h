// Which parameters weight decay acts on, by name, as in the reference code of Bondarenko et al. 2023.
//
// Everything decays (embeddings, gate weights and the bare vector of an unconditional gate too) except biases
// and the gains of norms; with decay_norm_gamma the gains decay too (the reference's --wd_LN_gamma).
// Never decayed, of what that code does not have: the learned scores of null keys ("….sinks"), which decay would pull to
// 0 and so to softmax-1, with which they are compared; learned scales of roundings ("….log_scale"); learned keys and values ("….bias_k", "….bias_v") likewise; and the
// class token, positions and register tokens of a ViT, as in timm (`no_weight_decay`), with whose recipe the paper
// trains it.
// Names are those of Hugging Face. A norm's gain is a weight whose module (the last component before
// ".weight", in any case) has "norm" in its name or starts with "ln_": LayerNorm in BERT,
// self_attn_layer_norm and final_layer_norm in OPT, ln_1, ln_2 and ln_f in GPT-2, input_layernorm,
// post_attention_layernorm and norm in Llama, layernorm_before, layernorm_after, layernorm and norm in ViT.
#ifndef INLIER_CORE_OPTIM_PARAMETER_GROUPS_H_
#define INLIER_CORE_OPTIM_PARAMETER_GROUPS_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace inlier {

// A trainable tensor and its Hugging Face name. Tied tensors occur in a list once.
using NamedParameter = std::pair<std::string, at::Tensor>;

struct ParameterGroups {
  std::vector<NamedParameter> decayed;
  std::vector<NamedParameter> not_decayed;
};

bool IsDecayed(const std::string& name, bool decay_norm_gamma);

// Splits `parameters`, keeping their order.
ParameterGroups SplitForDecay(const std::vector<NamedParameter>& parameters, bool decay_norm_gamma);

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_PARAMETER_GROUPS_H_
