// EmbProj: learned square matrices behind the token embedding and before the head, so that no axis of the residual stream is
// that of a column of the table.   (Park et al. 2025, "Outlier-Safe Pre-Training", section 3.3)
//
//   x = P e[token];   logits = W (R h),   P and R (d, d) orthogonal at the start
//
// The model without them that computes the same has the table e P^T and the head W R. It is what a tap sees, and so what is
// quantized, and what is exported.
#ifndef INLIER_CORE_MODELS_EMBEDDING_PROJECTION_H_
#define INLIER_CORE_MODELS_EMBEDDING_PROJECTION_H_

#include <ATen/core/Tensor.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>

#include <cstdint>

#include "core/nn/parameter_scope.h"

namespace inlier {

// Their parameters, at the root of a model.
inline constexpr char kEmbeddingProjection[] = "embedding_projection";
inline constexpr char kHeadProjection[] = "head_projection";

struct EmbeddingProjection {
  at::Tensor of_embedding;  // P; undefined without.
  at::Tensor of_head;       // R; undefined without.

  static EmbeddingProjection Create(const ParameterScope& root, std::int64_t width) {
    return {root.Child(kEmbeddingProjection).Create("weight", {width, width}),
            root.Child(kHeadProjection).Create("weight", {width, width})};
  }

  // P e of each row e of `x` (…, d): of embedded tokens, or of the table.
  at::Tensor Embedded(const at::Tensor& x) const {
    return of_embedding.defined() ? at::linear(x, of_embedding) : x;
  }
  // R h of each row h of `x` (…, d).
  at::Tensor BeforeHead(const at::Tensor& x) const { return of_head.defined() ? at::linear(x, of_head) : x; }
  // W R of the head W (V, d).
  at::Tensor AbsorbedHead(const at::Tensor& head) const {
    return of_head.defined() ? at::matmul(head, of_head) : head;
  }
};

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_EMBEDDING_PROJECTION_H_
