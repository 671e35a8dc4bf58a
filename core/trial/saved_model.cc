#include "core/trial/saved_model.h"

#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/data/data_roots.h"
#include "base/files/checkpoint_tar.h"
#include "base/status.h"
#include "core/text/tokenizer_folder.h"
#include "core/trial/start_from.h"
#include "spec/hugging_face/config.h"
#include "spec/trial/validator.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr char kSaveIt[] =
    "; report a folder that save_pretrained of the model (and of its tokenizer) wrote, as the checkpoint "
    "with "
    "final: true";

}  // namespace

fs::path SavedModelFolder(const v1::AttemptSpec& attempt) { return fs::path(attempt.output_dir()) / "model"; }

absl::StatusOr<fs::path> UnpackSavedModel(const v1::AttemptSpec& attempt) {
  const absl::StatusOr<fs::path> folder = UnpackCheckpoint(attempt.checkpoint(), SavedModelFolder(attempt));
  if (!folder.ok()) return AsDataLoss(folder.status(), "train the model again");
  if (folder->empty())
    return absl::InvalidArgumentError(absl::StrCat("the training saved no model", kSaveIt));
  if (!fs::is_regular_file(*folder / "config.json"))
    return absl::InvalidArgumentError(absl::StrCat("the training saved ", folder->filename().string(),
                                                   ", which is not a folder with a config.json", kSaveIt));
  return folder;
}

absl::StatusOr<v1::TrialSpec> SpecOfSavedModel(const v1::TrialSpec& trial, const fs::path& folder) {
  const bool classifies = trial.data().has_classification() || trial.data().has_images();
  ASSIGN_OR_RETURN(const HuggingFaceConfig config,
                   ReadHuggingFaceConfig(folder, classifies ? FolderPart::kWhole : FolderPart::kBody,
                                         DataRoots::Below({folder})));
  v1::TrialSpec spec = config.spec;
  spec.set_seed(trial.seed());
  spec.mutable_attention()->MergeFrom(trial.attention());
  *spec.mutable_data() = trial.data();
  if (trial.has_quantization()) *spec.mutable_quantization() = trial.quantization();
  *spec.mutable_evaluation() = trial.evaluation();
  spec.mutable_training()->set_steps(1);  // A spec is complete only with training, which was not here.
  if (spec.data().has_text() && !spec.data().text().has_tokenizer()) {
    ASSIGN_OR_RETURN(*spec.mutable_data()->mutable_text()->mutable_tokenizer(),
                     TokenizerOfFolder(folder,
                                       "save the model's tokenizer with it, or give the sweep "
                                       "data.text.tokenizer with the vocabulary that it was trained with"));
  }
  return ResolveAndValidate(spec);
}

absl::Status LoadSavedModel(const fs::path& folder, const Prepared& prepared) {
  ASSIGN_OR_RETURN(const std::vector<std::string> fresh,
                   LoadWeights(folder, prepared, DataRoots::Below({folder})));
  if (fresh.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the model that the training saved has no ", fresh[0],
      fresh.size() > 1 ? absl::StrCat(" (and ", fresh.size() - 1, " more)") : "",
      ", which its evaluation needs; save the whole model with its head, and give in `attention` of the "
      "sweep only parts that it has"));
}

absl::StatusOr<v1::TokenizerSpec> TokenizerOfFolder(const fs::path& folder, const std::string& remedy) {
  if (TokenizerFilesIn(folder).empty())
    return absl::NotFoundError(absl::StrCat(
        folder.string(), ": has no tokenizer (tokenizer.json, vocab.txt, or vocab.json and merges.txt); ",
        remedy));
  ASSIGN_OR_RETURN(const TokenizerDefinition definition, ReadTokenizerFolder(folder));
  v1::TokenizerSpec tokenizer;
  if (std::holds_alternative<WordPieceSettings>(definition.model)) {
    tokenizer.mutable_wordpiece()->set_vocab(folder.string());
  } else {
    tokenizer.mutable_gpt2()->set_vocab(folder.string());
  }
  return tokenizer;
}

}  // namespace inlier
