// The inlier side of the comparison with transformers (tests/integration/transformers_test.py):
//   hub_tool make SPEC.txt FOLDER     a model of a TrialSpec (text form), random weights, exported to FOLDER
//   hub_tool logits FOLDER IN OUT     logits of the model in FOLDER for IN's tensors `ids` (and perhaps
//                                     `attention_mask` and `token_type_ids`) or `pixels`
// IN and OUT are safetensors files.
#include <torch/torch.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "core/hugging_face/weights.h"
#include "core/io/safetensors.h"
#include "core/models/make_model.h"
#include "tests/core/hugging_face/small_specs.h"

namespace inlier {
namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "hub_tool: %s\n", std::string(status.message()).c_str());
  return 1;
}

int Make(const char* spec_file, const char* folder) {
  std::ifstream file(spec_file);
  const v1::TrialSpec spec = SmallHubSpec({std::istreambuf_iterator<char>(file), {}});
  const auto model = MakeModel(spec, SmallHubShape(spec));
  if (!model.ok()) return Fail(model.status());
  torch::manual_seed(3);
  const at::NoGradGuard no_grad;
  for (at::Tensor& parameter : (*model)->parameters()) parameter.normal_(0, 0.2);
  const absl::Status exported = ExportHuggingFaceModel(spec, **model, folder);
  return exported.ok() ? 0 : Fail(exported);
}

int Logits(const char* folder, const char* in, const char* out) {
  const auto opened = OpenHuggingFaceModel(folder);
  if (!opened.ok()) return Fail(opened.status());
  const auto tensors = LoadSafetensors(in);
  if (!tensors.ok()) return Fail(tensors.status());
  ModelInput input;
  for (const auto& [name, tensor] : {std::pair("ids", &input.ids), std::pair("pixels", &input.pixels),
                                     std::pair("attention_mask", &input.attention_mask),
                                     std::pair("token_type_ids", &input.token_type_ids)}) {
    if (tensors->count(name) != 0) *tensor = tensors->at(name);
  }
  const at::NoGradGuard no_grad;
  const absl::Status saved = SaveSafetensors(out, {{"logits", opened->model->Logits(input)}});
  return saved.ok() ? 0 : Fail(saved);
}

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "make") == 0) return inlier::Make(argv[2], argv[3]);
  if (argc == 5 && std::strcmp(argv[1], "logits") == 0) return inlier::Logits(argv[2], argv[3], argv[4]);
  std::fprintf(stderr, "usage: hub_tool make SPEC.txt FOLDER | hub_tool logits FOLDER IN OUT\n");
  return 2;
}
