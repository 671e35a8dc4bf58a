// ViT as an image classifier: patches as tokens behind a class token.   (Dosovitskiy et al. 2021)
//
//   p = patches . W^T + b, row by row;  patch_norm: p = LN(p);  x = drop([[class, p] + position, registers])
//   layers: core/nn/transformer_layer.h;  pre-LN: a final norm;  logits = x_class . W_c^T + b_c
//
// Registers are learned tokens behind the patches, without positions, that no output reads (Darcet et al. 2024); named
// as in transformers' Dinov2WithRegisters. SequenceLength (spec/trial/data_kind.h), the T of alpha / T and of NCS with
// CONFIGURED, does not count them.
#ifndef INLIER_CORE_MODELS_VIT_H_
#define INLIER_CORE_MODELS_VIT_H_

#include <cstdint>
#include <vector>

#include "core/models/layer_stack.h"
#include "core/models/model.h"

namespace inlier {

struct VitOptions {
  std::int64_t layers = 0;
  std::int64_t image_size = 0;  // Pixels of a side.
  std::int64_t patch_size = 0;  // Divides image_size.
  std::int64_t channels = 0;
  std::int64_t classes = 0;
  bool patch_norm = false;  // LayerNorm of the projected patches.   (Bondarenko et al. 2023, C.3)
  std::int64_t registers = 0;
  PositionOptions position;
  LayerOptions layer;  // Its dropout follows the embeddings too.
};

class Vit : public Model {
 public:
  explicit Vit(const VitOptions& options);

  bool can_fuse(layer::Place place) const override { return CanFuseLayers(layers_, place); }

  // pixels (B, channels, image_size, image_size) -> (B, classes).
  at::Tensor Logits(const ModelInput& input, ActivationTap* tap = nullptr) override;

  // labels: (B) int64.
  at::Tensor Loss(const ModelInput& input, const at::Tensor& labels, ActivationTap* tap = nullptr,
                  double label_smoothing = 0) override;

  // 1 + the number of patches: tokens with a position.
  std::int64_t tokens() const;

 private:
  at::Tensor Embed(const ModelInput& input, const ForwardContext& context) const;

  VitOptions options_;
  FrameOptions frame_;
  at::Tensor class_token_;      // (1, 1, d)
  at::Tensor positions_;        // (1, tokens, d); undefined without learned positions.
  at::Tensor registers_;        // (1, registers, d); undefined without.
  at::Tensor projection_;       // (d, channels, P, P)
  at::Tensor projection_bias_;  // (d)
  std::vector<Norm> patch_norm_;
  std::vector<TransformerLayer> layers_;
  std::vector<Norm> final_norm_;  // One with pre-LN, else none.
  Linear classifier_;
};

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_VIT_H_
