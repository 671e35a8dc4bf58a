#include "core/models/vit.h"

#include <ATen/Functions.h>

#include <string>

#include "core/nn/dropout.h"
#include "core/nn/precision.h"

namespace inlier {

Vit::Vit(const VitOptions& options)
    : options_(options), frame_(FrameOptionsOf(options.layer, options.position, /*causal=*/false)) {
  const ParameterScope root(*this);
  const std::int64_t width = options.layer.attention.hidden_size;
  const ParameterScope embeddings = root.Child("vit.embeddings");
  class_token_ = embeddings.Create("cls_token", {1, 1, width});
  if (options.position.kind == PositionOptions::Kind::kLearned)
    positions_ = embeddings.Create("position_embeddings", {1, tokens(), width});
  if (options.registers > 0) registers_ = embeddings.Create("register_tokens", {1, options.registers, width});
  const ParameterScope patches = embeddings.Child("patch_embeddings");
  const ParameterScope projection = patches.Child("projection");
  projection_ =
      projection.Create("weight", {width, options.channels, options.patch_size, options.patch_size});
  projection_bias_ = projection.Create("bias", {width});
  if (options.patch_norm) {
    patch_norm_.push_back(
        Norm::Create(patches.Child("norm"), width,
                     {.kind = kernels::NormKind::kLayerNorm, .epsilon = options.layer.norm.epsilon}));
  }
  for (std::int64_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(root.Child("vit.encoder.layer." + std::to_string(i)), kVitLayerStyle,
                         AtLayer(options.layer, i));
  }
  if (options.layer.pre_norm)
    final_norm_.push_back(Norm::Create(root.Child("vit.layernorm"), width, options.layer.norm));
  classifier_ = Linear::Create(root.Child("classifier"), width, options.classes);
}

std::int64_t Vit::tokens() const {
  const std::int64_t side = options_.image_size / options_.patch_size;
  return 1 + side * side;
}

at::Tensor Vit::Embed(const ModelInput& input, const ForwardContext& context) const {
  static const std::string kScope = "vit.embeddings";
  const at::Tensor& pixels = input.pixels;
  TORCH_CHECK(pixels.dim() == 4 && pixels.size(1) == options_.channels &&
                  pixels.size(2) == options_.image_size && pixels.size(3) == options_.image_size,
              "images of shape ", pixels.sizes(), " do not fit into model.vit with channels ",
              options_.channels, " and image_size ", options_.image_size);
  const std::int64_t batch = pixels.size(0), patch = options_.patch_size, side = options_.image_size / patch;
  // (B, patches, channels * P * P): a convolution whose kernel is its stride is a product with each patch.
  const at::Tensor cut = pixels.view({batch, options_.channels, side, patch, side, patch})
                             .permute({0, 2, 4, 1, 3, 5})
                             .reshape({batch, side * side, -1});
  const Linear projection{.site = kScope + ".patch_embeddings.projection",
                          .weight = projection_.flatten(1),
                          .bias = projection_bias_,
                          .layout = WeightLayout::kOutIn};
  at::Tensor x = projection(cut, context);
  if (!patch_norm_.empty()) x = patch_norm_[0](x, context);
  x = at::cat({class_token_.expand({batch, 1, -1}).to(x.scalar_type()), x}, 1);
  if (positions_.defined()) x = context.Activation(kScope, "sum_pos_embd_act_quantizer", x + positions_);
  if (registers_.defined()) x = at::cat({x, registers_.expand({batch, -1, -1}).to(x.scalar_type())}, 1);
  return DropOut(x, options_.layer.dropout, context);
}

at::Tensor Vit::Logits(const ModelInput& input, ActivationTap* tap) {
  const ForwardContext context = ContextOf(input, tap);
  const at::Tensor x = Embed(input, context);
  const AttentionFrame frame = MakeAttentionFrame(frame_, {}, x.size(1), x.options());
  return classifier_(RunLayers(layers_, final_norm_, x, frame, context).select(1, 0), context);
}

at::Tensor Vit::Loss(const ModelInput& input, const at::Tensor& labels, ActivationTap* tap,
                     double label_smoothing) {
  return at::cross_entropy_loss(AtLeastFloat32(Logits(input, tap)), labels, {}, at::Reduction::Mean,
                                kIgnoredLabel, label_smoothing);
}

}  // namespace inlier
