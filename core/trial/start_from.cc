#include "core/trial/start_from.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/data/checked_files.h"
#include "base/files/mapped_file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/status.h"
#include "core/hugging_face/weights.h"
#include "core/text/tokenizer.h"
#include "core/text/tokenizer_folder.h"
#include "core/train/checkpoint.h"
#include "core/trial/data_digest.h"
#include "core/trial/export/processor_files.h"
#include "spec/hugging_face/config.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

absl::Status CheckOrigin(const CheckpointInfo& info, const Prepared& prepared) {
  RETURN_IF_ERROR(CheckSameFunction(info.spec, prepared.spec, /*model_type=*/{}));
  const std::string vocabulary = VocabularyDigestOf(*prepared.data.dataset);
  if (info.origin.vocabulary.empty() || vocabulary.empty()) {
    spdlog::warn("vocabulary_not_compared reason=\"the checkpoint does not name its vocabulary\"");
  } else if (info.origin.vocabulary != vocabulary) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model was trained with another vocabulary (digest ",
                     info.origin.vocabulary.substr(0, 12), ", here ", vocabulary.substr(0, 12),
                     "), so its tokens are not those of the trial; give the "
                     "trial that vocabulary: tokenizer.byte_pair.corpus or "
                     "path with the text of that training, or of a causal model "
                     "tokenizer.gpt2.vocab with the folder of its export"));
  }
  return absl::OkStatus();
}

bool AreEqual(const nlohmann::json& a, const nlohmann::json& b) {
  if (a.is_array() && b.is_array()) return std::equal(a.begin(), a.end(), b.begin(), b.end(), AreEqual);
  if (a.is_number() && b.is_number()) return std::abs(a.get<double>() - b.get<double>()) < 1e-6;
  return a == b;
}

}  // namespace

absl::Status CheckPixels(const fs::path& folder, const v1::TrialSpec& spec, const DataRoots& roots) {
  const fs::path path = folder / "preprocessor_config.json";
  std::error_code error;
  if (!spec.model().has_vit() || !fs::exists(path, error)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path, roots));
  ASSIGN_OR_RETURN(const nlohmann::json theirs, ParseJsonText(file.bytes(), path.string()));
  const auto ours = nlohmann::json::parse(ImageProcessorFiles(spec).at(path.filename()));
  for (const char* key : {"do_rescale", "rescale_factor", "do_normalize", "image_mean", "image_std"}) {
    const nlohmann::json value = theirs.is_object() ? theirs.value(key, nlohmann::json()) : nlohmann::json();
    if (value.is_null() || AreEqual(value, ours.at(key))) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": ", key, ": is not that of data.images.pixel_scale ",
                     v1::PixelScale_Name(spec.data().images().pixel_scale()),
                     "; set HALF or IMAGENET, the one that the model was trained with: "
                     "inlier supports no other scale of pixels"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> LoadWeights(fs::path source, const Prepared& prepared,
                                                     const DataRoots& roots) {
  StartingTrial trial{.spec = prepared.spec, .classes = ClassNamesOf(*prepared.data.dataset)};
  RETURN_IF_ERROR(roots.Check(source));
  std::error_code error;
  if (!fs::is_directory(source, error)) {
    const absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(source, roots);
    if (checkpoint.ok()) {
      const absl::Status same = CheckOrigin(checkpoint->info(), prepared);
      if (!same.ok())
        return absl::InvalidArgumentError(absl::StrCat(source.string(), ": ", std::string(same.message())));
      trial.source_classes = checkpoint->info().origin.classes;
    } else if (absl::IsInvalidArgument(checkpoint.status()) && source.filename() == "model.safetensors" &&
               fs::exists(source.parent_path() / "config.json", error)) {
      source = source.parent_path();  // The file of a folder of Hugging Face, named itself.
    } else {
      RETURN_IF_ERROR(absl::IsInvalidArgument(checkpoint.status()) ? absl::OkStatus() : checkpoint.status());
      spdlog::warn("settings_not_compared from={} reason=\"the file has weights alone\"", source.string());
    }
  }
  if (fs::is_directory(source, error)) {
    if (const Tokenizer* tokenizer = TokenizerOf(*prepared.data.dataset))
      RETURN_IF_ERROR(CheckSameTokenizer(source, *tokenizer, roots));
    RETURN_IF_ERROR(CheckPixels(source, prepared.spec, roots));
  }
  return LoadStartingWeights(source, trial, *prepared.data.model, roots);
}

absl::Status StartFrom(const v1::AttemptSpec& attempt, const Prepared& prepared) {
  if (!prepared.spec.training().has_start_from()) return absl::OkStatus();
  const v1::StartFromSpec& start = prepared.spec.training().start_from();
  const bool ours = start.has_training();  // Its file is one of the worker's own.
  const std::string& source = ours                       ? attempt.checkpoint()
                              : start.has_hugging_face() ? start.hugging_face()
                                                         : start.checkpoint();
  const absl::Status named = ours ? absl::OkStatus() : CheckNamedContent(source);
  const absl::StatusOr<std::vector<std::string>> fresh =
      named.ok() ? LoadWeights(source, prepared, ours ? DataRoots() : RootsOf(attempt)) : named;
  if (fresh.ok()) {
    spdlog::info("weights_loaded from={} fresh_parameters={}", source, fresh->size());
    return absl::OkStatus();
  }
  if (ours && (absl::IsNotFound(fresh.status()) || absl::IsDataLoss(fresh.status())))
    return AsDataLoss(fresh.status(), kOtherModel);
  // The trial names a file of the worker: no other attempt can succeed.
  return absl::InvalidArgumentError(
      absl::StrCat("training.start_from: ", std::string(fresh.status().message())));
}

}  // namespace inlier
