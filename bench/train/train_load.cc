// Training steps of a model on given batches: their time, losses, and where the time goes.
//
//   train_load FOLDER --batches FILE [--softmax TEXT] [--precision FLOAT32] [--engine FUSED] [--threads 2] …
//   train_load --model TEXT --shape STEPS,B,T [--device cuda] …
//
// FOLDER has config.json and model.safetensors; FILE has ids and labels, (steps, B, T) int64, or pixels
// (steps, B, channels, side, side) and labels (steps, B). TEXT is a ModelSpec in protobuf's text form; its weights and
// the batches are drawn. The steps are the trainer's own (core/train/training_step.h). On a GPU the time of a step is
// the mean of all after the warm-up, without waiting between them. Prints JSON.
#include <google/protobuf/text_format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/hugging_face/weights.h"
#include "core/io/safetensors.h"
#include "core/layer_cpu/profile.h"
#include "core/models/make_model.h"
#include "core/train/engine.h"
#include "core/train/training_step.h"
#include "core/trial/runtime.h"

namespace inlier {
namespace {

std::map<std::string, double> profiled;

void AddToProfile(const char* kind, double seconds) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  profiled[kind] += seconds;
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename T>
T Must(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "train_load: %s\n", std::string(result.status().message()).c_str());
  std::exit(1);
}

// ids and labels (steps, B, T): every token a target of a causal model, else 15 %.
TensorMap DrawBatches(const std::vector<std::int64_t>& shape, std::int64_t vocabulary, bool causal) {
  at::manual_seed(1);
  const at::Tensor ids = at::randint(5, vocabulary, shape, at::kLong);
  return {{"ids", ids}, {"labels", causal ? ids : ids.masked_fill(at::rand(shape) > 0.15, kIgnoredLabel)}};
}

// Waits for all work on the model's device.
void WaitFor(const Model& model) { model.parameters().at(0).flatten()[0].item(); }

int Main(int argc, char** argv) {
  std::string folder, batches, model_text, softmax = "vanilla {}", gate = "none {}", precision = "FLOAT32",
                                           engine = "FUSED", device_text = "cpu";
  std::vector<std::int64_t> shape;
  int threads = 2, warm_up = 2, repeats = 1;
  double dropout = 0.1, rate = 1e-3;
  bool profile = false;
  CLI::App app("Training steps of a Hugging Face model folder: their time and losses, as JSON.");
  app.add_option("folder", folder);
  app.add_option("--batches", batches);
  app.add_option("--model", model_text)->excludes("folder");
  app.add_option("--shape", shape)->delimiter(',')->expected(3);
  app.add_option("--device", device_text);
  app.add_option("--softmax", softmax);
  app.add_option("--gate", gate);
  app.add_option("--precision", precision);
  app.add_option("--engine", engine);
  app.add_option("--threads", threads);
  app.add_option("--warm-up", warm_up);
  app.add_option("--repeats", repeats, "Trainings, one after the other.");
  app.add_option("--dropout", dropout);
  app.add_option("--rate", rate, "Constant learning rate of AdamW.");
  app.add_flag("--profile", profile);
  CLI11_PARSE(app, argc, argv);
  if (folder.empty() && model_text.empty()) return app.exit(CLI::RequiredError("FOLDER or --model"));
  SetUpRuntime(threads);

  const c10::Device device = Must(ParseDevice(device_text));
  at::Tensor inputs, labels;  // Of all steps.
  nlohmann::json result;
  std::vector<double> seconds;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    v1::TrialSpec spec;
    if (!folder.empty()) spec = Must(ReadHuggingFaceConfig(folder)).spec;
    const std::string text = "attention { dropout: " + std::to_string(dropout) + " softmax { " + softmax +
                             " } gate { " + gate + " } } dropout: " + std::to_string(dropout) +
                             " training { precision: " + precision + " engine: " + engine +
                             " gradient_clip_norm: 1 schedule { constant {} }" +
                             " optimizer { adamw { learning_rate: " + std::to_string(rate) + " } } }";
    spec.clear_attention();
    if (!google::protobuf::TextFormat::MergeFromString(text, &spec) ||
        !google::protobuf::TextFormat::MergeFromString(model_text, spec.mutable_model())) {
      return 1;
    }
    const std::shared_ptr<Model> model = Must(MakeModel(spec));
    InitialiseWeights(*model, spec, 1);
    if (!folder.empty()) Must(LoadStartingWeights(folder, {.spec = spec}, *model));
    if (repeat == 0) {
      const TensorMap data =
          batches.empty() ? DrawBatches(shape, Must(MakeLanguageModel(spec))->vocab_size(), model->causal())
                          : Must(LoadSafetensors(batches));
      inputs = data.at(data.contains("pixels") ? "pixels" : "ids").to(device);
      labels = data.at("labels").to(device);
    }
    model->to(device);
    model->train();
    const EngineChoice choice = ChooseEngine(spec.training(), *model, device.type());
    result["engine"] = choice.products == layer::Products::kReference ? "REFERENCE" : "FUSED";
    result["reason"] = choice.reason;
    TrainingStep step = MakeTrainingStep(*model, spec.training(), inputs.size(0));
    std::vector<at::Tensor> losses;
    double start = 0;
    for (std::int64_t i = 0; i < inputs.size(0); ++i) {
      if (i == warm_up && profile) layer::cpu::profile_listener = AddToProfile;
      ModelInput input;
      (spec.model().has_vit() ? input.pixels : input.ids) = inputs[i];
      input.dropout_seed = static_cast<std::uint64_t>(i + 1);
      if (i == warm_up) {
        if (!device.is_cpu()) WaitFor(*model);
        start = Now();
      }
      const double begin = Now();
      losses.push_back(step.AddMicroBatch(input, labels[i]));
      if (device.is_cpu()) losses.back().item();
      step.Apply(i);
      if (i >= warm_up && device.is_cpu()) seconds.push_back(Now() - begin);
    }
    if (!device.is_cpu()) {
      WaitFor(*model);
      seconds.push_back((Now() - start) / static_cast<double>(inputs.size(0) - warm_up));
    }
    for (const at::Tensor& loss : losses)
      if (repeat == 0) result["losses"].push_back(loss.item<double>());
  }
  result["gpu_mib"] = PeakGpuMemoryMib();
  std::sort(seconds.begin(), seconds.end());
  const double steps = static_cast<double>(seconds.size());
  double whole = 0;
  for (const double each : seconds) whole += each;
  result["seconds"] = {
      {"median", seconds[seconds.size() / 2]}, {"min", seconds.front()}, {"max", seconds.back()}};
  // Of images their number.
  const double size = static_cast<double>(inputs[0].is_floating_point() ? inputs.size(1) : inputs[0].numel());
  result["tokens_per_second"] = size / seconds[seconds.size() / 2];
  if (profile) {
    double known = 0;
    for (const auto& [kind, time] : profiled) {
      result["profile"][kind] = time / steps;
      known += time;
    }
    result["profile"]["other"] = (whole - known) / steps;
  }
  std::printf("%s\n", result.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) { return inlier::Main(argc, argv); }
