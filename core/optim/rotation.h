// A fixed orthogonal change of basis of one tensor.
//
// It acts on one axis of the tensor, on several in sequence, or on the whole tensor read row-major as a
// vector. On axis a with the matrix Q:
//
//   y[.., i, ..] = sum_j Q[i, j] x[.., j, ..]     of a matrix: Q X on axis 0, X Q^T on axis 1
//
// Q is dense or block diagonal; either way one batched product an axis.
#ifndef INLIER_CORE_OPTIM_ROTATION_H_
#define INLIER_CORE_OPTIM_ROTATION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace inlier {

// Q on one axis: equal blocks along the diagonal, and perhaps a smaller one at its end.
struct AxisRotation {
  std::int64_t axis;
  at::Tensor blocks;  // (count, size, size); (1, n, n) when Q is dense.
  at::Tensor rest;    // (r, r), or undefined.

  static AxisRotation Dense(std::int64_t axis, const at::Tensor& matrix);
};

class Rotation {
 public:
  // Of the tensor's axes, in this order.
  explicit Rotation(std::vector<AxisRotation> axes);
  // Of the whole tensor, row-major, as a vector of n numbers; `matrix` is (n, n).
  static Rotation OfVector(const at::Tensor& matrix);

  // `x` in the new basis, and back; contiguous, of x's shape, type and device.
  // REQUIRES: the matrices have x's type and device (To) and fit its shape.
  at::Tensor Apply(const at::Tensor& x) const;
  at::Tensor ApplyInverse(const at::Tensor& x) const;

  // The same rotation with its matrices in the type and on the device of `like`.
  Rotation To(const at::Tensor& like) const;

  // One number an axis, float64 on the CPU: cos(1 … n) . Q sin(1 … n). It differs by about sqrt(n) between
  // different rotations, by rounding errors between LAPACKs.
  at::Tensor Checksum() const;

 private:
  at::Tensor Turn(const at::Tensor& x, bool inverse) const;

  std::vector<AxisRotation> axes_;
  bool of_vector_ = false;
};

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_ROTATION_H_
