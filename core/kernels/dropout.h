// Dropout whose decisions are a function of (seed, site, row of the micro-batch, column) alone: the same numbers on any
// number of threads and ranks and in the backward pass, without a stored mask.
//
// The random numbers are those of Philox 4x32, 7 rounds (Salmon et al. 2011), 16 bits a decision.
#ifndef INLIER_CORE_KERNELS_DROPOUT_H_
#define INLIER_CORE_KERNELS_DROPOUT_H_

#include <cstdint>

namespace inlier::kernels {

struct Dropout {
  std::uint64_t seed = 0;  // Of the micro-batch.
  std::uint32_t site = 0;  // Which dropout of the model; every one has a number of its own.
  double probability = 0;  // Of a zero, in [0, 1); rounded to a multiple of 2^-16, and the scale with it.
  std::uint64_t first_row = 0;  // The row in the micro-batch of this pass' row 0: a rank may hold a part of it.
  bool active() const { return probability > 0; }
};

// factors[c] = 0 where column c of `row` is dropped, else 1 / (1 - probability). R: float or double.
template <typename R>
void DropoutFactors(const Dropout& dropout, std::uint64_t row, std::int64_t columns, R* factors);

}  // namespace inlier::kernels

#endif  // INLIER_CORE_KERNELS_DROPOUT_H_
