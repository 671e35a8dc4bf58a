// Dropout of a forward pass: x * factor, factor 0 or 1 / (1 - p).
#ifndef INLIER_CORE_NN_DROPOUT_H_
#define INLIER_CORE_NN_DROPOUT_H_

#include "core/nn/forward_context.h"

namespace inlier {

// x itself outside of training and for p = 0. x: as many rows for each example of the pass, one after the other. Which
// elements stay depends only on the context's seed, the number of this dropout in the pass, and the element's place in
// the micro-batch (core/kernels/dropout.h); on a GPU with kReference LibTorch draws.
at::Tensor DropOut(const at::Tensor& x, double p, const ForwardContext& context);

}  // namespace inlier

#endif  // INLIER_CORE_NN_DROPOUT_H_
