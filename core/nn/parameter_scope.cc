#include "core/nn/parameter_scope.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace inlier {

ParameterScope ParameterScope::Child(const std::string& path) const {
  ParameterScope scope = *this;
  std::size_t start = 0;
  while (start < path.size()) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    const std::string name = path.substr(start, end - start);
    const auto children = scope.module_->named_children();
    const std::shared_ptr<torch::nn::Module>* known = children.find(name);
    scope.module_ =
        (known != nullptr ? *known
                          : scope.module_->register_module(name, std::make_shared<torch::nn::Module>()))
            .get();
    scope.path_ = scope.Name(name);
    start = end + 1;
  }
  return scope;
}

at::Tensor ParameterScope::Create(const std::string& name, at::IntArrayRef shape) const {
  return module_->register_parameter(name, at::zeros(shape, at::kFloat));
}

void ParameterScope::Adopt(const Script& script) const {
  // The module at the names before the last dot, and the last name.
  const auto place = [this](const std::string& path) {
    const std::size_t dot = path.rfind('.');
    return std::pair(dot == std::string::npos ? module_ : Child(path.substr(0, dot)).module_,
                     path.substr(dot == std::string::npos ? 0 : dot + 1));
  };
  for (const auto& [path, tensor] : script.parameters()) {
    const auto [module, name] = place(path);
    module->register_parameter(name, tensor);
  }
  for (const auto& [path, tensor] : script.buffers()) {
    const auto [module, name] = place(path);
    module->register_buffer(name, tensor);
  }
}

}  // namespace inlier
