#include "core/hugging_face/stored_forms.h"

#include <ATen/Functions.h>

#include <span>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace inlier {
namespace {

using Tensors = std::vector<at::Tensor>;
using Names = std::vector<std::pair<std::string, std::string>>;  // Ours and theirs, parts of a path.

absl::Status Misshapen(const std::string& name, const at::Tensor& tensor) {
  return absl::InvalidArgumentError(absl::StrCat("the tensor ", name, " with ", tensor.dim(),
                                                 " dimensions and ", tensor.numel(),
                                                 " values does not fit to the sizes of config.json"));
}

// The names of the longest parts first: the first that fits is replaced.
std::string Renamed(const std::string& parameter, const Names& names) {
  for (const auto& [ours, theirs] : names) {
    const std::size_t at = parameter.find(ours);
    if (at == std::string::npos) continue;
    return absl::StrCat(parameter.substr(0, at), theirs, parameter.substr(at + ours.size()));
  }
  return parameter;
}

// Rows [first, first + count) of a table.
StoredForm RowsOf(const std::string& name, std::int64_t count, bool last) {
  return {.tensors = {name}, .make = [=](const Tensors& stored) -> absl::StatusOr<at::Tensor> {
            if (stored[0].dim() != 2 || stored[0].size(0) < count) return Misshapen(name, stored[0]);
            return stored[0].narrow(0, last ? stored[0].size(0) - count : 0, count);
          }};
}

// Gains are stored less 1, and a norm before the feed-forward network is not called as Llama's.
StoredForm OfGemma2(const v1::ModelSpec&, const std::string& parameter) {
  static const Names names = {{".attention_output_layernorm.", ".post_attention_layernorm."},
                              {".ffn_output_layernorm.", ".post_feedforward_layernorm."},
                              {".post_attention_layernorm.", ".pre_feedforward_layernorm."}};
  StoredForm form{.tensors = {Renamed(parameter, names)}};
  if (absl::EndsWith(parameter, "norm.weight"))
    form.make = [](const Tensors& stored) { return stored[0].to(at::kFloat).add(1); };
  return form;
}

// Queries, keys and values lie in one tensor, head by head: (heads, 3, h) rows.
StoredForm OfGptNeox(const v1::ModelSpec& model, const std::string& parameter) {
  static const Names names = {{"lm_head.", "embed_out."},
                              {"model.embed_tokens.", "gpt_neox.embed_in."},
                              {"model.norm.", "gpt_neox.final_layer_norm."},
                              {".self_attn.o_proj.", ".attention.dense."},
                              {".mlp.up_proj.", ".mlp.dense_h_to_4h."},
                              {".mlp.down_proj.", ".mlp.dense_4h_to_h."}};
  const std::string renamed =
      absl::StrReplaceAll(Renamed(parameter, names), {{"model.layers.", "gpt_neox.layers."}});
  int part = 0;
  for (const char* projection : {".self_attn.q_proj.", ".self_attn.k_proj.", ".self_attn.v_proj."}) {
    if (!absl::StrContains(renamed, projection)) {
      ++part;
      continue;
    }
    const std::string name = absl::StrReplaceAll(renamed, {{projection, ".attention.query_key_value."}});
    const std::int64_t heads = model.llama().heads();
    return {.tensors = {name}, .make = [=](const Tensors& stored) -> absl::StatusOr<at::Tensor> {
              const at::Tensor& joined = stored[0];
              if (joined.dim() < 1 || joined.size(0) % (3 * heads) != 0) return Misshapen(name, joined);
              return joined.unflatten(0, {heads, 3, -1}).select(1, part).flatten(0, 1);
            }};
  }
  return {.tensors = {renamed}};
}

// Positions begin behind that of padding, and the second type of tokens may be missing.
StoredForm OfRoberta(const v1::ModelSpec& model, const std::string& parameter) {
  static const Names names = {{"cls.predictions.transform.dense.", "lm_head.dense."},
                              {"cls.predictions.transform.LayerNorm.", "lm_head.layer_norm."},
                              {"cls.predictions.bias", "lm_head.bias"},
                              {"bert.", "roberta."}};
  const std::string name = Renamed(parameter, names);
  if (absl::EndsWith(parameter, ".position_embeddings.weight"))
    return RowsOf(name, model.bert().max_positions(), /*last=*/true);
  if (!absl::EndsWith(parameter, ".token_type_embeddings.weight")) return {.tensors = {name}};
  return {.tensors = {name}, .make = [=](const Tensors& stored) -> absl::StatusOr<at::Tensor> {
            if (stored[0].dim() != 2 || stored[0].size(0) != 1) return stored[0];
            return at::cat({stored[0], at::zeros_like(stored[0])});
          }};
}

// There are no types of tokens.
StoredForm OfDistilBert(const v1::ModelSpec& model, const std::string& parameter) {
  static const Names names = {{"cls.predictions.transform.dense.", "vocab_transform."},
                              {"cls.predictions.transform.LayerNorm.", "vocab_layer_norm."},
                              {"cls.predictions.bias", "vocab_projector.bias"},
                              {".attention.self.query.", ".attention.q_lin."},
                              {".attention.self.key.", ".attention.k_lin."},
                              {".attention.self.value.", ".attention.v_lin."},
                              {".attention.output.dense.", ".attention.out_lin."},
                              {".attention.output.LayerNorm.", ".sa_layer_norm."},
                              {".intermediate.dense.", ".ffn.lin1."},
                              {".output.dense.", ".ffn.lin2."},
                              {".output.LayerNorm.", ".output_layer_norm."}};
  if (absl::EndsWith(parameter, ".token_type_embeddings.weight")) {
    const std::int64_t width = model.bert().hidden_size();
    return {.tensors = {}, .make = [width](const Tensors&) { return at::zeros({2, width}); }};
  }
  return {.tensors = {absl::StrReplaceAll(Renamed(parameter, names),
                                          {{"bert.encoder.layer.", "distilbert.transformer.layer."},
                                           {"bert.embeddings.", "distilbert.embeddings."}})}};
}

// The distillation token with its position is a register; see spec/hugging_face/types/vit.cc.
StoredForm OfDeit(const v1::ModelSpec&, const std::string& parameter) {
  const std::string name = Renamed(parameter, {{"vit.", "deit."}});
  const std::string positions = "deit.embeddings.position_embeddings";
  const auto has_place = [](const at::Tensor& table) { return table.dim() == 3 && table.size(1) > 2; };
  if (name == positions) {
    return {.tensors = {positions}, .make = [=](const Tensors& stored) -> absl::StatusOr<at::Tensor> {
              if (!has_place(stored[0])) return Misshapen(positions, stored[0]);
              return at::cat({stored[0].narrow(1, 0, 1), stored[0].narrow(1, 2, stored[0].size(1) - 2)}, 1);
            }};
  }
  if (!absl::EndsWith(parameter, ".register_tokens")) return {.tensors = {name}};
  return {.tensors = {"deit.embeddings.distillation_token", positions},
          .make = [=](const Tensors& stored) -> absl::StatusOr<at::Tensor> {
            if (!has_place(stored[1])) return Misshapen(positions, stored[1]);
            return stored[0].to(at::kFloat).add(stored[1].narrow(1, 1, 1));
          }};
}

struct Class {
  std::string_view model_type;
  std::string_view body;
  StoredForms::Find find;
};
constexpr Class kClasses[] = {{"gemma2", "model.", OfGemma2},
                              {"gpt_neox", "gpt_neox.", OfGptNeox},
                              {"roberta", "roberta.", OfRoberta},
                              {"distilbert", "distilbert.", OfDistilBert},
                              {"deit", "deit.", OfDeit}};

}  // namespace

StoredForms::StoredForms(std::string_view model_type, const v1::ModelSpec& model) : model_(model) {
  for (const Class& one : kClasses) {
    if (model_type != one.model_type) continue;
    body_ = one.body;
    find_ = one.find;
    return;
  }
  body_ = model.has_bert()   ? "bert."
          : model.has_gpt2() ? "transformer."
          : model.has_vit()  ? "vit."
                             : "model.";
}

StoredForm StoredForms::Of(const std::string& parameter) const {
  return find_ == nullptr ? StoredForm{.tensors = {parameter}} : find_(model_, parameter);
}

}  // namespace inlier
