#include "core/trial/analysis.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "core/hugging_face/weights.h"
#include "core/images/image_dataset.h"
#include "core/models/language_model.h"
#include "core/models/make_model.h"
#include "core/text/text_dataset.h"
#include "core/train/batch_input.h"
#include "core/train/evaluator.h"
#include "core/trial/analysis_settings.h"
#include "core/trial/open_questions.h"
#include "core/trial/runtime.h"
#include "core/trial/saved_model.h"
#include "core/trial/start_from.h"
#include "nlohmann/json.hpp"
#include "spec/hugging_face/config.h"
#include "spec/trial/architecture.h"
#include "spec/trial/checks/quantization_checks.h"
#include "spec/trial/data_kind.h"
#include "spec/trial/resolver.h"
#include "spec/trial/validator.h"

namespace inlier {
namespace {

using Json = nlohmann::ordered_json;

// Measurements of one setting as JSON, and its progress.
class SettingSink : public TrialSink {
 public:
  SettingSink(std::string name, const AnalysisSink& sink) : name_(std::move(name)), sink_(sink) {}

  void OnProgress(const v1::Progress& progress) override {
    sink_({{"progress",
            {{"setting", name_},
             {"phase", progress.phase()},
             {"step", progress.step()},
             {"steps_total", progress.steps_total()}}}});
  }
  void OnMeasurement(const v1::MeasurementPoint& point) override {
    const Json value = std::isfinite(point.value()) ? Json(point.value()) : Json(nullptr);
    if (point.site().empty()) {
      measurements[point.name()] = value;
    } else {
      sites[point.name()][point.site()] = value;
    }
  }

  Json measurements = Json::object();
  Json sites = Json::object();

 private:
  const std::string name_;
  const AnalysisSink& sink_;
};

// The state after the last layer, as the tap receives it.
class LastHidden : public ActivationTap {
 public:
  explicit LastHidden(std::uint32_t layers) : site_(absl::StrCat("hidden.", layers)) {}
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    if (site == site_) value = activation;
    return activation;
  }
  at::Tensor value;  // (B, T, d)

 private:
  const std::string site_;
};

// Sums over batches of the changes in the last hidden state by quantization.
struct HiddenChange {
  double relative = 0;    // Of tokens.
  double similarity = 0;  // Of sequences.
  std::int64_t tokens = 0, sequences = 0;

  void Add(const at::Tensor& exact, const at::Tensor& quantized) {
    const at::Tensor norms = exact.norm(2, -1).clamp_min(1e-12);
    relative += ((quantized - exact).norm(2, -1) / norms).sum().item<double>();
    similarity += at::cosine_similarity(exact.mean(1), quantized.mean(1), -1).sum().item<double>();
    tokens += exact.size(0) * exact.size(1);
    sequences += exact.size(0);
  }
};

std::uint32_t LayersOf(const v1::ModelSpec& model) {
  std::uint32_t layers = 0;
  VisitArchitecture(model, [&layers](std::string_view, const auto& spec) { layers = spec.layers(); });
  return layers;
}

constexpr char kNameVocabulary[] =
    "put its files there, or name a published vocabulary that it was trained with: --tokenizer '{gpt2: {}}' "
    "or "
    "'{wordpiece: {}}'";

class Analysis {
 public:
  Analysis(const v1::AnalysisSpec& spec, const AnalysisSink& sink) : request_(spec), sink_(sink) {}

  absl::Status Run() {
    if (request_.folder().empty()) return absl::InvalidArgumentError("analysis: folder is not given");
    RETURN_IF_ERROR(CheckSettings());
    RETURN_IF_ERROR(Open());
    RETURN_IF_ERROR(MeasureFloat());
    std::vector<v1::QuantizationSpec> settings(request_.settings().begin(), request_.settings().end());
    if (settings.empty() && !request_.all_methods()) settings = UsualSettings(spec_.model());
    for (const v1::QuantizationSpec& setting : settings) {
      ASSIGN_OR_RETURN(const v1::TrialSpec spec, SpecWith(setting));
      RETURN_IF_ERROR(MeasureQuantized(spec));
    }
    return request_.all_methods() ? MeasureMethods() : absl::OkStatus();
  }

 private:
  // That the model can have the settings, before its weights are read.
  absl::Status CheckSettings() const {
    if (request_.settings().empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const HuggingFaceConfig config, ReadHuggingFaceConfig(request_.folder(), FolderPart::kBody));
    for (const v1::QuantizationSpec& setting : request_.settings()) {
      RETURN_IF_ERROR(CheckScheme(setting, config.spec.model()));
      v1::TrialSpec spec = config.spec;
      *spec.mutable_quantization() = setting;
      if (request_.has_images()) *spec.mutable_data()->mutable_images() = request_.images();
      if (!request_.has_images()) *spec.mutable_data()->mutable_text() = request_.text();
      ASSIGN_OR_RETURN(spec, Resolve(spec));
      Problems problems;
      CheckQuantization(spec, &problems);
      RETURN_IF_ERROR(problems.ToStatus());
    }
    return absl::OkStatus();
  }

  absl::Status Open() {
    ASSIGN_OR_RETURN(device_, ParseDevice(request_.has_device() ? request_.device() : "cpu"));
    ASSIGN_OR_RETURN(HuggingFaceModel opened, OpenHuggingFaceBody(request_.folder()));
    model_ = opened.model;
    has_head_ = opened.has_head;
    spec_ = opened.spec;
    if (spec_.model().has_vit() != request_.has_images()) {
      return absl::InvalidArgumentError(absl::StrCat(
          request_.folder(), request_.has_images()
                                 ? ": reads text; leave --images out"
                                 : ": reads images; name a folder or data set of them: --images"));
    }
    // A spec is complete only with training, which is not run here.
    spec_.mutable_training()->set_steps(1);
    *spec_.mutable_evaluation() = request_.evaluation();
    spec_.mutable_evaluation()->clear_sensitivity_batches();  // Of the quantized settings.
    RETURN_IF_ERROR(request_.has_images() ? OpenImages() : OpenText());
    if (!has_head_ && request_.evaluation().has_sensitivity_batches()) {
      return absl::InvalidArgumentError(absl::StrCat(
          request_.folder(), ": has no head that predicts ",
          request_.has_images() ? "these classes" : "tokens",
          ", so no quantizer costs loss; leave sensitivity (evaluation.sensitivity_batches) out"));
    }
    model_->to(device_);
    ReportModel();
    return absl::OkStatus();
  }

  template <typename Options>
  Options DataOptions(const char* what) const {
    Options options;
    options.data_dir = request_.data_dir();
    options.threads = at::get_num_threads();
    options.progress = [this, what](std::string_view phase, double fraction) {
      sink_({{"progress",
              {{"setting", what},
               {"phase", std::string(phase)},
               {"step", std::lround(fraction * 100)},
               {"steps_total", 100}}}});
    };
    return options;
  }

  absl::Status OpenImages() {
    v1::ImageDataSpec& images = *spec_.mutable_data()->mutable_images();
    images = request_.images();
    absl::Status pixels = CheckPixels(request_.folder(), spec_);
    if (!pixels.ok() && !images.has_pixel_scale()) {
      images.set_pixel_scale(v1::IMAGENET);
      if (CheckPixels(request_.folder(), spec_).ok()) pixels = absl::OkStatus();
    }
    RETURN_IF_ERROR(pixels);
    ASSIGN_OR_RETURN(spec_, ResolveAndValidate(spec_));
    ImageOptions options = DataOptions<ImageOptions>("images");
    options.image_size = spec_.model().vit().image_size();
    options.channels = spec_.model().vit().channels();
    ASSIGN_OR_RETURN(std::unique_ptr<ImageDataset> dataset,
                     ImageDataset::Open(spec_.data().images(), options));
    ASSIGN_OR_RETURN(const HuggingFaceConfig config,
                     ReadHuggingFaceConfig(request_.folder(), FolderPart::kWhole));
    const std::vector<std::string>& of_model = config.class_names;
    const bool unnamed = std::all_of(of_model.begin(), of_model.end(), [](const std::string& name) {
      return absl::StartsWith(name, "LABEL_");
    });
    if (dataset->classes() != spec_.model().vit().classes() ||
        (!unnamed && of_model != dataset->class_names()))
      has_head_ = false;
    dataset_ = std::move(dataset);
    return absl::OkStatus();
  }

  absl::Status OpenText() {
    const auto& model = dynamic_cast<const LanguageModel&>(*model_);
    v1::TextDataSpec& text = *spec_.mutable_data()->mutable_text();
    text = request_.text();
    std::optional<v1::TokenizerSpec> own_vocabulary;  // In the place of spec_'s.
    if (!text.has_tokenizer()) {
      ASSIGN_OR_RETURN(*text.mutable_tokenizer(), TokenizerOfFolder(request_.folder(), kNameVocabulary));
    }
    if (text.tokenizer().has_gpt2() && spec_.model().has_bert()) {
      // Of these files only a vocabulary that was trained here has tokens for MLM; TextDataset::Open finds out.
      own_vocabulary = text.tokenizer();
      text.mutable_tokenizer()->mutable_byte_pair()->set_vocab_size(
          static_cast<std::uint32_t>(model.vocab_size()));
    }
    if (text.sequence_length() > model.max_positions())
      text.set_sequence_length(static_cast<std::uint32_t>(model.max_positions()));
    ASSIGN_OR_RETURN(spec_, ResolveAndValidate(spec_));
    TextOpenOptions options = DataOptions<TextOpenOptions>("text");
    options.cache_dir = request_.cache_dir();
    v1::TextDataSpec read = spec_.data().text();
    if (own_vocabulary) *read.mutable_tokenizer() = *own_vocabulary;
    ASSIGN_OR_RETURN(std::unique_ptr<TextDataset> dataset,
                     TextDataset::Open(read, read.objective(), options));
    if (dataset->vocab_size() > model.vocab_size()) {
      return absl::InvalidArgumentError(absl::StrCat(request_.folder(), ": the tokenizer has ",
                                                     dataset->vocab_size(), " tokens and the model ",
                                                     model.vocab_size(), "; they do not belong together"));
    }
    if (has_head_) baseline_.unigram_perplexity = dataset->ComputeUnigramPerplexity();
    if (spec_.evaluation().has_multiple_choice()) {
      if (!has_head_)
        return absl::InvalidArgumentError(
            absl::StrCat(request_.folder(), ": has no head that predicts tokens; leave --questions out"));
      ASSIGN_OR_RETURN(questions_, OpenQuestions(spec_.evaluation().multiple_choice().path(),
                                                 dataset->tokenizer(), model.max_positions(), /*roots=*/{}));
    }
    dataset_ = std::move(dataset);
    return absl::OkStatus();
  }

  void ReportModel() {
    Json about;
    VisitArchitecture(spec_.model(), [&about](std::string_view name, const auto& model) {
      about = {{"architecture", std::string(name)},
               {"layers", model.layers()},
               {"hidden_size", model.hidden_size()},
               {"heads", model.heads()}};
    });
    about["parameters"] = CountParameters(*model_);
    about["has_head"] = has_head_;
    if (spec_.data().has_text())
      about["tokenizer"] = spec_.data().text().tokenizer().has_wordpiece() ? "wordpiece" : "BPE";
    about["sequence_length"] = SequenceLength(spec_);
    about["sequences"] =
        std::min<std::int64_t>(Batches() * spec_.evaluation().batch_size(), dataset_->validation_examples());
    sink_({{"model", about}});
  }

  std::int64_t Batches() const {
    const std::int64_t all = dataset_->ValidationBatches(spec_.evaluation().batch_size());
    return spec_.evaluation().has_batches() ? std::min<std::int64_t>(all, spec_.evaluation().batches()) : all;
  }

  absl::Status MeasureFloat() {
    SettingSink setting("float", sink_);
    ASSIGN_OR_RETURN(const EvaluationResult result, Evaluate(*model_, *dataset_, spec_, device_, setting,
                                                             /*stop_requested=*/nullptr, questions_));
    Report("float", result, setting);
    return absl::OkStatus();
  }

  // The whole spec of a setting. InvalidArgument where the model does not support it.
  absl::StatusOr<v1::TrialSpec> SpecWith(const v1::QuantizationSpec& setting) const {
    v1::TrialSpec spec = spec_;
    *spec.mutable_quantization() = setting;
    if (request_.evaluation().has_sensitivity_batches())
      spec.mutable_evaluation()->set_sensitivity_batches(request_.evaluation().sensitivity_batches());
    ASSIGN_OR_RETURN(spec, ResolveAndValidate(spec));
    // Calibrated on as many sequences as it is measured on.
    v1::CalibrationSpec& calibration = *spec.mutable_quantization()->mutable_calibration();
    if (request_.evaluation().has_batches()) calibration.set_batches(request_.evaluation().batches());
    if (request_.evaluation().has_batch_size())
      calibration.set_batch_size(request_.evaluation().batch_size());
    return spec;
  }

  // Measures those that the model supports, and names the others with the reason.
  absl::Status MeasureMethods() {
    for (const v1::QuantizationSpec& setting : MethodSettings()) {
      const absl::StatusOr<v1::TrialSpec> spec = SpecWith(setting);
      if (spec.ok()) {
        RETURN_IF_ERROR(MeasureQuantized(*spec));
      } else {
        sink_({{"left_out",
                {{"name", SettingName(setting)}, {"reason", std::string(spec.status().message())}}}});
      }
    }
    return absl::OkStatus();
  }

  absl::Status MeasureQuantized(const v1::TrialSpec& spec) {
    const std::string name = SettingName(spec.quantization());
    SettingSink setting(name, sink_);
    ASSIGN_OR_RETURN(const std::unique_ptr<Quantization> quantization,
                     CalibrateQuantization(*model_, *dataset_, spec, device_, setting, nullptr));
    ASSIGN_OR_RETURN(const EvaluationResult result,
                     EvaluateQuantized(*model_, *dataset_, spec, device_, quantization.get(), setting,
                                       nullptr, questions_));
    const HiddenChange change = CompareHidden(*quantization, spec.evaluation());
    setting.measurements["hidden_change"] = change.relative / static_cast<double>(change.tokens);
    setting.measurements["sentence_similarity"] = change.similarity / static_cast<double>(change.sequences);
    Report(name, result, setting);
    return absl::OkStatus();
  }

  HiddenChange CompareHidden(Quantization& quantization, const v1::EvaluationSpec& evaluation) {
    const c10::InferenceMode inference;
    HiddenChange change;
    for (std::int64_t i = 0; i < Batches(); ++i) {
      const Batch batch = dataset_->ValidationBatch(i, evaluation.batch_size(), evaluation.mask_seed());
      const ModelInput input = InputOf(batch, device_);
      LastHidden exact(LayersOf(spec_.model())), rounded(LayersOf(spec_.model()));
      model_->Logits(input, &exact);
      TapChain chain({&quantization, &rounded});
      model_->Logits(input, &chain);
      change.Add(exact.value, rounded.value);
    }
    return change;
  }

  void Report(const std::string& name, const EvaluationResult& result, SettingSink& setting) {
    ReportEvaluation(result, baseline_, /*step=*/0, setting);
    if (!has_head_) {
      for (const char* of_the_head :
           {"loss", "perplexity", "token_perplexity", "bits_per_byte", "accuracy", "unigram_perplexity"})
        setting.measurements.erase(of_the_head);
    }
    sink_({{"setting", {{"name", name}, {"measurements", setting.measurements}, {"sites", setting.sites}}}});
  }

  const v1::AnalysisSpec& request_;
  const AnalysisSink& sink_;
  c10::Device device_ = c10::kCPU;
  v1::TrialSpec spec_;
  std::shared_ptr<Model> model_;
  bool has_head_ = true;  // For these data.
  std::unique_ptr<Dataset> dataset_;
  std::vector<Question> questions_;
  Baseline baseline_;  // Of the texts, so the same for all settings; only with a head.
};

}  // namespace

absl::Status Analyze(const v1::AnalysisSpec& spec, const AnalysisSink& sink) {
  return Analysis(spec, sink).Run();
}

}  // namespace inlier
