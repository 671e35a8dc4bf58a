#include "core/nn/attention/script_checks.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr double kTolerance = 1e-3;
constexpr std::int64_t kBatch = 2, kTokens = 6;

std::string ShapeOf(at::IntArrayRef sizes) { return absl::StrCat("(", absl::StrJoin(sizes, ", "), ")"); }

at::Tensor SomeNumbers(at::IntArrayRef shape) {
  return at::randn(shape, at::make_generator<at::CPUGeneratorImpl>(1), at::kFloat);
}

// The result for `inputs`, and a second time for the equal `copies`: the function must be one of its arguments alone.
absl::StatusOr<at::Tensor> Result(const Script& script, const std::vector<at::Tensor>& inputs,
                                  const std::vector<at::Tensor>& copies) {
  try {
    const at::Tensor result = script(inputs), again = script(copies);
    if (result.sizes() != again.sizes() || !at::equal(result.nan_to_num(), again.nan_to_num()))
      return script.Problem("gives two results for the same arguments",
                            "leave out random numbers and what is kept between calls");
    return result;
  } catch (const ScriptError& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

absl::Status CheckNumbers(const Script& script, const at::Tensor& result) {
  if (result.scalar_type() != at::kFloat)
    return script.Problem(absl::StrCat("gives ", c10::toString(result.scalar_type()),
                                       " for arguments of Float; end it with .to(x.dtype)"));
  if (!result.isfinite().all().item<bool>())
    return script.Problem("gives numbers that are not finite for ordinary arguments");
  return absl::OkStatus();
}

// `sources`: what must have a part in the result, with its name.
absl::Status CheckGradients(const Script& script, const at::Tensor& result,
                            const std::vector<Script::Named>& sources) {
  if (sources.empty()) return absl::OkStatus();
  std::vector<at::Tensor> gradients(sources.size());
  if (result.requires_grad()) {
    std::vector<at::Tensor> tensors;
    for (const auto& [name, tensor] : sources) tensors.push_back(tensor);
    gradients = torch::autograd::grad({(result * SomeNumbers(result.sizes())).sum()}, tensors, {},
                                      /*retain_graph=*/true, /*create_graph=*/false, /*allow_unused=*/true);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string& name = sources[i].first;
    if (!gradients[i].defined())
      return script.Problem(absl::StrCat("gives no gradient for ", name),
                            "use it in operations that have one, without detach, item or no_grad");
    if (!gradients[i].isfinite().all().item<bool>())
      return script.Problem(absl::StrCat("gives a gradient for ", name, " that is not finite"));
  }
  return absl::OkStatus();
}

// What backward throws is the function's fault too.
absl::Status CheckGradientsSafely(const Script& script, const at::Tensor& result,
                                  const std::vector<Script::Named>& sources) {
  try {
    return CheckGradients(script, result, sources);
  } catch (const std::exception& error) {
    return script.Problem(absl::StrCat("its gradient cannot be computed: ", error.what()));
  }
}

// With one shape of the mask, (B, 1, T, T) or (1, 1, 1, T).
absl::Status CheckSoftmaxUnder(const at::Tensor& mask, const Script& script, RowSum declared,
                               std::int64_t heads) {
  const std::vector<std::int64_t> shape = {kBatch, heads, kTokens, kTokens};
  const at::Tensor scores =
      SomeNumbers(shape).masked_fill(mask.logical_not(), std::numeric_limits<float>::lowest());
  const at::Tensor leaf = scores.clone().set_requires_grad(true);
  ASSIGN_OR_RETURN(const at::Tensor result,
                   Result(script, {leaf * 1, mask.clone()}, {scores.clone(), mask.clone()}));
  if (result.sizes() != at::IntArrayRef(shape))
    return script.Problem(absl::StrCat("gives probabilities of shape ", ShapeOf(result.sizes()),
                                       " for scores of ", ShapeOf(shape)),
                          "give one probability for each score");
  RETURN_IF_ERROR(CheckNumbers(script, result));
  const at::Tensor hidden = at::abs(result).masked_fill(mask, 0).amax();
  if (hidden.item<float>() > 0)
    return script.Problem(absl::StrCat("gives ", hidden.item<float>(), " where the mask hides a key"),
                          "set those to zero: p.masked_fill(~mask, 0.0)");
  if (const std::string problem = RowSumProblem(result.sum(-1), declared); !problem.empty())
    return script.Problem(problem, "correct the function, or declare row_sum ANY, which bounds no row");
  return CheckGradientsSafely(script, result, {{"scores", leaf}});
}

}  // namespace

std::string RowSumProblem(const at::Tensor& sums, RowSum declared) {
  if (sums.numel() == 0) return "";
  const double least = sums.min().item<double>(), most = sums.max().item<double>();
  const bool finite = sums.isfinite().all().item<bool>();
  const double lower = declared == RowSum::kOne ? 1 : 0;
  if (finite && (declared == RowSum::kAny || (least >= lower - kTolerance && most <= 1 + kTolerance)))
    return "";
  const char* wanted = declared == RowSum::kOne         ? "ONE: 1"
                       : declared == RowSum::kAtMostOne ? "AT_MOST_ONE: from 0 to 1"
                                                        : "ANY: finite";
  return absl::StrCat("rows sum to ", least, finite ? absl::StrCat(" up to ", most) : " or to no number",
                      ", and row_sum is ", wanted);
}

absl::Status CheckSoftmaxScript(const Script& script, RowSum declared, std::int64_t heads) {
  const at::AutoGradMode gradients(true);
  if (const auto parameters = script.parameters(); !parameters.empty())
    return script.Problem(
        absl::StrCat("has the parameter ", parameters[0].first, ", and a softmax trains none"),
        "make it a buffer (register_buffer), or use a gate");
  // The second sequence ends after four tokens.
  at::Tensor causal = at::ones({kBatch, 1, kTokens, kTokens}, at::kBool).tril();
  causal[1].slice(-1, 4).fill_(false);
  RETURN_IF_ERROR(CheckSoftmaxUnder(causal, script, declared, heads));
  return CheckSoftmaxUnder(at::ones({1, 1, 1, kTokens}, at::kBool), script, declared, heads);
}

absl::Status CheckGateScript(const Script& script, std::int64_t heads, std::int64_t head_size) {
  const at::AutoGradMode gradients(true);
  const at::Tensor x = SomeNumbers({kBatch, kTokens, heads, head_size}),
                   leaf = x.clone().set_requires_grad(true);
  std::vector<Script::Named> sources = script.parameters();
  for (const auto& [name, parameter] : sources) {
    if (!parameter.requires_grad() || !parameter.is_floating_point())
      return script.Problem(
          absl::StrCat("its parameter ", name, " needs no gradient, and parameters are trained"),
          "make it a buffer (register_buffer)");
  }
  if (sources.empty()) sources = {{"x", leaf}};
  ASSIGN_OR_RETURN(const at::Tensor result, Result(script, {leaf * 1}, {x.clone()}));
  const std::vector<std::int64_t> by_head = {kBatch, kTokens, heads, 1};
  if (result.sizes() != at::IntArrayRef(by_head) && result.sizes() != x.sizes())
    return script.Problem(
        absl::StrCat("gives gates of shape ", ShapeOf(result.sizes()), " for x of ", ShapeOf(x.sizes())),
        absl::StrCat("give ", ShapeOf(by_head), ", one a head, or the shape of x"));
  RETURN_IF_ERROR(CheckNumbers(script, result));
  const float least = result.min().item<float>(), most = result.max().item<float>();
  if (least < -kTolerance || most > 1 + kTolerance)
    return script.Problem(
        absl::StrCat("gives gates from ", least, " to ", most),
        "keep them from 0 to 1, as torch.sigmoid does; attention.gate.output_factor scales them");
  return CheckGradientsSafely(script, result, sources);
}

}  // namespace inlier
