// Rounds the tensors `weight` (out, in) and `input` (…, in) of a safetensors file as a linear of a quantized model:
//   round_tensors SPEC.json IN.safetensors OUT.safetensors …      SPEC is a QuantizationSpec of absmax or zeropoint.
// Several specs and files follow each other.
#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "core/io/safetensors.h"
#include "core/quant/linear_quantization.h"

namespace inlier {
namespace {

absl::Status Round(const std::string& spec_path, const std::string& in, const std::string& out) {
  std::ifstream file(spec_path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  v1::QuantizationSpec spec;
  if (!google::protobuf::util::JsonStringToMessage(text, &spec).ok())
    return absl::InvalidArgumentError(spec_path + ": no QuantizationSpec as JSON");
  absl::StatusOr<std::unique_ptr<LinearQuantization>> quantization = LinearQuantization::Create(spec);
  if (!quantization.ok()) return quantization.status();
  (*quantization)->Freeze();
  const absl::StatusOr<TensorMap> tensors = LoadSafetensors(in);
  if (!tensors.ok()) return tensors.status();
  const at::Tensor weight = (*quantization)->OnLinearWeight("linear", tensors->at("weight"));
  const at::Tensor input = (*quantization)->OnLinearInput("linear", tensors->at("input"));
  return SaveSafetensors(out, {{"weight", weight}, {"input", input}}, {});
}

}  // namespace
}  // namespace inlier

int main(int count, char** arguments) {
  if (count < 4 || count % 3 != 1) {
    std::fprintf(stderr, "round_tensors SPEC.json IN.safetensors OUT.safetensors …\n");
    return 2;
  }
  for (int i = 1; i < count; i += 3) {
    const absl::Status done = inlier::Round(arguments[i], arguments[i + 1], arguments[i + 2]);
    if (done.ok()) continue;
    std::fprintf(stderr, "%s\n", std::string(done.message()).c_str());
    return 1;
  }
}
