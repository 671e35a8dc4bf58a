#include "core/trial/model_numbers.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/data/checked_files.h"
#include "base/status.h"
#include "core/models/sites.h"
#include "core/outliers/block_site.h"
#include "core/outliers/outlier_metrics.h"
#include "core/outliers/six_sigma_recorder.h"
#include "core/train/batch_input.h"
#include "core/train/checkpoint.h"
#include "core/trial/number_grid.h"
#include "core/trial/open_data.h"
#include "core/trial/weight_numbers.h"

namespace inlier {
namespace {

class Observer : public ActivationTap {
 public:
  using Call = std::function<void(const std::string& site, const at::Tensor& x)>;
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    if (on_activation) on_activation(site, activation);
    return activation;
  }
  at::Tensor OnValues(const std::string& site, const at::Tensor& values) override {
    if (on_values) on_values(site, values);
    return values;
  }
  Call on_activation, on_values;
};

// The text of one token of the data; its number where tokens have no text.
std::string TextOf(const Dataset& dataset, std::int64_t id) {
  const Tokenizer* tokenizer = TokenizerOf(dataset);
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

constexpr char kProbability[] = "probability", kMagnitude[] = "largest magnitude";
constexpr char kFirstExample[] = "the first validation example";

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
    mask_seed_ = spec.evaluation().mask_seed();
    const c10::InferenceMode inference;
    switch (question_.kind) {
      case v1::FigureSpec::OUTLIER_DIMENSIONS:
      case v1::FigureSpec::OUTLIER_POSITIONS:
        return Outliers();
      case v1::FigureSpec::DIMENSIONS:
      case v1::FigureSpec::TOKENS:
        return Magnitudes();
      case v1::FigureSpec::MEAN_ATTENTION:
      case v1::FigureSpec::MEAN_HIDDEN:
        return Means();
      case v1::FigureSpec::PATCHES:
        return Patches();
      case v1::FigureSpec::OUTLIER_TOKENS:
        return OutlierTokens();
      case v1::FigureSpec::WEIGHT_NORMS:
        return WeightNorms(*data_.model);
      case v1::FigureSpec::SECOND_MOMENTS:
        return SecondMoments(checkpoint, *data_.model);
      case v1::FigureSpec::BASES:
        return Bases(spec);
      default:
        return OfLayer();
    }
  }

 private:
  // Shows what the model computes from the first `examples` validation examples.
  void Show(std::int64_t examples, Observer& observer) {
    batch_ = data_.evaluated().ValidationBatch(0, examples, mask_seed_);
    data_.model->Logits(InputOf(batch_, c10::kCPU), &observer);
  }

  // The output of each block, (B, T, d), by number.
  std::map<int, at::Tensor> BlockOutputs(std::int64_t examples) {
    std::map<int, at::Tensor> outputs;
    Observer observer;
    observer.on_activation = [&](const std::string& site, const at::Tensor& x) {
      if (const std::optional<int> block = BlockOfSite(architecture_, site)) outputs[*block] = x;
    };
    Show(examples, observer);
    return outputs;
  }

  std::string OverExamples(std::int64_t examples) const {
    return absl::StrCat("over ", examples, " validation examples");
  }

  // The number of positions of the first example without padding; `all` where the data have none.
  std::int64_t Tokens(std::int64_t all) const {
    return batch_.attention_mask.defined() ? batch_.attention_mask[0].sum().item<std::int64_t>() : all;
  }

  Json TokenSide(const char* name, const char* title, std::int64_t tokens) {
    Json side = Side(name, title, TokenTexts(data_.evaluated(), batch_, tokens, registers_));
    side["tokens"] = true;
    return side;
  }

  absl::StatusOr<Json> Magnitudes() {
    const bool by_dimension = question_.kind == v1::FigureSpec::DIMENSIONS;
    const std::map<int, at::Tensor> outputs = BlockOutputs(by_dimension ? kDimensionExamples : 1);
    if (outputs.empty()) return absl::InternalError("the model has no blocks");
    std::vector<at::Tensor> rows;
    std::int64_t tokens = 0;
    for (const auto& [number, output] : outputs) {
      at::Tensor magnitude = output.abs();
      if (by_dimension && batch_.attention_mask.defined())
        magnitude = magnitude * batch_.attention_mask.unsqueeze(-1);
      tokens = Tokens(output.size(1));
      rows.push_back(by_dimension ? magnitude.amax(at::IntArrayRef({0, 1}))
                                  : magnitude[0].slice(0, 0, tokens).amax(-1));
    }
    Json layers = Side("layer", "layer", Counted(static_cast<std::int64_t>(rows.size()), 1));
    if (!by_dimension)
      return Grid(kFirstExample, kMagnitude, layers, TokenSide("position", "token", tokens), at::stack(rows));
    return Grid(OverExamples(outputs.begin()->second.size(0)), kMagnitude, layers,
                Side("dimension", "hidden dimension", Counted(rows[0].size(0))), at::stack(rows));
  }

  // Shows `tap` the first kOutlierExamples validation examples, or all, by batches; batch_ is each in its turn. Their number.
  std::int64_t ShowBatches(ActivationTap& tap) {
    const Dataset& dataset = data_.evaluated();
    const std::int64_t batches =
        std::min(dataset.ValidationBatches(kDimensionExamples), kOutlierExamples / kDimensionExamples);
    std::int64_t examples = 0;
    for (std::int64_t i = 0; i < batches; ++i) {
      batch_ = dataset.ValidationBatch(i, kDimensionExamples, mask_seed_);
      data_.model->Observe(InputOf(batch_, c10::kCPU), tap);
      examples += batch_.labels.size(0);
    }
    return examples;
  }

  absl::StatusOr<Json> Outliers() {
    SixSigmaRecorder recorder;
    const std::int64_t examples = ShowBatches(recorder);
    const bool by_dimension = question_.kind == v1::FigureSpec::OUTLIER_DIMENSIONS;
    std::vector<at::Tensor> rows;
    for (const SixSigmaSite& site : recorder.Sites())
      rows.push_back(by_dimension ? site.per_dimension : site.per_position);
    if (rows.empty()) return absl::InternalError("the model has no feed-forward networks");
    const Json numbers = Counted(rows[0].size(0));
    return Grid(OverExamples(examples), "elements beyond 6 standard deviations",
                Side("layer", "layer", Counted(static_cast<std::int64_t>(rows.size()), 1)),
                by_dimension ? Side("dimension", "hidden dimension", numbers)
                             : Side("position", "position of the token", numbers),
                at::stack(rows));
  }

  // The texts whose share of the outliers of a layer is largest.
  absl::StatusOr<Json> OutlierTokens() {
    if (architecture_ == v1::ModelSpec::kVit)
      return absl::InvalidArgumentError(
          "kind: OUTLIER_TOKENS needs a model of text, this one reads images; give OUTLIER_POSITIONS");
    std::vector<at::Tensor> ids, real;              // (B * T) a batch.
    std::vector<std::vector<at::Tensor>> outliers;  // A layer.
    std::size_t layer = 0;
    Observer observer;
    observer.on_activation = [&](const std::string& site, const at::Tensor& x) {
      const at::Tensor mask = batch_.attention_mask;
      if (site == "hidden.0") {
        ids.push_back(batch_.ids.flatten());
        real.push_back((mask.defined() ? mask : at::ones_like(batch_.ids)).to(at::kDouble).flatten());
        layer = 0;
      }
      if (!IsFfnOutputSite(site)) return;
      const at::Tensor by_token = x.view({batch_.ids.size(0), batch_.ids.size(1), x.size(-1)});
      const at::Tensor beyond =
          BeyondSixSigma(by_token, SixSigmaScope::kSequence, PaddingOf(MakeTokenMask(mask), by_token));
      if (layer == outliers.size()) outliers.emplace_back();
      outliers[layer++].push_back(beyond.sum(2).to(at::kDouble).flatten());
    };
    const std::string of = OverExamples(ShowBatches(observer));
    const auto by_id = [all = at::cat(ids)](const std::vector<at::Tensor>& numbers) {
      const at::Tensor sums = at::bincount(all, at::cat(numbers));
      return sums / sums.sum();  // NaN where there are none.
    };
    std::vector<at::Tensor> rows;
    for (const std::vector<at::Tensor>& numbers : outliers) rows.push_back(by_id(numbers));
    const at::Tensor largest = at::stack(rows).nan_to_num(0).amax(0);
    const std::int64_t shown = std::min(kOutlierTokens, largest.count_nonzero().item<std::int64_t>());
    if (shown == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("kind: OUTLIER_TOKENS: no element of the feed-forward networks' outputs is beyond 6 "
                       "standard deviations ",
                       of, ", so that no token has a share"));
    }
    Json texts = Json::array(), layers = Counted(static_cast<std::int64_t>(rows.size()), 1);
    layers.push_back("all tokens");
    rows.push_back(by_id(real));
    const at::Tensor chosen = std::get<1>(largest.topk(shown));
    for (std::int64_t i = 0; i < shown; ++i)
      texts.push_back(TextOf(data_.evaluated(), chosen[i].item<std::int64_t>()));
    Json tokens = Side("token", "token", std::move(texts));
    tokens["tokens"] = true;
    return Grid(of, "share of elements beyond 6 standard deviations",
                Side("layer", "layer", std::move(layers)), std::move(tokens),
                at::stack(rows).index_select(1, chosen));
  }

  absl::StatusOr<Json> Bases(const v1::TrialSpec& spec) {
    std::vector<at::Tensor> outputs;  // (tokens, d), without padding.
    for (const auto& [number, x] : BlockOutputs(kDimensionExamples)) {
      outputs.push_back(batch_.attention_mask.defined() ? x.index({batch_.attention_mask.ne(0)})
                                                        : x.flatten(0, 1));
    }
    return KurtosisByBasis(spec, *data_.model, outputs);
  }

  absl::StatusOr<Json> Means() {
    const bool attention = question_.kind == v1::FigureSpec::MEAN_ATTENTION;
    at::Tensor sum, count;
    const auto add = [](at::Tensor& to, const at::Tensor& x) { to = to.defined() ? to + x : x; };
    Observer observer;
    observer.on_activation = [&](const std::string& site, const at::Tensor& x) {
      if (attention ? !absl::EndsWith(site, ".probs") : !BlockOfSite(architecture_, site)) return;
      const std::int64_t batch = x.size(0), tokens = x.size(attention ? 2 : 1);
      const at::Tensor seen = batch_.attention_mask.defined() ? batch_.attention_mask.to(at::kDouble)
                                                              : at::ones({batch, tokens}, at::kDouble);
      if (attention) {
        const at::Tensor pairs = seen.unsqueeze(2) * seen.unsqueeze(1);
        add(sum, (x.slice(3, 0, tokens).to(at::kDouble).sum(1) * pairs).sum(0));
        add(count, pairs.sum(0) * x.size(1));
      } else {
        add(sum, (x.to(at::kDouble).abs() * seen.unsqueeze(2)).sum(0));
        add(count, seen.sum(0).unsqueeze(1));
      }
    };
    Show(kDimensionExamples, observer);
    if (!sum.defined()) return absl::InternalError("the model has no blocks");
    const Json positions = Counted(sum.size(0));
    const std::string of = OverExamples(batch_.labels.size(0));
    if (attention) {
      return Grid(of + ", heads and layers", "mean probability", FromTop(Side("query", "query", positions)),
                  Side("key", "key", positions), sum / count);
    }
    return Grid(of + " and layers", "mean magnitude",
                FromTop(Side("position", "position of the token", positions)),
                Side("dimension", "hidden dimension", Counted(sum.size(1))), sum / count);
  }

  static absl::Status NotThere(const char* name, std::uint32_t asked, std::int64_t there) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": got ", asked, "; the model has ", name, "s 0 to ", there - 1));
  }

  absl::StatusOr<Json> Patches() {
    if (architecture_ != v1::ModelSpec::kVit)
      return absl::InvalidArgumentError(
          "kind: PATCHES needs a model of images, this one reads text; give TOKENS");
    const std::map<int, at::Tensor> outputs = BlockOutputs(1);
    if (question_.layer >= outputs.size())
      return NotThere("layer", question_.layer, static_cast<std::int64_t>(outputs.size()));
    const at::Tensor output = std::next(outputs.begin(), question_.layer)->second;
    const at::Tensor patches = output[0].slice(0, 1, output.size(1) - registers_).abs().amax(-1);
    const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(patches.size(0)))));
    return Grid(absl::StrCat("layer ", question_.layer, ", ", kFirstExample), kMagnitude,
                FromTop(Side("row", "row of patches", Counted(side, 1))),
                Side("column", "column of patches", Counted(side, 1)), patches.view({side, side}));
  }

  // (H, T, T): a tile each, in about as many rows as columns.
  Json Tiled(const at::Tensor& heads, const std::string& of) {
    const std::int64_t count = heads.size(0), size = heads.size(1);
    const auto columns = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
    const std::int64_t rows = (count + columns - 1) / columns;
    const at::Tensor tiled = at::full({rows * (size + 1) - 1, columns * (size + 1) - 1},
                                      std::numeric_limits<double>::quiet_NaN(), at::kDouble);
    for (std::int64_t head = 0; head < count; ++head) {
      const std::int64_t row = head / columns * (size + 1), column = head % columns * (size + 1);
      tiled.slice(0, row, row + size).slice(1, column, column + size).copy_(heads[head]);
    }
    Json grid = Grid(of, kProbability, FromTop(Side("query", "query", Counted(tiled.size(0)))),
                     Side("key", "key", Counted(tiled.size(1))), tiled);
    grid["tiles"] = {{"count", count}, {"columns", columns}, {"size", size}};
    return grid;
  }

  // The results of a layer's attention for the first example.
  absl::StatusOr<Json> OfLayer() {
    const v1::FigureSpec::Kind kind = question_.kind;
    const bool gates = kind == v1::FigureSpec::GATES;
    const bool norms = kind == v1::FigureSpec::VALUE_NORMS, values = norms || kind == v1::FigureSpec::VALUES;
    const char* const ending = gates ? ".gate" : kind == v1::FigureSpec::CONTEXTS ? ".context" : ".probs";
    std::vector<at::Tensor> layers;
    std::int64_t heads = 0, all_tokens = 0;
    Observer observer;
    observer.on_activation = [&](const std::string& site, const at::Tensor& x) {
      if (absl::EndsWith(site, ".probs")) {
        heads = x.size(1);
        all_tokens = x.size(2);
      }
      if (!values && absl::EndsWith(site, ending)) layers.push_back(x);
    };
    if (values) observer.on_values = [&](const std::string&, const at::Tensor& x) { layers.push_back(x); };
    Show(1, observer);
    if (gates && layers.empty())
      return absl::InvalidArgumentError(
          "kind: GATES: the model has no gates; name a trial with attention.gate");
    if (question_.layer >= layers.size())
      return NotThere("layer", question_.layer, static_cast<std::int64_t>(layers.size()));
    at::Tensor x = layers[question_.layer][0];
    const std::string layer = absl::StrCat("layer ", question_.layer);
    const std::int64_t tokens = Tokens(all_tokens);
    if (gates) {
      x = x.mean(-1).expand({x.size(0), std::max(x.size(1), tokens)}).slice(1, 0, tokens);
      return Grid(layer, "gate", FromTop(Side("head", "head", Counted(x.size(0)))),
                  TokenSide("position", "token", tokens), x);
    }
    if (kind == v1::FigureSpec::HEADS) return Tiled(x.slice(1, 0, tokens).slice(2, 0, tokens), layer);
    if (values) x = x.transpose(0, 1);  // (kv_heads, T, h)
    if (norms) {
      return Grid(layer + absl::StrCat(", ", kFirstExample), "norm of the value",
                  FromTop(Side("head", "head", Counted(x.size(0)))), TokenSide("position", "token", tokens),
                  x.norm(2, -1).slice(1, 0, tokens));
    }
    if (kind == v1::FigureSpec::CONTEXTS) x = x.unflatten(-1, {heads, -1}).transpose(0, 1);
    if (question_.head >= x.size(0)) return NotThere("head", question_.head, x.size(0));
    x = x[question_.head].slice(0, 0, tokens);
    const std::string of = absl::StrCat(layer, ", head ", question_.head);
    if (kind == v1::FigureSpec::ATTENTION) {
      return Grid(of, kProbability, FromTop(TokenSide("query", "query", tokens)),
                  TokenSide("key", "key", tokens), x.slice(1, 0, tokens));
    }
    return Grid(of, kind == v1::FigureSpec::VALUES ? "value" : "context",
                FromTop(TokenSide("position", "token", tokens)),
                Side("dimension", "dimension of the head", Counted(x.size(1))), x);
  }

  const ModelQuestion& question_;
  TrialData data_;
  Batch batch_;
  v1::ModelSpec::ArchitectureCase architecture_ = v1::ModelSpec::ARCHITECTURE_NOT_SET;
  std::int64_t registers_ = 0;
  std::uint32_t mask_seed_ = 0;
};

}  // namespace

absl::StatusOr<Json> ReadModelNumbers(const ModelQuestion& question) { return Reading(question).Run(); }

}  // namespace inlier
