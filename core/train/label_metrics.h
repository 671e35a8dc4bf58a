// The metrics of GLUE: how well predicted classes or numbers agree with the right ones.   (Wang et al. 2019)
//
// All of them on the CPU in double; inputs are vectors of equal length N, as prediction and truth.
#ifndef INLIER_CORE_TRAIN_LABEL_METRICS_H_
#define INLIER_CORE_TRAIN_LABEL_METRICS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace inlier {

// 2 tp / (2 tp + fp + fn). Two classes: of class 1; more: the mean over the classes that occur on either
// side. 0 for a class without a true positive. (N) int64, in [0, classes).
double F1(const at::Tensor& predicted, const at::Tensor& truth, std::int64_t classes);

// Matthews' correlation of the confusion matrix C (Gorodkin 2004), for two classes the usual one:
// (c s - sum_k p_k t_k) / sqrt((s^2 - sum p_k^2) (s^2 - sum t_k^2)), c correct ones, s all, p_k predicted and
// t_k true ones of class k. 0 where either side has one class only. (N) int64, in [0, classes).
double MatthewsCorrelation(const at::Tensor& predicted, const at::Tensor& truth, std::int64_t classes);

// Linear correlation; NaN where a side does not vary, or N < 2. (N) floating point.
double PearsonCorrelation(const at::Tensor& predicted, const at::Tensor& truth);

// Pearson's of the ranks; equal values share the mean of their ranks. (N) floating point.
double SpearmanCorrelation(const at::Tensor& predicted, const at::Tensor& truth);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_LABEL_METRICS_H_
