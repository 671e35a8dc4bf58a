// A place in a model's tree of parameter names.
//
// Layers are plain structs of tensors; a scope gives their parameters the names of the state dict, so that
// code need not be nested as deeply as names are. Child("encoder.layer.0") creates missing containers on the
// way; Create("weight", …) registers a parameter. The returned tensors remain the model's own through
// Module::to, zero_grad and optimizer steps.
//
// Lifetime: the model that owns the tree outlives the scope.
#ifndef INLIER_CORE_NN_PARAMETER_SCOPE_H_
#define INLIER_CORE_NN_PARAMETER_SCOPE_H_

#include <torch/nn/module.h>

#include <string>

#include "core/nn/attention/script.h"

namespace inlier {

class ParameterScope {
 public:
  // The root of `model`'s names.
  explicit ParameterScope(torch::nn::Module& model) : module_(&model) {}

  // The scope at `path` below this one: names joined by dots; the empty path is this scope.
  ParameterScope Child(const std::string& path) const;

  // A new float32 parameter of zeros. REQUIRES: `name` has no dot and is new here.
  at::Tensor Create(const std::string& name, at::IntArrayRef shape) const;

  // Makes the script's own parameters and buffers those of the model, under their names below this scope.
  void Adopt(const Script& script) const;

  // The full name of this scope; also the site under which its tensors are tapped.
  const std::string& path() const { return path_; }
  // The full name of a child.
  std::string Name(const std::string& below) const { return path_.empty() ? below : path_ + "." + below; }

 private:
  torch::nn::Module* module_;
  std::string path_;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_PARAMETER_SCOPE_H_
