#include "core/layer_cuda/adam.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <type_traits>

#include "core/cuda/adam.h"
#include "core/layer_cuda/launch.h"
#include "core/layer_cuda/layer_parts.h"

namespace inlier::layer::gpu {
namespace {

using Parameter = cuda::AdamParameter<float>;

bool IsPlain(const at::Tensor& x) { return Holds(x) && x.scalar_type() == at::kFloat && x.is_contiguous(); }

// `count` of T as bytes on the device, without waiting for the copy.
template <typename T>
at::Tensor Upload(const std::vector<T>& items, const at::Tensor& like) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::int64_t bytes = static_cast<std::int64_t>(items.size() * sizeof(T));
  const at::Tensor host =
      at::empty({bytes}, at::TensorOptions().dtype(at::kByte).pinned_memory(like.is_cuda()));
  std::memcpy(host.mutable_data_ptr(), items.data(), static_cast<std::size_t>(bytes));
  return host.to(like.device(), /*non_blocking=*/true);
}

}  // namespace

bool TakesAdam(const AdamItem& item) {
  return IsPlain(item.parameter) && IsPlain(item.first_moment) && IsPlain(item.second_moment);
}

void AdamStep(const AdamOptions& options, const std::vector<AdamItem>& items, const at::Tensor& numbers,
              at::Tensor& stretches) {
  std::vector<Parameter> parameters;
  std::vector<std::int64_t> sizes;
  std::vector<at::Tensor> gradients;  // Until the launch.
  for (const AdamItem& item : items) {
    gradients.push_back(item.gradient.contiguous());
    sizes.push_back(item.parameter.numel());
    parameters.push_back({.p = Data<float>(item.parameter),
                          .m = Data<float>(item.first_moment),
                          .v = Data<float>(item.second_moment),
                          .g = Data<float>(gradients.back()),
                          .copy = nullptr,
                          .size = sizes.back(),
                          .weight_decay = static_cast<float>(item.weight_decay)});
  }
  if (!stretches.defined()) stretches = Upload(cuda::AdamBlocks(sizes), numbers);
  const at::Tensor table = Upload(parameters, numbers);
  static_assert(sizeof(cuda::AdamNumbers) == 3 * sizeof(float));
  Check(cuda::AdamStep<float>({.beta1 = options.beta1,
                               .beta2 = options.beta2,
                               .epsilon = options.epsilon,
                               .decoupled = options.decoupled},
                              Data<Parameter>(table), Data<cuda::AdamBlock>(stretches),
                              stretches.numel() / static_cast<std::int64_t>(sizeof(cuda::AdamBlock)),
                              Data<cuda::AdamNumbers>(numbers), StreamOf(numbers)),
        "AdamStep");
}

}  // namespace inlier::layer::gpu
