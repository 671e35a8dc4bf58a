// An update of an orthogonal matrix that keeps it orthogonal: gradient descent along Cayley transforms.
//   (Li et al. 2020, "Efficient Riemannian optimization on the Stiefel manifold via the Cayley transform", algorithm 1, without
//   momentum; SGDG in the code of Liu et al. 2025, SpinQuant)
//
// R (n, n) orthogonal; V = -(dL/dR)^T; X = R^T:
//
//   W' = V R - X (R V R) / 2,   W = W' - W'^T,   a = min(learning rate, 1 / ||W||_1)
//   Y = X + a V, then five times Y = X + a W (X + Y) / 2;   the new R is Y^T
//
// which is a fixed-point iteration for the transform (1 - a W / 2)^-1 (1 + a W / 2) X. Where 1 / ||W||_1 decides, five iterations
// leave |R^T R - 1| at some 1e-3: see Orthonormalised (orthogonal_matrix.h). SGDG divides each row by its norm before an update,
// and now and then orthonormalises them.
#ifndef INLIER_CORE_OPTIM_CAYLEY_SGD_H_
#define INLIER_CORE_OPTIM_CAYLEY_SGD_H_

#include <ATen/core/Tensor.h>

namespace inlier {

// The new R, of the shape, dtype and device of both. Records no gradients, and does not wait for the device.
at::Tensor CayleySgdUpdate(const at::Tensor& matrix, const at::Tensor& gradient, double learning_rate);

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_CAYLEY_SGD_H_
