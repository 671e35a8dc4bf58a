// From a trained model of inlier to a folder that Hugging Face transformers loads.
#ifndef INLIER_CORE_TRIAL_EXPORT_EXPORT_CHECKPOINT_H_
#define INLIER_CORE_TRIAL_EXPORT_EXPORT_CHECKPOINT_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

struct ExportRequest {
  // `checkpoint`, `data_dir`, `cache_dir`; with `spec` that trial's, quantized where it is.
  v1::AttemptSpec attempt;
  std::filesystem::path folder;
  bool replace = false;  // As ExportOptions.
  // With the tokenizer or image processor and a quantized model's scales, which need the data.
  bool processor = true;
  // The quantized weights in the layout of compressed-tensors (compressed_export.h), in place of float ones and scales.
  bool compressed = false;
};

// The name of the class in transformers that loads the folder, for example "AutoModelForMaskedLM", and whether
// it needs trust_remote_code.
struct Exported {
  std::string auto_class;
  bool own_code = false;
  bool quantized = false;  // With scales that its own code reads.
};

// Writes the folder. Errors as ExportHuggingFaceModel, and those of the data, with the remedy. The scales of a
// quantization are made again from the data, as the trial's evaluation made them.
absl::StatusOr<Exported> ExportCheckpoint(const ExportRequest& request);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_EXPORT_EXPORT_CHECKPOINT_H_
