#include "spec/hugging_face/types/types.h"

namespace inlier {
namespace {

using enum FieldKey::Kind;

constexpr FieldKey kVit[] = {
    {"num_hidden_layers", "model.vit.layers", kSize},
    {"hidden_size", "model.vit.hidden_size", kSize},
    {"num_attention_heads", "model.vit.heads", kSize},
    {"intermediate_size", "model.vit.ffn_size", kSize},
    {"image_size", "model.vit.image_size", kSize, "224"},
    {"patch_size", "model.vit.patch_size", kSize, "16"},
    {"num_channels", "model.vit.channels", kSize, "3"},
    {"layer_norm_eps", "model.vit.norm_epsilon", kNumber, "1e-12"},
    {"hidden_act", "model.vit.activation", kActivation, "GELU_ERF"},
    {"initializer_range", "model.vit.initial_std", kNumber, "0.02"},
    {"hidden_dropout_prob", "dropout", kNumber, "0"},
    {"attention_probs_dropout_prob", "attention.dropout", kNumber, "0"},
};

constexpr FixedKey kVitFixed[] = {{"qkv_bias", "true"}};

}  // namespace

const ModelType kVitType = {"vit", "vit", kVit, kVitFixed};

// A DeiT is a ViT whose distillation token is a register with a position (Touvron et al. 2021): its classifier reads the class
// token alone, and attention does not know the order of its keys.
absl::Status FinishDeit(ConfigReader&, v1::TrialSpec* spec) {
  spec->mutable_model()->mutable_vit()->set_registers(1);
  return absl::OkStatus();
}

const ModelType kDeitType = {"deit", "vit", kVit, kVitFixed, FinishDeit};

}  // namespace inlier
