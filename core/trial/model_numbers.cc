#include "core/trial/model_numbers.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/data/checked_files.h"
#include "base/status.h"
#include "core/labelled/classification_dataset.h"
#include "core/labelled/instruction_dataset.h"
#include "core/outliers/block_site.h"
#include "core/outliers/six_sigma_recorder.h"
#include "core/text/text_dataset.h"
#include "core/train/batch_input.h"
#include "core/train/checkpoint.h"
#include "core/trial/open_data.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

using Json = nlohmann::ordered_json;

// The output of each block, (B, T, d), by number.
class BlockOutputs : public ActivationTap {
 public:
  explicit BlockOutputs(v1::ModelSpec::ArchitectureCase architecture) : architecture_(architecture) {}
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    if (const std::optional<int> block = BlockOfSite(architecture_, site)) outputs[*block] = activation;
    return activation;
  }
  std::map<int, at::Tensor> outputs;

 private:
  const v1::ModelSpec::ArchitectureCase architecture_;
};

// The attention weights of each layer, (B, H, T, T), in order.
class AttentionWeights : public ActivationTap {
 public:
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    if (absl::EndsWith(site, ".probs")) layers.push_back(activation);
    return activation;
  }
  std::vector<at::Tensor> layers;
};

// Rows of numbers, (rows, columns).
Json RowsOf(const at::Tensor& values) {
  const at::Tensor exact = values.to(at::kDouble).contiguous();
  Json rows = Json::array();
  for (std::int64_t r = 0; r < exact.size(0); ++r) {
    const double* at = exact[r].data_ptr<double>();
    Json row = Json::array();
    for (std::int64_t c = 0; c < exact.size(1); ++c)
      row.push_back(std::isfinite(at[c]) ? Json(at[c]) : Json(nullptr));
    rows.push_back(std::move(row));
  }
  return rows;
}

// The text of one token of the data; its number where tokens have no text.
std::string TextOf(const Dataset& dataset, std::int64_t id) {
  if (const auto* text = dynamic_cast<const TextDataset*>(&dataset)) return text->Decode(at::full({1}, id));
  const Tokenizer* tokenizer = nullptr;
  if (const auto* rows = dynamic_cast<const ClassificationDataset*>(&dataset)) tokenizer = &rows->tokenizer();
  if (const auto* pairs = dynamic_cast<const InstructionDataset*>(&dataset)) tokenizer = &pairs->tokenizer();
  const auto one = static_cast<std::uint32_t>(id);
  return tokenizer == nullptr ? absl::StrCat(id) : tokenizer->Decode(std::span(&one, 1));
}

// Of the one example of `batch`, which has `tokens` of them without padding; of images the last are `registers`.
Json TokenTexts(const Dataset& dataset, const Batch& batch, std::int64_t tokens, std::int64_t registers) {
  Json texts = Json::array();
  if (batch.ids.defined()) {
    for (std::int64_t t = 0; t < tokens; ++t)
      texts.push_back(TextOf(dataset, batch.ids[0][t].item<std::int64_t>()));
    return texts;
  }
  texts.push_back("class");
  const std::int64_t patches = tokens - 1 - registers;
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(patches))));
  for (std::int64_t patch = 0; patch < patches; ++patch)
    texts.push_back(absl::StrCat(patch / side + 1, ",", patch % side + 1));
  for (std::int64_t i = 0; i < registers; ++i) texts.push_back(absl::StrCat("register ", i + 1));
  return texts;
}

class Reading {
 public:
  explicit Reading(const ModelQuestion& question) : question_(question) {}

  absl::StatusOr<Json> Run() {
    RETURN_IF_ERROR(CheckNamedContent(question_.checkpoint));
    ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(question_.checkpoint));
    const v1::TrialSpec& spec = checkpoint.info().spec;
    ASSIGN_OR_RETURN(data_, OpenTrialData(spec, question_.data, /*for_evaluation=*/false));
    RETURN_IF_ERROR(checkpoint.LoadWeights(*data_.model));
    data_.model->eval();
    architecture_ = spec.model().architecture_case();
    registers_ = spec.model().vit().registers();
    const Dataset& dataset = data_.evaluated();
    const std::uint32_t mask_seed = spec.evaluation().mask_seed();
    const c10::InferenceMode inference;
    if (question_.numbers == ModelNumbers::kOutlierDimensions ||
        question_.numbers == ModelNumbers::kOutlierPositions)
      return Outliers(dataset, mask_seed);
    const bool all = question_.numbers == ModelNumbers::kDimensions;
    batch_ = dataset.ValidationBatch(0, all ? kDimensionExamples : 1, mask_seed);
    if (question_.numbers == ModelNumbers::kAttention) return Attention();
    return Magnitudes(all);
  }

 private:
  // Positions of the first example that are no padding, of `all`.
  std::int64_t Tokens(std::int64_t all) const {
    return batch_.attention_mask.defined() ? batch_.attention_mask[0].sum().item<std::int64_t>() : all;
  }

  absl::StatusOr<Json> Magnitudes(bool by_dimension) {
    BlockOutputs blocks(architecture_);
    data_.model->Logits(InputOf(batch_, c10::kCPU), &blocks);
    std::vector<at::Tensor> rows;
    std::int64_t tokens = 0;
    for (const auto& [number, output] : blocks.outputs) {
      at::Tensor magnitude = output.abs();
      if (by_dimension && batch_.attention_mask.defined())
        magnitude = magnitude * batch_.attention_mask.unsqueeze(-1);
      tokens = Tokens(output.size(1));
      rows.push_back(by_dimension ? magnitude.amax(at::IntArrayRef({0, 1}))
                                  : magnitude[0].slice(0, 0, tokens).amax(-1));
    }
    if (rows.empty()) return absl::InternalError("the model has no blocks");
    Json found = {{"examples", rows.empty() ? 0 : blocks.outputs.begin()->second.size(0)}};
    if (!by_dimension) found["tokens"] = TokenTexts(data_.evaluated(), batch_, tokens, registers_);
    found["values"] = RowsOf(at::stack(rows));
    return found;
  }

  absl::StatusOr<Json> Outliers(const Dataset& dataset, std::uint32_t mask_seed) {
    SixSigmaRecorder recorder;
    const std::int64_t batches =
        std::min(dataset.ValidationBatches(kDimensionExamples), kOutlierExamples / kDimensionExamples);
    std::int64_t examples = 0;
    for (std::int64_t i = 0; i < batches; ++i) {
      const Batch batch = dataset.ValidationBatch(i, kDimensionExamples, mask_seed);
      data_.model->Observe(InputOf(batch, c10::kCPU), recorder);
      examples += batch.labels.size(0);
    }
    const bool by_dimension = question_.numbers == ModelNumbers::kOutlierDimensions;
    std::vector<at::Tensor> rows;
    for (const SixSigmaSite& site : recorder.Sites())
      rows.push_back(by_dimension ? site.per_dimension : site.per_position);
    if (rows.empty()) return absl::InternalError("the model has no feed-forward networks");
    return Json{{"examples", examples}, {"values", RowsOf(at::stack(rows))}};
  }

  absl::StatusOr<Json> Attention() {
    AttentionWeights weights;
    data_.model->Logits(InputOf(batch_, c10::kCPU), &weights);
    const auto outside = [](const char* name, std::uint32_t asked, std::int64_t there) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": ", asked, " is not there; the model has ", name, "s 0 to ", there - 1));
    };
    if (question_.layer >= weights.layers.size())
      return outside("layer", question_.layer, static_cast<std::int64_t>(weights.layers.size()));
    const at::Tensor heads = weights.layers[question_.layer][0];
    if (question_.head >= heads.size(0)) return outside("head", question_.head, heads.size(0));
    const std::int64_t tokens = Tokens(heads.size(1));
    return Json{{"examples", 1},
                {"tokens", TokenTexts(data_.evaluated(), batch_, tokens, registers_)},
                {"values", RowsOf(heads[question_.head].slice(0, 0, tokens).slice(1, 0, tokens))}};
  }

  const ModelQuestion& question_;
  TrialData data_;
  Batch batch_;
  v1::ModelSpec::ArchitectureCase architecture_ = v1::ModelSpec::ARCHITECTURE_NOT_SET;
  std::int64_t registers_ = 0;
};

}  // namespace

absl::StatusOr<Json> ReadModelNumbers(const ModelQuestion& question) { return Reading(question).Run(); }

}  // namespace inlier
