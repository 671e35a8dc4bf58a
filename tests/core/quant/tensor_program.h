// The main function of a program `NAME SPEC.json IN.safetensors OUT.safetensors …`; several specs and files follow each other.
#ifndef INLIER_TESTS_CORE_QUANT_TENSOR_PROGRAM_H_
#define INLIER_TESTS_CORE_QUANT_TENSOR_PROGRAM_H_

#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "base/status.h"
#include "core/io/safetensors.h"
#include "inlier/v1/quantization_spec.pb.h"

namespace inlier {

// `compute` makes the tensors of OUT from those of IN.
template <typename Compute>
absl::Status MakeTensors(char** paths, Compute compute) {
  std::ifstream file(paths[0]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  v1::QuantizationSpec spec;
  if (!google::protobuf::util::JsonStringToMessage(text, &spec).ok())
    return absl::InvalidArgumentError(std::string(paths[0]) + ": no QuantizationSpec as JSON");
  ASSIGN_OR_RETURN(const TensorMap tensors, LoadSafetensors(paths[1]));
  ASSIGN_OR_RETURN(const TensorMap made, compute(spec, tensors));
  return SaveSafetensors(paths[2], made, {});
}

template <typename Compute>
int RunTensorProgram(int count, char** arguments, Compute compute) {
  if (count < 4 || count % 3 != 1) {
    std::fprintf(stderr, "%s SPEC.json IN.safetensors OUT.safetensors …\n", arguments[0]);
    return 2;
  }
  for (int i = 1; i < count; i += 3) {
    const absl::Status done = MakeTensors(arguments + i, compute);
    if (done.ok()) continue;
    std::fprintf(stderr, "%s\n", std::string(done.message()).c_str());
    return 1;
  }
  return 0;
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_QUANT_TENSOR_PROGRAM_H_
