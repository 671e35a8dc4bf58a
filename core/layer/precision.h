// How the products of a training step are computed, and where the layers' parts.
#ifndef INLIER_CORE_LAYER_PRECISION_H_
#define INLIER_CORE_LAYER_PRECISION_H_

namespace inlier::layer {

enum class Products {
  kReference,  // By LibTorch's operations, gradients by its autograd.
  kFloat32,    // By fused kernels; of a model in double, in double.
  kBfloat16,   // By fused kernels: factors rounded to bfloat16, sums in float32.
};

// Where fused kernels run, and the type of their products.
enum class Place {
  kCpuFloat32,
  kCpuBfloat16,  // Depths of products are even.
  kGpuBfloat16,  // core/layer_cuda
};

}  // namespace inlier::layer

#endif  // INLIER_CORE_LAYER_PRECISION_H_
