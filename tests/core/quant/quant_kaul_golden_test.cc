// absmax and zeropoint quantization against the numbers of the papers' formulas (tests/golden/quant_kaul):
// tensors, and whole models.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/quant/linear/linear_quantization.h"
#include "core/quant/slice_grid.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"

namespace inlier {
namespace {

using nlohmann::json;

void CompareTensor(GoldenReport& report, const GoldenCase& golden, at::ScalarType dtype) {
  CaseSettings file(golden, "");
  file.DescribesTheFile();
  const json& dims = file.At("reduction_dims");
  const std::vector<std::int64_t> axes =
      dims.is_array() ? dims.get<std::vector<std::int64_t>>() : std::vector<std::int64_t>{};
  const int bits = file.At("bits");
  const std::string function = file.OneOf("function", {"absmax", "zeropoint"});
  if (!report.Accepts(golden, file.AllUsed())) return;
  GoldenComparison compare(report, golden, dtype);
  const at::Tensor x = golden.Tensor("input/x").to(dtype);
  const SliceGrid grid = function == "absmax" ? AbsmaxGrid(x, bits, axes) : ZeropointGrid(x, bits, axes);
  const at::Tensor rounded = RoundToGrid(x, grid);

  const json& tolerances = TolerancesOf(golden, dtype);
  compare.Tensor("out/dequantised", rounded, {.relative = tolerances["dequantised_rel"]});
  // A slice without extent is unchanged, and has neither a scale nor integers.
  const at::Tensor has_extent = golden.Tensor("out/scale").ne(0).reshape(grid.scale.sizes());
  const auto with_extent = [](const at::Tensor& values, const at::Tensor& which) {
    return values.masked_select(which.expand_as(values));
  };
  const auto stored = [&](const char* key, const at::Tensor& shaped_as) {
    return golden.Tensor(key).reshape(shaped_as.sizes());
  };
  compare.Tensors("out/scale", with_extent(grid.scale, has_extent),
                  with_extent(stored("out/scale", grid.scale), has_extent),
                  {.relative = tolerances["scale_rel"]});
  compare.Tensors("out/q", with_extent(RoundToIntegers(x, grid), has_extent),
                  with_extent(golden.Tensor("out/q"), has_extent), {});
  if (golden.Has("out/zero")) {
    compare.Tensors("out/zero", with_extent(grid.zero_point, has_extent),
                    with_extent(stored("out/zero", grid.zero_point), has_extent), {});
  }
  if (dtype == torch::kFloat64) {
    compare.Number("sum of squared errors", (rounded - x).square().sum().item<double>(),
                   golden.json["expected"]["sum_squared_error"], {.absolute = 1e-12, .relative = 1e-9});
  }
}

ScaleScope ScopeOf(const std::string& granularity) {
  if (granularity == "tensor") return ScaleScope::kTensor;
  if (granularity == "row" || granularity == "token") return ScaleScope::kRow;
  EXPECT_EQ(granularity, "feature");
  return ScaleScope::kColumn;
}

// "absmax_row", "zeropoint_tensor", "none" or nothing at all.
std::optional<LinearQuantizationOptions::Part> ReadPart(CaseSettings& scheme, const char* part,
                                                        LinearQuantizationOptions* options) {
  const std::string name = scheme.ValueOr<std::string>(part, "none");
  if (name == "none") return std::nullopt;
  const std::size_t underscore = name.find('_');
  const std::string grid = name.substr(0, underscore);
  EXPECT_TRUE(grid == "absmax" || grid == "zeropoint") << name;
  options->grid = grid == "absmax" ? LinearQuantizationOptions::Grid::kAbsmax
                                   : LinearQuantizationOptions::Grid::kZeropoint;
  return LinearQuantizationOptions::Part{.bits = scheme.At("bits"),
                                         .scope = ScopeOf(name.substr(underscore + 1))};
}

// `all_used` false where a key is not read.
struct Scheme {
  LinearQuantizationOptions options;
  bool all_used;
};

Scheme ReadScheme(const GoldenCase& golden) {
  CaseSettings file(golden, ""), scheme(golden, "scheme");
  file.DescribesTheFile();
  file.Describes({"scheme", "params_from"});
  LinearQuantizationOptions options = {};
  options.weights = ReadPart(scheme, "weights", &options);
  options.inputs = ReadPart(scheme, "activations", &options);
  options.outputs = ReadPart(scheme, "outputs", &options);
  options.calibrated = scheme.ValueOr("static", false);
  options.head = file.At("quantise_lm_head");
  return {options, All({file.AllUsed(), scheme.AllUsed()})};
}

LinearQuantizationOptions OptionsOf(const GoldenCase& golden) { return ReadScheme(golden).options; }

// Keeps the inputs and outputs of the linears in the order of execution.
class Recorder : public ActivationTap {
 public:
  at::Tensor OnLinearInput(const std::string& site, const at::Tensor& input) override {
    return Keep(site, QuantizedPart::kInput, input);
  }
  at::Tensor OnLinearOutput(const std::string& site, const at::Tensor& output) override {
    return Keep(site, QuantizedPart::kOutput, output);
  }

  struct Seen {
    std::string site;
    QuantizedPart part;
    at::Tensor tensor;
  };
  std::vector<Seen> seen;
  // Of the first tensor, in place; to make a float run differ from the double one.
  std::function<void(at::Tensor&)> change;

 private:
  at::Tensor Keep(const std::string& site, QuantizedPart part, const at::Tensor& tensor) {
    seen.push_back({site, part, tensor.detach().clone()});
    if (change && seen.size() == 1) change(seen.front().tensor);
    return seen.back().tensor;
  }
};

// One precision's run of a case.
struct Run {
  explicit Run(const LinearQuantizationOptions& options)
      : quantization(options, v1::ModelSpec::ARCHITECTURE_NOT_SET) {}

  LinearQuantization quantization;
  at::Tensor float_logits;
  // Of the first batch.
  at::Tensor logits;
  std::vector<QuantizerReport> table;
  Recorder before, after;  // Rounding.
  std::vector<double> losses;
  std::vector<double> float_losses;
};

ModelInput InputOf(const at::Tensor& ids) {
  ModelInput input;
  input.ids = ids;
  return input;
}

std::unique_ptr<Run> RunModel(const GoldenCase& golden, at::ScalarType dtype,
                              const std::function<void(at::Tensor&)>& change = nullptr) {
  const auto model = ModelOfCase(golden, dtype);
  if (model == nullptr) return nullptr;
  const torch::NoGradGuard no_grad;
  auto run = std::make_unique<Run>(OptionsOf(golden));
  run->before.change = change;
  if (run->quantization.needs_calibration()) {
    for (const at::Tensor& ids : golden.Tensor("input/calibration_ids").unbind(0)) {
      model->Logits(InputOf(ids), &run->quantization);
    }
  }
  EXPECT_TRUE(run->quantization.Freeze().ok());
  for (const at::Tensor& ids : golden.Tensor("input/input_ids").unbind(0)) {
    const ModelInput input = InputOf(ids);
    if (!run->logits.defined()) {
      run->float_logits = model->Logits(input);
      TapChain taps({&run->before, &run->quantization, &run->after});
      run->logits = model->Logits(input, &taps);
      run->table = run->quantization.Table();
    }
    run->float_losses.push_back(model->Loss(input, ids).item<double>());
    run->losses.push_back(model->Loss(input, ids, &run->quantization).item<double>());
  }
  return run;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

const QuantizerReport* Find(const std::vector<QuantizerReport>& table, const std::string& site,
                            QuantizedPart part) {
  for (const QuantizerReport& report : table) {
    if (report.site == site && report.part == part) return &report;
  }
  return nullptr;
}

struct ListedScale {
  const char* key;
  QuantizedPart part;
};
constexpr ListedScale kListedScales[] = {{"weight_scale", QuantizedPart::kWeight},
                                         {"input_scale", QuantizedPart::kInput},
                                         {"output_scale", QuantizedPart::kOutput}};

// Exactly the linears that the case lists are quantized; where it lists scales they are equal.
void CompareScales(GoldenComparison& compare, const GoldenCase& golden, const Run& run, double tolerance) {
  const LinearQuantizationOptions options = OptionsOf(golden);
  const json& listed = golden.json["expected"]["scales_batch0"];
  const std::size_t parts =
      options.weights.has_value() + options.inputs.has_value() + options.outputs.has_value();
  compare.Number("number of quantizers", static_cast<double>(run.table.size()),
                 static_cast<double>(listed.size() * parts), {});
  for (const json& linear : listed) {
    const std::string site = linear["linear"];
    ASSERT_NE(Find(run.table, site, options.weights ? QuantizedPart::kWeight : QuantizedPart::kInput),
              nullptr)
        << site;
    for (const ListedScale& scale : kListedScales) {
      if (!linear.contains(scale.key)) continue;
      const QuantizerReport* report = Find(run.table, site, scale.part);
      ASSERT_NE(report, nullptr) << site << " " << scale.key;
      compare.Number(absl::StrCat(site, " ", scale.key), report->grid.scale.at(0), linear[scale.key],
                     {.relative = tolerance});
    }
  }
}

// The scales of an activation in the shape of `x`: one, or one for each token or feature.
at::Tensor ScalesFor(const at::Tensor& x, const QuantizerReport& report, ScaleScope scope) {
  std::vector<std::int64_t> shape(x.dim(), 1);
  if (scope == ScaleScope::kRow) shape = x.sizes().vec();
  shape.back() = scope == ScaleScope::kColumn ? x.size(-1) : 1;
  return torch::tensor(report.grid.scale, torch::kFloat64).reshape(shape);
}

// Farther from a tie, in steps, float and double round a value alike: it has an error of some 1e-6 of the largest
// value, which is 127 steps of eight bits.
constexpr double kTieSteps = 1e-3;

// True when the two runs first differ by rounding flips: in one activation there are values that float rounds to
// another integer than double, all of them next to a tie. What follows differs then, too.
bool AnActivationFlipped(const LinearQuantizationOptions& options, const Run& in_float,
                         const Run& in_double) {
  for (std::size_t i = 0; i < in_double.before.seen.size(); ++i) {
    const Recorder::Seen& at = in_double.before.seen[i];
    const auto part = at.part == QuantizedPart::kInput ? options.inputs : options.outputs;
    const QuantizerReport* report = Find(in_double.table, at.site, at.part);
    if (!part || report == nullptr) continue;
    const at::Tensor scale = ScalesFor(at.tensor, *report, part->scope);
    const at::Tensor difference =
        in_float.after.seen[i].tensor.to(torch::kFloat64) - in_double.after.seen[i].tensor;
    const at::Tensor moved = (difference / scale).abs().gt(0.5);
    if (!moved.any().item<bool>()) continue;
    const at::Tensor steps = at.tensor / scale;
    const at::Tensor to_tie = (steps - steps.floor() - 0.5).abs();
    return to_tie.masked_select(moved).max().item<double>() < kTieSteps;
  }
  return false;
}

void CompareQuantizedModel(GoldenComparison& compare, const GoldenCase& golden, at::ScalarType dtype) {
  const auto run = RunModel(golden, dtype);
  ASSERT_NE(run, nullptr);
  const json& tolerances = TolerancesOf(golden, dtype);
  double logits_tolerance = tolerances["logits_relmax"], loss_tolerance = tolerances["loss_abs"];
  const double scale_tolerance = tolerances.value("scales_rel", 1e-9);
  compare.Tensor("out/logits_float_model", run->float_logits,
                 RelativeToLargest(logits_tolerance, golden.Tensor("out/logits_float_model")));
  if (dtype == torch::kFloat32) {
    const auto in_double = RunModel(golden, torch::kFloat64);
    for (const json& linear : golden.json["expected"]["scales_batch0"]) {
      const std::string site = linear["linear"];
      if (const auto exact = in_double->quantization.QuantizedWeight(site)) {
        compare.Tensors(site + " rounded", run->quantization.QuantizedWeight(site).value(), *exact,
                        {.absolute = 1e-12, .relative = scale_tolerance});
      }
    }
    // The case's own tolerance of a flip (docs/decisions/0020-golden-tolerances.md).
    if (AnActivationFlipped(OptionsOf(golden), *run, *in_double)) {
      std::printf("    %s: a rounding flipped in float32\n", golden.name.c_str());
      logits_tolerance = 2e-2;
      loss_tolerance = 1e-2;
    }
  }
  compare.Tensor("out/logits", run->logits, RelativeToLargest(logits_tolerance, golden.Tensor("out/logits")));
  const json& expected = golden.json["expected"];
  const Tolerance loss = {.absolute = loss_tolerance};
  for (std::size_t i = 0; i < run->losses.size(); ++i) {
    compare.Number(absl::StrCat("loss of batch ", i), run->losses[i], expected["loss_per_batch"].at(i), loss);
    compare.Number(absl::StrCat("float loss of batch ", i), run->float_losses[i],
                   expected["loss_float_model_per_batch"].at(i), loss);
  }
  compare.Number("loss", Mean(run->losses), expected["loss"], loss);
  CompareScales(compare, golden, *run, scale_tolerance);
}

GoldenCase WithParameters(const GoldenCase& golden, const std::vector<GoldenCase>& cases) {
  return WithModelOf(golden, cases, golden.json["params_from"]);
}

class QuantKaulGoldenTest : public testing::TestWithParam<at::ScalarType> {};

TEST_P(QuantKaulGoldenTest, TensorsAndModelsAreRoundedAsInThePaper) {
  GoldenReport report("quant_kaul");
  const std::vector<GoldenCase> cases = FindGoldenCases("quant_kaul");
  for (const GoldenCase& golden : cases) {
    if (golden.json.contains("function")) {
      CompareTensor(report, golden, GetParam());
    } else if (golden.json.contains("scheme")) {
      const GoldenCase complete = WithParameters(golden, cases);
      if (report.SkipWhatIsNotSupported(complete) || !complete.spec) continue;
      if (!report.Accepts(golden, ReadScheme(golden).all_used)) continue;
      GoldenComparison compare(report, complete, GetParam());
      CompareQuantizedModel(compare, complete, GetParam());
    } else if (!golden.json.contains("spec")) {  // Else the parameters of other cases.
      ADD_FAILURE() << "quant_kaul/" << golden.name << ": no comparison is known for this case";
    } else {
      report.Accepts(golden, FileIsUsed(golden) && SpecIsUsed(golden));
    }
  }
  report.Finish();
}

// A flip, made to happen: the value next to a tie is moved over it, and then one that is farther from it.
TEST(QuantKaulFlipTest, OnlyARoundingNextToATieIsAFlip) {
  const std::vector<GoldenCase> cases = FindGoldenCases("quant_kaul");
  // The first whose inputs are rounded, and in which nothing flips by itself.
  const auto found = std::find_if(cases.begin(), cases.end(), [&cases](const GoldenCase& golden) {
    if (!golden.json.contains("scheme") || !OptionsOf(golden).inputs) return false;
    const GoldenCase complete = WithParameters(golden, cases);
    return complete.spec && !AnActivationFlipped(OptionsOf(golden), *RunModel(complete, torch::kFloat32),
                                                 *RunModel(complete, torch::kFloat64));
  });
  if (found == cases.end() && std::getenv("INLIER_GOLDEN_DIR") != nullptr)
    GTEST_SKIP() << "no case with rounded inputs in " << GoldenRoot();  // Another folder need not have one.
  ASSERT_NE(found, cases.end());
  const GoldenCase golden = WithParameters(*found, cases);
  const LinearQuantizationOptions options = OptionsOf(golden);
  const auto in_double = RunModel(golden, torch::kFloat64);
  const Recorder::Seen& first = in_double->before.seen.at(0);
  const at::Tensor scale =
      ScalesFor(first.tensor, *Find(in_double->table, first.site, first.part), options.inputs->scope);
  const at::Tensor steps = first.tensor / scale;
  const at::Tensor over_tie = steps.floor() + 0.5 - steps;  // How far the tie is.
  // Moves one value over its tie, in the double run to next to it.
  const auto moved = [&](double double_distance) {
    const std::int64_t k = over_tie.abs().argmin().item<std::int64_t>();
    const double tie = (steps.floor() + 0.5).flatten()[k].item<double>();
    const double step = scale.expand_as(steps).flatten()[k].item<double>();
    const auto set = [k](double value) { return [k, value](at::Tensor& x) { x.view(-1)[k] = value; }; };
    const auto exact = RunModel(golden, torch::kFloat64, set((tie - double_distance) * step));
    const auto other = RunModel(golden, torch::kFloat32, set((tie + 0.01) * step));
    return AnActivationFlipped(options, *other, *exact);
  };
  EXPECT_FALSE(AnActivationFlipped(options, *RunModel(golden, torch::kFloat32), *in_double));
  EXPECT_TRUE(moved(kTieSteps / 2));
  EXPECT_FALSE(moved(kTieSteps * 10)) << "no error of float is as large";
}

INSTANTIATE_TEST_SUITE_P(Precisions, QuantKaulGoldenTest, testing::Values(torch::kFloat64, torch::kFloat32),
                         PrecisionName);

}  // namespace
}  // namespace inlier
