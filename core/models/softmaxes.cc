#include "core/models/softmaxes.h"

#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "base/status.h"
#include "core/models/layer_options.h"
#include "spec/trial/data_kind.h"

namespace inlier {

RowSum RowSumFromSpec(v1::ScriptSoftmaxSpec::RowSum sum) {
  switch (sum) {
    case v1::ScriptSoftmaxSpec::ONE:
      return RowSum::kOne;
    case v1::ScriptSoftmaxSpec::AT_MOST_ONE:
      return RowSum::kAtMostOne;
    case v1::ScriptSoftmaxSpec::ANY:
      break;
  }
  return RowSum::kAny;
}

namespace {

// A softmax that LibTorch's operations compute: for one without kernels and weights of its own.
SoftmaxOptions Function(std::function<at::Tensor(const at::Tensor& scores, const RowInfo& row)> function) {
  return {.kind = SoftmaxOptions::Kind::kFunction, .function = std::move(function)};
}

// relu(s_i) / n^power, n the keys that the query sees.   (Wortsman et al. 2023, section 3)
at::Tensor ReluAttention(const at::Tensor& scores, const RowInfo& row, double power) {
  const at::Tensor tokens = row.visible.narrow(-1, 0, row.visible.size(-1) - row.added_keys);
  const at::Tensor n = tokens.sum(-1, /*keepdim=*/true).clamp_min(1).to(scores.scalar_type());
  return at::relu(scores) / n.pow(power) * row.visible;
}

absl::StatusOr<SoftmaxOptions> ScriptFromSpec(const v1::ScriptSoftmaxSpec& spec, std::int64_t heads,
                                              const DataRoots& roots) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Script> script,
                   ReadScript("attention.softmax.script.file", spec.file(), roots));
  RETURN_IF_ERROR(CheckSoftmaxScript(*script, RowSumFromSpec(spec.row_sum()), heads));
  SoftmaxOptions options = Function([script](const at::Tensor& scores, const RowInfo& row) {
    return (*script)({scores, row.visible}).contiguous();
  });
  options.script = script;
  return options;
}

absl::StatusOr<SoftmaxOptions> ClippedFromSpec(const v1::TrialSpec& spec) {
  const v1::ClippedSoftmaxSpec& clipped = spec.attention().softmax().clipped();
  SoftmaxOptions options{.kind = SoftmaxOptions::Kind::kClipped, .zeta = clipped.zeta()};
  switch (clipped.lower_case()) {
    case v1::ClippedSoftmaxSpec::kGamma:
      options.gamma = clipped.gamma();
      break;
    case v1::ClippedSoftmaxSpec::kAlpha:
      options.gamma = -clipped.alpha() / SequenceLength(spec);
      break;
    case v1::ClippedSoftmaxSpec::LOWER_NOT_SET:
      return InvalidField("attention.softmax.clipped", "gamma or alpha must be given");
  }
  return options;
}

SoftmaxOptions NcsFromSpec(const v1::TrialSpec& spec) {
  using RowLength = SoftmaxOptions::RowLength;
  const v1::NcsSpec& ncs = spec.attention().softmax().ncs();
  SoftmaxOptions options{.kind = SoftmaxOptions::Kind::kNcs, .zeta = ncs.zeta(), .beta = ncs.beta()};
  options.configured_length = SequenceLength(spec);
  switch (ncs.length()) {
    case v1::NcsSpec::CONFIGURED:
      options.length = RowLength::kConfigured;
      break;
    case v1::NcsSpec::RUN:
      options.length = RowLength::kRun;
      break;
    case v1::NcsSpec::UNPADDED:
      options.length = RowLength::kUnpadded;
      break;
    case v1::NcsSpec::ROW:
      options.length = RowLength::kRow;
      break;
  }
  return options;
}

}  // namespace

absl::StatusOr<SoftmaxOptions> SoftmaxFromSpec(const v1::TrialSpec& spec, std::int64_t heads,
                                               const DataRoots& roots) {
  const v1::SoftmaxSpec& softmax = spec.attention().softmax();
  switch (softmax.kind_case()) {
    case v1::SoftmaxSpec::kVanilla:
    case v1::SoftmaxSpec::KIND_NOT_SET:
      break;
    case v1::SoftmaxSpec::kClipped:
      return ClippedFromSpec(spec);
    case v1::SoftmaxSpec::kNcs:
      return NcsFromSpec(spec);
    case v1::SoftmaxSpec::kSoftmaxN:
      return SoftmaxOptions{.kind = SoftmaxOptions::Kind::kNullKey,
                            .null_score = std::log(softmax.softmax_n().n())};
    case v1::SoftmaxSpec::kSink:
      return SoftmaxOptions{.kind = SoftmaxOptions::Kind::kSink};
    case v1::SoftmaxSpec::kSoftpick:
      return SoftmaxOptions{.kind = SoftmaxOptions::Kind::kSoftpick, .epsilon = softmax.softpick().epsilon()};
    case v1::SoftmaxSpec::kSigmoid:
      return SoftmaxOptions{.kind = SoftmaxOptions::Kind::kSigmoid};
    case v1::SoftmaxSpec::kRelu:
      return Function([power = softmax.relu().power()](const at::Tensor& scores, const RowInfo& row) {
        return ReluAttention(scores, row, power);
      });
    case v1::SoftmaxSpec::kScript:
      return ScriptFromSpec(softmax.script(), heads, roots);
  }
  return SoftmaxOptions();
}

}  // namespace inlier
