#include "core/trial/export_checkpoint.h"

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "core/hugging_face/weights.h"
#include "core/models/bert_classifier.h"
#include "core/models/make_model.h"
#include "core/train/checkpoint.h"

namespace inlier {

absl::Status ExportCheckpoint(const std::filesystem::path& checkpoint, const std::filesystem::path& folder) {
  ASSIGN_OR_RETURN(const Checkpoint opened, Checkpoint::Open(checkpoint));
  // The number of classes is in the data, which need not be here, and in the weights.
  const std::vector<std::int64_t> classifier = opened.WeightShape(kClassifierWeight);
  const ModelShape shape{.classes = classifier.empty() ? 0 : classifier[0]};
  ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, MakeModel(opened.info().spec, shape));
  RETURN_IF_ERROR(opened.LoadWeights(*model));
  return ExportHuggingFaceModel(opened.info().spec, *model, folder);
}

}  // namespace inlier
