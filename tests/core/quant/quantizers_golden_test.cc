// Grids and range estimators against the reference implementation's numbers (tests/golden/quantizers).
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/quant/quantizer.h"
#include "core/quant/range_estimator.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"

namespace inlier {
namespace {

using nlohmann::json;

// The reference's float arithmetic is reproduced to the last bit; the tolerance is that of decimal printing.
constexpr Tolerance kExact = {.absolute = 1e-30, .relative = 1e-12};

at::Tensor Numbers(const json& values) {
  return torch::tensor(values.get<std::vector<double>>(), torch::kDouble);
}

void CompareRange(GoldenComparison& compare, const std::string& what, const ValueRange& range,
                  const json& expected, Tolerance tolerance) {
  compare.Tensors(what + " range_min", torch::tensor(range.minimum, torch::kDouble),
                  Numbers(expected["range_min"]), tolerance);
  compare.Tensors(what + " range_max", torch::tensor(range.maximum, torch::kDouble),
                  Numbers(expected["range_max"]), tolerance);
}

void CompareGrid(GoldenComparison& compare, const std::string& what, const Quantizer& quantizer,
                 const json& expected, Tolerance tolerance) {
  const QuantizationGrid& grid = quantizer.grid();
  const at::Tensor scale = torch::tensor(grid.scale, torch::kDouble);
  const at::Tensor zero_point = torch::tensor(grid.zero_point, torch::kDouble);
  CompareRange(compare, what, quantizer.range(), expected, tolerance);
  compare.Tensors(what + " scale", scale, Numbers(expected["scale"]), tolerance);
  const at::Tensor expected_zero_point = Numbers(expected["zero_point"]);
  compare.Tensors(what + " zero_point", zero_point, expected_zero_point.expand_as(zero_point), kExact);
  compare.Number(what + " int_min", grid.integer_min, expected["int_min"], kExact);
  compare.Number(what + " int_max", grid.integer_max, expected["int_max"], kExact);
  if (expected.contains("signed"))
    compare.Number(what + " signed", grid.is_signed, expected["signed"].get<bool>(), kExact);
}

QuantizerOptions Options(bool symmetric, int bits, RangeMethod method) {
  return {.bits = bits,
          .symmetric = symmetric,
          .per_channel = false,
          .method = method,
          .momentum = 0.9,
          .percentile = std::nullopt};
}

// "<tensor>/<symmetric|asymmetric>/<bits>".
void CompareMinMax(GoldenComparison& compare, const GoldenCase& golden, bool per_channel) {
  for (const auto& [key, expected] : golden.json["expected"].items()) {
    const std::vector<std::string> part = absl::StrSplit(key, '/');
    QuantizerOptions options = Options(part[1] == "symmetric", std::stoi(part[2]), RangeMethod::kMinMax);
    options.per_channel = per_channel;
    const at::Tensor x = golden.Tensor("input/" + part[0]);
    Quantizer quantizer(options.bits, options.symmetric);
    quantizer.SetRange(MakeRangeEstimator(options)->Update(x));
    CompareGrid(compare, key, quantizer, expected, kExact);
    compare.Tensor("out/" + key, quantizer.Apply(x), {.absolute = 1e-30, .relative = 1e-12});
  }
}

// "<tensor>/<symmetric|asymmetric>/<bits>[/momentum<m>]", a list with one entry a batch.
void CompareRunningMinMax(GoldenComparison& compare, const GoldenCase& golden, double momentum,
                          std::optional<double> percentile) {
  for (const auto& [key, expected] : golden.json["expected"].items()) {
    const std::vector<std::string> part = absl::StrSplit(key, '/');
    QuantizerOptions options =
        Options(part[1] == "symmetric", std::stoi(part[2]), RangeMethod::kRunningMinMax);
    options.momentum = momentum;
    if (part.size() > 3) options.momentum = std::stod(part[3].substr(std::string("momentum").size()));
    options.percentile = percentile;
    const at::Tensor batches = golden.Tensor("input/" + part[0]);
    const auto estimator = MakeRangeEstimator(options);
    Quantizer quantizer(options.bits, options.symmetric);
    for (std::int64_t i = 0; i < batches.size(0); ++i) {
      quantizer.SetRange(estimator->Update(batches[i]));
      const std::string what = absl::StrCat(key, "[", i, "]");
      CompareGrid(compare, what, quantizer, expected[i],
                  percentile ? Tolerance{.absolute = 1e-12, .relative = 1e-12} : kExact);
      compare.Tensors(what, quantizer.Apply(batches[i]), golden.Tensor("out/" + key)[i],
                      {.absolute = 1e-30, .relative = 1e-12});
    }
  }
}

void CompareChoice(GoldenComparison& compare, const std::string& key, const MseGridEstimator& estimator,
                   const json& expected) {
  const std::vector<int> index(estimator.chosen_index());
  const json& wanted = expected["chosen_index"];
  for (std::size_t i = 0; i < index.size(); ++i) {
    compare.Number(key + " chosen_index", index[i], wanted.is_array() ? wanted[i] : wanted, kExact);
  }
  if (expected.contains("best_loss") && expected["best_loss"].is_number()) {
    compare.Number(key + " best_loss", estimator.loss()[0], expected["best_loss"],
                   {.absolute = 1e-30, .relative = 1e-6});
  }
}

// "<tensor>/<bits>/<batch>", by channel "<tensor>/<bits>". The batches of one tensor follow each other.
void CompareGridSearch(GoldenComparison& compare, const GoldenCase& golden, bool per_channel) {
  std::size_t compared = 0;
  const json& all = golden.json["expected"];
  for (const auto& [first_key, first] : all.items()) {
    std::vector<std::string> part = absl::StrSplit(first_key, '/');
    if (!per_channel && part.at(2) != "0") continue;
    const int bits = std::stoi(part.at(1));
    MseGridEstimator estimator(bits, /*symmetric=*/true, per_channel);
    Quantizer quantizer(bits, /*symmetric=*/true);
    for (int batch = 0;; ++batch) {
      const std::string suffix = per_channel ? "" : absl::StrCat("/", batch);
      const std::string key = absl::StrCat(part[0], "/", part[1], suffix);
      if (!all.contains(key)) break;
      const at::Tensor x = golden.Tensor(absl::StrCat("input/", part[0], suffix));
      quantizer.SetRange(estimator.Update(x));
      CompareChoice(compare, key, estimator, all[key]);
      CompareGrid(compare, key, quantizer, all[key], kExact);
      compare.Tensor("out/" + key, quantizer.Apply(x), {.absolute = 1e-30, .relative = 1e-12});
      ++compared;
      if (per_channel) break;
    }
  }
  compare.Number("searches", static_cast<double>(compared), static_cast<double>(all.size()), {});
}

void CompareTwoDimensionalGrid(GoldenComparison& compare, const GoldenCase& golden, int bits) {
  for (const auto& [key, expected] : golden.json["expected"].items()) {
    const at::Tensor batches = golden.Tensor("input/" + key).to(torch::kDouble);
    MseGridEstimator estimator(bits, /*symmetric=*/false, /*per_channel=*/false);
    Quantizer quantizer(bits, /*symmetric=*/false);
    for (std::int64_t i = 0; i < batches.size(0); ++i) {
      quantizer.SetRange(estimator.Update(batches[i]));
      const std::string what = absl::StrCat(key, "[", i, "]");
      CompareGrid(compare, what, quantizer, expected[i], {.absolute = 1e-30, .relative = 1e-12});
      compare.Tensors(what, quantizer.Apply(batches[i]), golden.Tensor("out/" + key)[i],
                      {.absolute = 1e-12, .relative = 1e-12});
    }
  }
}

// The path of the search depends on the last bit of the summed loss; the loss that it reaches must be as good
// as the reference's.
void CompareBoundedSearch(GoldenComparison& compare, const GoldenCase& golden) {
  int same_range = 0, searches = 0;
  for (const auto& [key, expected] : golden.json["expected"].items()) {
    const std::vector<std::string> part = absl::StrSplit(key, '/');
    const bool symmetric = part[1] == "symmetric";
    const int bits = std::stoi(part[2]);
    const at::Tensor batches = golden.Tensor("input/" + part[0]).to(torch::kDouble);
    MseSearchEstimator estimator(bits, symmetric);
    for (std::int64_t i = 0; i < batches.size(0); ++i) {
      const ValueRange range = estimator.Update(batches[i]);
      const double loss = RoundingError(batches[i], range, bits, symmetric, false)[0];
      const double wanted = expected[i]["loss"];
      compare.Number(absl::StrCat(key, "[", i, "] loss beyond 1.02 of the reference's"),
                     std::max(loss - 1.02 * wanted, 0.0), 0, {.absolute = 1e-12});
      ++searches;
      if (std::abs(range.maximum[0] - expected[i]["range_max"][0].get<double>()) <
          1e-6 * std::abs(range.maximum[0]))
        ++same_range;
    }
  }
  std::printf("    the same range in %d of %d searches\n", same_range, searches);
}

// "p<lower percentile>/per_channel=<True|False>".
void ComparePercentiles(GoldenComparison& compare, const GoldenCase& golden) {
  const at::Tensor x = golden.Tensor("input/x");
  for (const auto& [key, expected] : golden.json["expected"].items()) {
    QuantizerOptions options = Options(/*symmetric=*/true, /*bits=*/8, RangeMethod::kPercentile);
    options.percentile = 100.0 - std::stod(key.substr(1));
    options.per_channel = absl::EndsWith(key, "True");
    CompareRange(compare, key, MakeRangeEstimator(options)->Update(x), expected,
                 {.absolute = 1e-12, .relative = 1e-12});
  }
}

// The settings in the file of a case, by its keys.
struct Settings {
  at::ScalarType dtype = torch::kFloat32;
  bool per_channel = false;
  double momentum = 0;
  std::optional<double> percentile;
  int bits = 0;  // Where they are not in the keys of the results.
};

// Nothing where a key is not read.
std::optional<Settings> ReadSettings(const GoldenCase& golden) {
  CaseSettings file(golden, "");
  file.DescribesTheFile();
  file.Describes({"estimator"});
  // MSE grids have them, and no other case.
  file.Require("candidates", 100);
  file.Require("margin", 0.5);
  Settings settings;
  if (file.OneOf("dtype", {"float32", "float64"}) == "float64") settings.dtype = torch::kFloat64;
  settings.per_channel = file.ValueOr("per_channel", false);
  settings.momentum = file.ValueOr("momentum", 0.0);
  if (file.Has("percentile")) settings.percentile = file.At("percentile").get<double>();
  if (file.Has("bits") && file.At("bits").is_number()) settings.bits = file.At("bits");
  if (!file.AllUsed()) return std::nullopt;
  return settings;
}

TEST(QuantizersGoldenTest, GridsAndRangesAreThoseOfTheReference) {
  GoldenReport report("quantizers");
  for (const GoldenCase& golden : FindGoldenCases("quantizers")) {
    const std::optional<Settings> settings = ReadSettings(golden);
    if (!report.Accepts(golden, settings.has_value())) continue;
    GoldenComparison compare(report, golden, settings->dtype);
    if (absl::StartsWith(golden.name, "minmax_per_")) {
      CompareMinMax(compare, golden, settings->per_channel);
    } else if (absl::StartsWith(golden.name, "running_minmax")) {
      CompareRunningMinMax(compare, golden, settings->momentum, settings->percentile);
    } else if (absl::StartsWith(golden.name, "mse_grid_symmetric")) {
      CompareGridSearch(compare, golden, /*per_channel=*/false);
    } else if (absl::StartsWith(golden.name, "mse_grid_per_channel")) {
      CompareGridSearch(compare, golden, /*per_channel=*/true);
    } else if (absl::StartsWith(golden.name, "mse_grid_asymmetric")) {
      CompareTwoDimensionalGrid(compare, golden, settings->bits);
    } else if (absl::StartsWith(golden.name, "mse_bounded")) {
      CompareBoundedSearch(compare, golden);
    } else if (absl::StartsWith(golden.name, "current_minmax_percentile")) {
      ComparePercentiles(compare, golden);
    } else {
      ADD_FAILURE() << "quantizers/" << golden.name << ": no comparison is known for this case";
    }
  }
  report.Finish();
}

}  // namespace
}  // namespace inlier
