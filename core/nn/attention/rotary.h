// Rotary position embedding: each pair of features of a query or key is turned by an angle that grows with
// the token's position.   (Su et al. 2021, in the "rotate half" form of Llama)
//
//   f_i = theta^(-2i/h), angle a = t f_i, i = 0 … h/2 - 1, t = 0 … T - 1
//   u = (u1, u2) split in halves:  u1' = u1 cos a - u2 sin a,  u2' = u2 cos a + u1 sin a
#ifndef INLIER_CORE_NN_ATTENTION_ROTARY_H_
#define INLIER_CORE_NN_ATTENTION_ROTARY_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace inlier {

struct RotaryTable {
  at::Tensor cosine;  // (T, 1, h / 2); undefined: nothing is rotated.
  at::Tensor sine;
};

// In the dtype and on the device of `options`. REQUIRES: head_size is even.
RotaryTable MakeRotaryTable(std::int64_t tokens, std::int64_t head_size, double theta,
                            const at::TensorOptions& options);

// x: (B, T, heads, h), any number of heads.
at::Tensor Rotate(const at::Tensor& x, const RotaryTable& table);

}  // namespace inlier

#endif  // INLIER_CORE_NN_ATTENTION_ROTARY_H_
