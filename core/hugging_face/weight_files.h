// The tensors of a Hugging Face model folder: model.safetensors or, where there is none, the shards that
// model.safetensors.index.json lists; as transformers looks for them.
#ifndef INLIER_CORE_HUGGING_FACE_WEIGHT_FILES_H_
#define INLIER_CORE_HUGGING_FACE_WEIGHT_FILES_H_

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/io/safetensors.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

class WeightFiles {
 public:
  // Of a folder, or a single .safetensors file. NotFound; DataLoss for a damaged file, InvalidArgument outside `roots`.
  static absl::StatusOr<WeightFiles> Open(const std::filesystem::path& source, const DataRoots& roots);

  // Returns null for an unknown name.
  const SafetensorsEntry* Find(const std::string& name) const;
  // REQUIRES: Find(name) is not null.
  absl::StatusOr<at::Tensor> Load(const std::string& name) const;
  // The name of the file with this tensor, and its place in that file's header.
  std::string PlaceOf(const std::string& name) const;
  const std::map<std::string, std::size_t>& names() const { return tensors_; }

  // Of all tensors.
  double values() const;

  // ResourceExhausted where the values take more memory in float32 than is free on this machine; says how much they take where
  // it is more than 1 GiB.
  absl::Status CheckMemory() const;

  // OK where a model of this spec is not larger than these tensors allow, so that making it takes memory in proportion
  // to files that exist. InvalidArgument begins with the key of config.json.
  absl::Status CheckSizes(const v1::TrialSpec& spec, std::string_view model_type) const;

 private:
  absl::Status Add(const std::filesystem::path& path, const DataRoots& roots);

  std::map<std::string, std::size_t> tensors_;  // Name to reader.
  std::vector<SafetensorsReader> readers_;
};

}  // namespace inlier

#endif  // INLIER_CORE_HUGGING_FACE_WEIGHT_FILES_H_
