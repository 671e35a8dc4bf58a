// Rotary position embedding: each pair of features of a query or key is turned by an angle that grows with
// the token's position.   (Su et al. 2021, in the "rotate half" form of Llama)
//
//   f_i = theta^(-2i/h), angle a = t f_i, i = 0 … h/2 - 1, t = 0 … T - 1
//   u = (u1, u2) split in halves:  u1' = u1 cos a - u2 sin a,  u2' = u2 cos a + u1 sin a
//
// Sequences longer than those of the training, T_0 = original_positions, have other frequencies, by a factor s:
//   linear    f_i / s                                                          (Chen et al. 2023)
//   dynamic   theta (s T / T_0 - s + 1)^(h / (h - 2)) in place of theta where T > T_0    ("NTK-aware", 2023)
//   llama3    with w = 2 pi / f_i: f_i where w < T_0 / high, f_i / s where w > T_0 / low, and between them
//             (1 - r) f_i / s + r f_i, r = (T_0 / w - low) / (high - low)     (Grattafiori et al. 2024; its published code)
//   yarn      (1 - r) f_i + r f_i / s, r = clip((i - b) / (e - b), 0, 1), where a pair number c(n) = h ln(T_0 / (2 pi n)) /
//             (2 ln theta) turns n times in T_0: b = max(c(high), 0) and e = min(c(low), h - 1), rounded down and up with
//             `truncate`; cosine and sine times `amplitude`                    (Peng et al. 2024, eq. 18 to 25)
#ifndef INLIER_CORE_NN_ATTENTION_ROTARY_H_
#define INLIER_CORE_NN_ATTENTION_ROTARY_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace inlier {

struct RotaryScaling {
  enum class Kind { kNone, kLinear, kDynamic, kLlama3, kYarn };
  Kind kind = Kind::kNone;
  double factor = 1;
  std::int64_t original_positions = 0;  // But for kLinear.
  double low = 0, high = 0;             // kLlama3, kYarn.
  bool truncate = true;                 // kYarn.
  double amplitude = 1;                 // kYarn.
};

struct RotaryOptions {
  std::int64_t size = 0;  // h, the first features of a head, which are rotated; even; 0: none.
  double theta = 0;
  RotaryScaling scaling = {};
};

struct RotaryTable {
  at::Tensor cosine;  // (T, 1, h / 2); undefined: nothing is rotated.
  at::Tensor sine;
};

// In the dtype and on the device of `options`.
RotaryTable MakeRotaryTable(std::int64_t tokens, const RotaryOptions& rotary,
                            const at::TensorOptions& options);

// x: (B, T, heads, at least h), any number of heads; features behind the first h stay.
at::Tensor Rotate(const at::Tensor& x, const RotaryTable& table);

}  // namespace inlier

#endif  // INLIER_CORE_NN_ATTENTION_ROTARY_H_
