#include "core/trial/export_checkpoint.h"

#include "base/status.h"
#include "core/hugging_face/weights.h"
#include "core/models/make_model.h"
#include "core/train/checkpoint.h"

namespace inlier {

absl::Status ExportCheckpoint(const std::filesystem::path& checkpoint, const std::filesystem::path& folder) {
  ASSIGN_OR_RETURN(const Checkpoint opened, Checkpoint::Open(checkpoint));
  ASSIGN_OR_RETURN(const std::shared_ptr<LanguageModel> model, MakeLanguageModel(opened.info().spec));
  RETURN_IF_ERROR(opened.LoadWeights(*model));
  return ExportHuggingFaceModel(opened.info().spec, *model, folder);
}

}  // namespace inlier
