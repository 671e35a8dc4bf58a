// The vector math library below LibTorch's CPU operations (oneMKL's VML), made safe for threads.
#ifndef INLIER_CORE_KERNELS_MATH_LIBRARY_H_
#define INLIER_CORE_KERNELS_MATH_LIBRARY_H_

#include <ATen/ATen.h>

namespace inlier {

// Makes the process' first call of the library, on one thread. oneMKL 2024.2 keeps the kind of processor in one variable,
// which the first call of any function sets twice: first to the number of the processor, then to that of the code for it.
// A second thread that calls in between takes the first number for the second; with AVX-512 on Intel that is the code of
// the lowest accuracy, in its share of one tensor: errors of 6e-9 in float64, 5e-4 in float32 (pytorch/pytorch#188792).
// REQUIRES: no other thread computes with tensors yet.
inline void SettleMathLibrary() { at::exp(at::zeros({1}, at::kFloat)); }

}  // namespace inlier

#endif  // INLIER_CORE_KERNELS_MATH_LIBRARY_H_
