// Ranges that are learned with the model: LSQ (Esser et al. 2020, "Learned step size quantization").
//
//   v' = s round(clip(v / s, -Q_N, Q_P)),  Q_N = 2^(b-1), Q_P = 2^(b-1) - 1                                  (eq. 1, 2)
//   dv'/ds = round(v / s) - v / s inside the range, -Q_N below it and Q_P above it                           (eq. 3)
//   dv'/dv = 1 inside the range, else 0                                                                      (eq. 5)
//   dL/ds is multiplied by 1 / sqrt(N Q_P), N the number of values that a scale is of                        (2.2)
//   s = 2 mean|v| / sqrt(Q_P) at the start                                                                   (2.1)
//
// N counts the entries of a weight, and of an input its features. All are signed here; the paper has unsigned ranges behind a
// ReLU. What is trained is log s (Jain et al. 2020, "Trained quantization thresholds", whose thresholds are powers of two): the
// steps of Adam do not know how small an s is, and a rate that suits weights would carry s through 0.
#ifndef INLIER_CORE_TRAIN_LOW_PRECISION_LEARNED_SCALE_H_
#define INLIER_CORE_TRAIN_LOW_PRECISION_LEARNED_SCALE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/optim/optimizer.h"

namespace inlier {

// v' above, differentiable in `v` and `scale`, (1): same shape and dtype as `v`. `count`: N.
at::Tensor RoundWithLearnedScale(const at::Tensor& v, const at::Tensor& scale, int bits, std::int64_t count);

// s at the start, (1), in float32 at least; of zeros a tiny one.
at::Tensor InitialScale(const at::Tensor& v, int bits);

// The logarithms of the scales, by name: leaves of autograd of shape (1). One that is not known yet is NaN.
class LearnedScales {
 public:
  // The scale of `v`, whose name ends with ".log_scale". REQUIRES: the name is new.
  void Add(const std::string& name, int bits, const at::Tensor& v);
  // The same of a tensor that is seen later, on the device of `like`.
  void AddUnseen(const std::string& name, const at::Tensor& like);

  // v' of the scale of that name, which begins with this `v` where it is not known yet.
  at::Tensor Round(const std::string& name, const at::Tensor& v, int bits, std::int64_t count);

  std::vector<NamedParameter> Parameters() const;

 private:
  struct Entry {
    at::Tensor log_scale;
    bool known = false;  // Not NaN, as far as this process has looked.
  };
  std::map<std::string, Entry> entries_;
};

// `inner`, which updates `scales` too, with the scales themselves as a part of its state.
std::unique_ptr<Optimizer> WithScalesInState(std::unique_ptr<Optimizer> inner,
                                             std::vector<NamedParameter> scales);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_LOW_PRECISION_LEARNED_SCALE_H_
