// Whole trainings of 10 to 30 updates against the reference: every loss, rate, gradient norm and final
// parameter, in float64 and float32.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "core/optim/gradient_norm.h"
#include "core/optim/make_optimizer.h"
#include "core/train/training_step.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"

namespace inlier {
namespace {

// The settings of a case's `optimizer`.
struct Recipe {
  v1::OptimizerSpec optimizer;
  LrSchedule schedule;  // With the arguments that the reference's script passes on.
  double max_norm;      // 0: none.
  int gradient_accumulation;
  bool all_used;
};

Recipe ReadRecipe(const GoldenCase& golden) {
  CaseSettings file(golden, "");
  file.DescribesTheFile();
  file.Describes({"optimizer", "batch_size", "num_sequences", "batches"});
  file.Require("dropout", 0);
  CaseSettings settings(golden, "optimizer");
  settings.OneOf("name", {"AdamW"});
  settings.Describes({"warmup_updates", "total_updates", "final_lr_fraction"});  // Of a test of their own.
  Recipe recipe;
  v1::AdamWSpec& adamw = *recipe.optimizer.mutable_adamw();
  adamw.set_learning_rate(settings.At("lr"));
  adamw.set_beta1(settings.At("betas").at(0));
  adamw.set_beta2(settings.At("betas").at(1));
  adamw.set_epsilon(settings.At("eps"));
  adamw.set_weight_decay(settings.At("weight_decay"));
  adamw.set_decay_norm_gamma(settings.At("weight_decay_layer_norm"));
  recipe.schedule = {LrSchedule::Decay::kLinear, settings.At("lr"), settings.At("schedule_warmup_argument"),
                     settings.At("schedule_total_argument")};
  recipe.max_norm = settings.ValueOr("max_grad_norm", 0.0);
  recipe.gradient_accumulation = settings.At("gradient_accumulation");
  recipe.all_used = All({file.AllUsed(), settings.AllUsed(), SpecIsUsed(golden)});
  return recipe;
}

bool IsKeyBias(const std::string& name) {
  return name.find(".key.bias") != std::string::npos || name.find(".k_proj.bias") != std::string::npos;
}

// Of the environment variable INLIER_TEST_DEVICE; bench/gpu/run sets it.
c10::Device TestDevice() {
  const char* const name = std::getenv("INLIER_TEST_DEVICE");
  return c10::Device(name == nullptr ? "cpu" : name);
}

ModelInput OnDevice(ModelInput input, c10::Device device) {
  for (at::Tensor* x : {&input.ids, &input.attention_mask, &input.token_type_ids}) {
    if (x->defined()) *x = x->to(device);
  }
  return input;
}

constexpr layer::Products kEngines[] = {layer::Products::kReference, layer::Products::kFloat32};

// Runs the case's training and compares on the way.
void CompareTraining(const GoldenCase& golden, at::ScalarType dtype, layer::Products products,
                     GoldenReport& report) {
  const Recipe recipe = ReadRecipe(golden);
  if (!report.Accepts(golden, recipe.all_used)) return;
  const nlohmann::json& expected = golden.json.at("expected");
  const bool is_double = dtype == at::kDouble;
  const auto model = ModelOfCase(golden, dtype);
  ASSERT_NE(model, nullptr);
  const c10::Device device = TestDevice();
  if (products != layer::Products::kReference &&
      (!device.is_cpu() || !model->can_fuse(layer::Place::kCpuFloat32))) {
    return;
  }
  model->to(device);
  model->train();
  const std::vector<NamedParameter> parameters = ParametersOf(*model);
  TrainingStep step(*model, MakeOptimizer(recipe.optimizer, parameters),
                    {.schedule = recipe.schedule,
                     .gradient_clip_norm = recipe.max_norm,
                     .gradient_accumulation = recipe.gradient_accumulation,
                     .precision = v1::FLOAT32,
                     .products = products});

  GoldenComparison compare(report, golden, dtype);
  const std::int64_t rows = golden.json.at("num_sequences"), batch_size = golden.json.at("batch_size");
  const std::int64_t batches_a_pass = (rows + batch_size - 1) / batch_size;
  std::size_t micro_batch = 0;
  double sum_of_rates = 0;
  for (const nlohmann::json& update : expected.at("updates")) {
    const std::string which = "update " + update.at("update").dump();
    for (int i = 0; i < update.at("micro_batches").get<int>(); ++i, ++micro_batch) {
      const std::int64_t first = static_cast<std::int64_t>(micro_batch) % batches_a_pass * batch_size;
      const std::int64_t count = std::min(batch_size, rows - first);
      const at::Tensor loss =
          step.AddMicroBatch(OnDevice(InputOfCase(golden, "input/", first, count), device),
                             LabelsOfCase(golden, "input/", first, count).to(device));
      const double wanted = expected.at("micro_batches").at(micro_batch).at("loss");
      compare.Number("loss of " + which, loss.item<double>(), wanted, {.absolute = is_double ? 1e-9 : 1e-4});
    }
    const TrainingStep::Applied applied = step.Apply(update.at("update"));
    compare.Number("rate of " + which, applied.learning_rate, update.at("lr"), {.relative = 1e-12});
    compare.Number("gradient norm of " + which, applied.gradient_norm.item<double>(),
                   update.at("grad_norm_before_clip"), {.relative = is_double ? 1e-8 : 1e-3});
    sum_of_rates += applied.learning_rate;
  }
  EXPECT_EQ(micro_batch, expected.at("micro_batches").size()) << golden.name;
  for (const auto& [name, parameter] : parameters) {
    // A key bias has a true gradient of 0: in float32 AdamW divides noise by its own size.
    const double allowed = is_double ? 1e-6 : IsKeyBias(name) ? sum_of_rates : 2e-4;
    compare.Tensor("out/final_param/" + name, parameter.detach().cpu(), {.absolute = allowed});
  }
}

class EveryUpdateTest : public testing::TestWithParam<at::ScalarType> {};

TEST_P(EveryUpdateTest, MatchesTheReference) {
  GoldenReport report("training_steps");
  for (const GoldenCase& golden : FindGoldenCases("training_steps")) {
    if (report.SkipWhatIsNotSupported(golden)) continue;
    for (const layer::Products products : kEngines) CompareTraining(golden, GetParam(), products, report);
  }
  report.Finish();
}

INSTANTIATE_TEST_SUITE_P(TrainingStepsGoldenTest, EveryUpdateTest, testing::Values(at::kDouble, at::kFloat),
                         PrecisionName);

TEST(TrainingStepsGoldenTest, WeightDecayActsOnTheReferencesParameters) {
  for (const GoldenCase& golden : FindGoldenCases("training_steps")) {
    if (!golden.spec) continue;
    const auto names = [](const auto& list) { return std::set<std::string>(list.begin(), list.end()); };
    const ParameterGroups groups =
        SplitForDecay(ParametersOf(*ModelOfCase(golden, at::kFloat)),
                      golden.json.at("optimizer").at("weight_decay_layer_norm").get<bool>());
    std::set<std::string> decayed, not_decayed;
    for (const auto& [name, tensor] : groups.decayed) decayed.insert(name);
    for (const auto& [name, tensor] : groups.not_decayed) not_decayed.insert(name);
    EXPECT_EQ(decayed, names(golden.json.at("expected").at("decayed"))) << golden.name;
    EXPECT_EQ(not_decayed, names(golden.json.at("expected").at("not_decayed"))) << golden.name;
  }
}

TEST(TrainingStepsGoldenTest, ScheduleSpecsGiveTheArgumentsOfTheReference) {
  int compared = 0;
  for (const GoldenCase& golden : FindGoldenCases("training_steps")) {
    const nlohmann::json& settings = golden.json.at("optimizer");
    // The reference's script for BERT counts its schedule in micro-batches, that for OPT in updates, as a trial does.
    const int counted =
        golden.json.at("model") == "bert" ? settings.at("gradient_accumulation").get<int>() : 1;
    v1::ScheduleSpec spec;
    spec.set_warmup_steps(settings.at("warmup_updates").get<int>() * counted);
    spec.mutable_linear()->set_final_fraction(settings.at("final_lr_fraction"));
    const LrSchedule schedule =
        MakeLrSchedule(spec, settings.at("lr"), settings.at("total_updates").get<int>() * counted);
    EXPECT_EQ(schedule.warmup, settings.at("schedule_warmup_argument").get<std::int64_t>()) << golden.name;
    EXPECT_EQ(schedule.total, settings.at("schedule_total_argument").get<std::int64_t>()) << golden.name;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace inlier
