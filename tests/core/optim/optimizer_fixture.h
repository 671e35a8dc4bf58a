// Parameters and gradients for the tests of optimizers.
#ifndef INLIER_TESTS_CORE_OPTIM_OPTIMIZER_FIXTURE_H_
#define INLIER_TESTS_CORE_OPTIM_OPTIMIZER_FIXTURE_H_

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/optim/optimizer.h"

namespace inlier {

inline at::Tensor Constant(double value) { return at::full({3}, value, at::kDouble).set_requires_grad(true); }

inline void SetGradient(at::Tensor& parameter, double value) {
  parameter.mutable_grad() = at::full({3}, value, at::kDouble);
}

inline double First(const at::Tensor& tensor) { return tensor.detach()[0].item<double>(); }

// Three updates of a decayed parameter and of one that is not, made by `make(groups)`, against a formula in double:
// formula(i, t, rate, gradient, value) is parameter i after update t.
template <typename Make, typename Formula>
void ExpectFormulaOf(const std::vector<double>& rates, double tolerance, Make make, Formula formula) {
  at::Tensor parameters[2] = {Constant(0.5), Constant(-0.25)};
  auto optimizer = make(ParameterGroups{{{"w.weight", parameters[0]}}, {{"w.bias", parameters[1]}}});
  double expected[2] = {0.5, -0.25};
  for (int t = 1; t <= 3; ++t) {
    const double gradients[2] = {0.3 * t, -0.7 / t};
    for (int i = 0; i < 2; ++i) SetGradient(parameters[i], gradients[i]);
    optimizer.Step(rates[t - 1]);
    for (int i = 0; i < 2; ++i) {
      expected[i] = formula(i, t, rates[t - 1], gradients[i], expected[i]);
      EXPECT_NEAR(First(parameters[i]), expected[i], tolerance) << "update " << t;
      EXPECT_EQ(First(parameters[i].grad()), gradients[i]) << "the gradient was changed";
    }
  }
}

// Numbers that look random and are the same on every machine: a function of `salt`.
inline at::Tensor Scattered(std::vector<std::int64_t> shape, double salt,
                            at::ScalarType dtype = at::kDouble) {
  std::int64_t count = 1;
  for (const std::int64_t length : shape) count *= length;
  const at::Tensor places = at::arange(1, count + 1, at::kDouble);
  return (places * (salt + 1.7)).sin().mul(places.mul(salt * 0.3 + 0.9).cos()).reshape(shape).to(dtype);
}

// A small model: a table, two linear weights that read and write the residual stream (width 8), a bias, a
// gain.
class SmallNetwork {
 public:
  explicit SmallNetwork(at::ScalarType dtype = at::kDouble) : dtype_(dtype) {
    at::set_num_threads(1);  // For so little, threads would only wait for each other.
    Add("model.embed_tokens.weight", {11, 8});
    Add("model.layers.0.mlp.up_proj.weight", {12, 8});
    Add("model.layers.0.mlp.down_proj.weight", {8, 12});
    Add("model.layers.0.mlp.down_proj.bias", {8});
    Add("model.norm.weight", {8});
  }

  const std::vector<NamedParameter>& parameters() const { return parameters_; }
  // All in one group, decayed.
  ParameterGroups groups() const { return {.decayed = parameters_, .not_decayed = {}}; }

  // Gradients that depend on `update` and on the parameters' values.
  void FillGradients(int update) {
    double salt = 0.37 * update;
    for (auto& [name, parameter] : parameters_) {
      std::vector<std::int64_t> shape = parameter.sizes().vec();
      parameter.mutable_grad() = Scattered(shape, salt += 0.11, dtype_) + 0.3 * parameter.detach();
    }
  }

  void Run(Optimizer& optimizer, int first_update, int updates, double learning_rate = 0.05) {
    for (int update = first_update; update < first_update + updates; ++update) {
      FillGradients(update);
      optimizer.Step(learning_rate);
    }
  }

  void CopyFrom(const SmallNetwork& other) {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      parameters_[i].second.detach().copy_(other.parameters_[i].second.detach());
  }

  // The largest difference of a parameter.
  double DistanceFrom(const SmallNetwork& other) const {
    double distance = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor difference = parameters_[i].second.detach() - other.parameters_[i].second.detach();
      distance = std::max(distance, difference.abs().max().item<double>());
    }
    return distance;
  }

 private:
  void Add(const std::string& name, std::vector<std::int64_t> shape) {
    const double salt = static_cast<double>(parameters_.size()) * 0.21;
    parameters_.emplace_back(name, Scattered(std::move(shape), salt, dtype_).set_requires_grad(true));
  }

  const at::ScalarType dtype_;
  std::vector<NamedParameter> parameters_;
};

inline std::map<std::string, at::Tensor> CopyOfState(const Optimizer& optimizer) {
  std::map<std::string, at::Tensor> copy;
  for (const auto& [name, tensor] : optimizer.State()) copy[name] = tensor.clone();
  return copy;
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_OPTIM_OPTIMIZER_FIXTURE_H_
