// The mean of tensors of one number, as part of the autograd graph.
#ifndef INLIER_CORE_NN_SCALAR_MEAN_H_
#define INLIER_CORE_NN_SCALAR_MEAN_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "base/check.h"

namespace inlier {

class ScalarMean {
 public:
  void Add(const at::Tensor& value) {
    sum_ = sum_.defined() ? sum_.add(value) : value;
    ++count_;
  }
  // factor * the mean. REQUIRES: an Add.
  at::Tensor Times(double factor) const {
    INLIER_CHECK(count_ > 0);
    return sum_.mul(factor / static_cast<double>(count_));
  }

 private:
  at::Tensor sum_;
  std::int64_t count_ = 0;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_SCALAR_MEAN_H_
