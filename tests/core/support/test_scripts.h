// TorchScript files for tests, made without Python.
#ifndef INLIER_TESTS_CORE_SUPPORT_TEST_SCRIPTS_H_
#define INLIER_TESTS_CORE_SUPPORT_TEST_SCRIPTS_H_

#include <torch/csrc/jit/api/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>

namespace inlier {

// The bytes of a module with this forward, whose lines are indented; `fill` adds parameters and buffers before.
inline std::string ScriptBytes(const std::string& arguments, const std::string& body,
                               const std::function<void(torch::jit::Module&)>& fill = {}) {
  torch::jit::Module module("Script");
  module.register_attribute("training", c10::BoolType::get(), true);
  if (fill) fill(module);
  module.define("def forward(self, " + arguments + "):\n" + body);
  std::ostringstream bytes;
  module.save(bytes);
  return bytes.str();
}
inline std::string SoftmaxBytes(const std::string& body,
                                const std::function<void(torch::jit::Module&)>& fill = {}) {
  return ScriptBytes("scores, mask", body, fill);
}

inline void AddParameter(torch::jit::Module& module, const std::string& name, const at::Tensor& value) {
  module.register_parameter(name, value.clone().set_requires_grad(true), /*is_buffer=*/false);
}

inline std::string WriteScript(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// A softmax with a rectifier, and a gate of heads of `size` features with parameters in two modules.
inline constexpr char kOwnSoftmax[] =
    "  p = torch.relu(scores) * mask\n  return p / (1.0 + p.sum(-1, keepdim=True))\n";
inline std::string OwnGateBytes(std::int64_t size) {
  torch::manual_seed(5);
  return ScriptBytes(
      "x", "  return torch.sigmoid((x * self.inner.w).sum(-1, keepdim=True) + self.b * self.scale)\n",
      [size](torch::jit::Module& module) {
        torch::jit::Module inner("Inner");
        AddParameter(inner, "w", torch::randn({1, 1, size}));
        module.register_module("inner", inner);
        AddParameter(module, "b", torch::zeros({1}));
        module.register_buffer("scale", torch::full({1}, 2.0));
      });
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_SUPPORT_TEST_SCRIPTS_H_
