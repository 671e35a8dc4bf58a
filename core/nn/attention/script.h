// A function of a user's own, saved as TorchScript: the softmax or the gate of an attention.
//
// It runs operation by operation, in evaluation mode and outside of autocast: TorchScript's optimizations begin after some calls,
// so that a result would depend on how often the function has run.
//
// Thread safety: const methods may be called by several threads at once.
#ifndef INLIER_CORE_NN_ATTENTION_SCRIPT_H_
#define INLIER_CORE_NN_ATTENTION_SCRIPT_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace torch::jit {
struct Module;
}

namespace inlier {

// A script has thrown. what() names it.
class ScriptError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Script {
 public:
  // A parameter or a buffer, by its name in the script.
  using Named = std::pair<std::string, at::Tensor>;

  // `bytes`: of a TorchScript file. `name` begins every message: "attention.softmax.script.file: /scripts/mine.pt". InvalidArgument
  // for other content, that of a newer LibTorch, and a function that reaches outside of itself or keeps a state between calls.
  static absl::StatusOr<std::shared_ptr<const Script>> Load(std::string_view bytes, const std::string& name);

  // Another one with parameters and buffers of its own.
  std::shared_ptr<const Script> Copy() const;

  // Throws ScriptError.
  at::Tensor operator()(const std::vector<at::Tensor>& inputs) const;

  // The tensors that it reads at each call, in float32 where they are real numbers.
  std::vector<Named> parameters() const;
  std::vector<Named> buffers() const;

  // "<name>: <what>; <remedy>".
  absl::Status Problem(std::string_view what, std::string_view remedy = "") const;

 private:
  Script(std::string name, const torch::jit::Module& module);

  std::string name_;
  std::shared_ptr<torch::jit::Module> module_;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_ATTENTION_SCRIPT_H_
