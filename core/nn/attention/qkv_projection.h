// Queries, keys and values of a block's input, by three linears or by one that gives all three.
//
// Grouped keys: with fewer key heads than heads, each serves heads / kv_heads consecutive queries.
#ifndef INLIER_CORE_NN_ATTENTION_QKV_PROJECTION_H_
#define INLIER_CORE_NN_ATTENTION_QKV_PROJECTION_H_

#include <cstdint>
#include <vector>

#include "core/nn/forward_context.h"
#include "core/nn/linear.h"
#include "core/nn/parameter_scope.h"

namespace inlier {

// Names of the linears below the attention's scope.
struct QkvNames {
  // The one linear's name when the others are null: the first rows are queries, then keys, then values.
  const char* query;
  const char* key;
  const char* value;
};

struct Qkv {
  at::Tensor query;  // (B, T, heads * h)
  at::Tensor key;    // (B, T, kv_heads * h)
  at::Tensor value;
};

class QkvProjection {
 public:
  // query_width = heads * h, kv_width = kv_heads * h; the same with one linear.
  QkvProjection(const ParameterScope& scope, const QkvNames& names, std::int64_t hidden_size,
                std::int64_t query_width, std::int64_t kv_width, const LinearOptions& options);

  // Three, for query, key and value, or one that gives all.
  const std::vector<Linear>& linears() const { return linears_; }

  // x: (B, T, d). Every linear by itself with a tap or an arithmetic of its own; else in the fastest way.
  Qkv operator()(const at::Tensor& x, const ForwardContext& context) const;

 private:
  Qkv Split(const at::Tensor& joined) const;

  std::vector<Linear> linears_;
  std::vector<std::int64_t> widths_;  // Of queries, keys and values.
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_ATTENTION_QKV_PROJECTION_H_
