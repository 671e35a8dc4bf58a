#include "core/nn/attention/script.h"

#include <ATen/core/interned_strings.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/version.h>

#include <algorithm>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr char kSave[] = "save a function f as torch.jit.script(f).save(path)";

absl::Status ProblemOf(const std::string& name, std::string_view what, std::string_view remedy) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", std::string(what), "; ", std::string(remedy)));
}

// What an exception of LibTorch says, in one line: without its own stack, and with that of the code as it was written.
std::string TextOf(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  std::string text = of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
  if (const std::size_t written = text.rfind("original code"); written != std::string::npos)
    text.erase(0, written);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return std::string(absl::StripAsciiWhitespace(text));
}

// The first operation, the blocks of loops and branches included, that reads or writes more than its operands, or is known
// only when it runs. Empty without one.
std::string OutsideOperation(const torch::jit::Block& block) {
  for (const torch::jit::Node* node : block.nodes()) {
    const c10::Symbol kind = node->kind();
    const std::string_view name = kind.toQualString();
    const bool outside = (!kind.is_aten() && !kind.is_prim()) || name == "aten::save" ||
                         name == "aten::from_file" || name == "aten::manual_seed" ||
                         name == "prim::SetAttr" || name == "prim::Print" || name == "prim::CallMethod" ||
                         name == "prim::CallFunction" || name == "prim::fork" ||
                         name.starts_with("prim::rpc");
    if (outside) return std::string(name);
    for (const torch::jit::Block* inner : node->blocks()) {
      if (const std::string found = OutsideOperation(*inner); !found.empty()) return found;
    }
  }
  return "";
}

// True where the file has code that LibTorch would run while it reads the file.
bool RunsWhenRead(const std::string& bytes) {
  std::istringstream file(bytes);
  caffe2::serialize::PyTorchStreamReader reader(&file);
  for (const std::string& record : reader.getAllRecords()) {
    if (!record.starts_with("code/")) continue;
    const auto [data, size] = reader.getRecord(record);
    const std::string_view code(static_cast<const char*>(data.get()), size);
    if (code.find("__setstate__") != code.npos) return true;
  }
  return false;
}

std::vector<Script::Named> NamedIn(const auto& tensors) {
  std::vector<Script::Named> result;
  for (const auto& tensor : tensors) result.emplace_back(tensor.name, tensor.value);
  return result;
}

}  // namespace

Script::Script(std::string name, const torch::jit::Module& module)
    : name_(std::move(name)), module_(std::make_shared<torch::jit::Module>(module)) {}

absl::Status Script::Problem(std::string_view what, std::string_view remedy) const {
  return ProblemOf(name_, what, remedy.empty() ? "correct the function and save it again" : remedy);
}

absl::StatusOr<std::shared_ptr<const Script>> Script::Load(std::string_view bytes, const std::string& name) {
  try {
    if (RunsWhenRead(std::string(bytes)))
      return ProblemOf(name, "the module has a method __setstate__, which runs before it can be checked",
                       "leave it out");
    std::istringstream file{std::string(bytes)};
    torch::jit::Module module = torch::jit::load(file, c10::kCPU);
    module.eval();
    if (!module.find_method("forward"))
      return ProblemOf(name, "the module has no method forward", "give it one, which is the function");
    const std::shared_ptr<torch::jit::Graph> graph = module.get_method("forward").graph()->copy();
    torch::jit::Inline(*graph);
    if (const std::string outside = OutsideOperation(*graph->block()); !outside.empty()) {
      return ProblemOf(
          name, absl::StrCat("the function has the operation ", outside, ", which reaches outside of it"),
          "compute the result of the arguments, parameters and buffers alone, with torch's own operations");
    }
    for (const auto& tensors : {NamedIn(module.named_parameters()), NamedIn(module.named_buffers())}) {
      for (const auto& [path, tensor] : tensors)
        if (tensor.is_floating_point()) tensor.set_data(tensor.to(at::kFloat));
    }
    return std::shared_ptr<const Script>(new Script(name, module));
  } catch (const std::exception& error) {
    return ProblemOf(
        name, absl::StrCat("is no TorchScript that LibTorch ", TORCH_VERSION, " can read: ", TextOf(error)),
        absl::StrCat(kSave, ", with a torch that is no newer"));
  }
}

std::shared_ptr<const Script> Script::Copy() const {
  const c10::NoGradGuard leaves;
  return std::shared_ptr<const Script>(new Script(name_, module_->deepcopy()));
}

at::Tensor Script::operator()(const std::vector<at::Tensor>& inputs) const {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const torch::jit::GraphOptimizerEnabledGuard as_written(false);
  try {
    return module_->get_method("forward")({inputs.begin(), inputs.end()}).toTensor();
  } catch (const std::exception& error) {
    throw ScriptError(absl::StrCat(name_, ": the function failed: ", TextOf(error)));
  }
}

std::vector<Script::Named> Script::parameters() const { return NamedIn(module_->named_parameters()); }

std::vector<Script::Named> Script::buffers() const { return NamedIn(module_->named_buffers()); }

}  // namespace inlier
