// The rows of a cross-entropy over many classes, with their gradients.
#ifndef INLIER_CORE_KERNELS_CROSS_ENTROPY_H_
#define INLIER_CORE_KERNELS_CROSS_ENTROPY_H_

#include <cstdint>

#include "core/kernels/element.h"

namespace inlier::kernels {

template <typename T>
struct CrossEntropyRows {
  std::int64_t rows = 0;
  std::int64_t classes = 0;
  const Real<T>* bias = nullptr;          // (classes), added to the logits; null for none.
  const std::int64_t* targets = nullptr;  // (rows), below `classes`; a negative one is ignored.
  double label_smoothing = 0;             // e: (1 - e) * cross-entropy + e * the mean over classes of -log p.
  double gradient_scale = 1;
};

// The sum of the losses. logits (rows, classes), with a stride, are overwritten. `gradients`, their gradients times
// gradient_scale, with a stride, 0 for ignored rows; may be the logits' own memory, null for none. bias_gradient
// (classes) is added to; null for none.
template <typename T>
double CrossEntropy(const CrossEntropyRows<T>& shape, Real<T>* logits, std::int64_t stride, T* gradients,
                    std::int64_t gradient_stride, Real<T>* bias_gradient);

}  // namespace inlier::kernels

#endif  // INLIER_CORE_KERNELS_CROSS_ENTROPY_H_
