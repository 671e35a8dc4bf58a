// Tensors at the edge under every range estimator: constant ones, tiny and huge ones, and NaN or infinite
// values.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <limits>
#include <string>

#include "core/quant/quantizer.h"
#include "core/quant/range_estimator.h"

namespace inlier {
namespace {

struct NamedOptions {
  std::string name;
  QuantizerOptions options;
};

// Every estimator with every form of grid that it is allowed with.
std::vector<NamedOptions> AllOptions(int bits) {
  std::vector<NamedOptions> all;
  const auto add = [&](std::string name, RangeMethod method, bool symmetric, bool per_channel,
                       std::optional<double> percentile = std::nullopt) {
    name += symmetric ? " symmetric" : " asymmetric";
    if (per_channel) name += " per channel";
    all.push_back({name,
                   {.bits = bits,
                    .symmetric = symmetric,
                    .per_channel = per_channel,
                    .method = method,
                    .momentum = 0.9,
                    .percentile = percentile}});
  };
  for (const bool symmetric : {false, true}) {
    for (const bool per_channel : {false, true}) {
      add("min-max", RangeMethod::kMinMax, symmetric, per_channel);
      add("percentile", RangeMethod::kPercentile, symmetric, per_channel, 99.9);
    }
    add("running min-max", RangeMethod::kRunningMinMax, symmetric, false);
    add("running percentile", RangeMethod::kRunningMinMax, symmetric, false, 99.9);
    add("MSE grid", RangeMethod::kMseGrid, symmetric, false);
    add("MSE search", RangeMethod::kMseSearch, symmetric, false);
  }
  add("MSE grid", RangeMethod::kMseGrid, true, true);
  return all;
}

// Passes `x` twice and rounds it.
at::Tensor Rounded(const QuantizerOptions& options, const at::Tensor& x, double* scale = nullptr) {
  const auto estimator = MakeRangeEstimator(options);
  Quantizer quantizer(options.bits, options.symmetric);
  quantizer.SetRange(estimator->Update(x));
  quantizer.SetRange(estimator->Update(x));
  if (scale != nullptr) *scale = quantizer.grid().scale[0];
  return quantizer.Apply(x);
}

TEST(EdgeRangeTest, AConstantTensorIsRoundedToWithinAStep) {
  at::set_num_threads(1);
  for (const NamedOptions& each : AllOptions(4)) {
    for (const double value : {0.0, 1.0, -1.0, 3.7, -250.0, 1e-6, -1e-6}) {
      const at::Tensor x = torch::full({3, 5}, value, at::kDouble);
      double scale = 0;
      const at::Tensor rounded = Rounded(each.options, x, &scale);
      EXPECT_TRUE(rounded.isfinite().all().item<bool>()) << each.name << " of " << value;
      // The searches have a resolution of a hundredth of max|x| + 0.5, as the reference's.
      const double step = std::max(scale, 1e-7);
      EXPECT_LE((rounded - x).abs().max().item<double>(), step) << each.name << " of " << value;
    }
  }
}

TEST(EdgeRangeTest, ConstantChannelsDoNotSpoilTheirNeighbours) {
  const at::Tensor x = torch::tensor({{0.0, 0.0, 0.0}, {-1.0, 0.5, 1.0}, {5.0, 5.0, 5.0}}, at::kDouble);
  for (const NamedOptions& each : AllOptions(8)) {
    if (!each.options.per_channel) continue;
    const at::Tensor rounded = Rounded(each.options, x);
    EXPECT_TRUE(rounded.isfinite().all().item<bool>()) << each.name;
    EXPECT_EQ(rounded[0].abs().max().item<double>(), 0) << each.name;
    EXPECT_LT((rounded - x).abs().max().item<double>(), 0.05) << each.name;
  }
}

TEST(EdgeRangeTest, HugeAndTinyValuesStayFinite) {
  for (const NamedOptions& each : AllOptions(8)) {
    for (const double size : {1e30, 1e-30}) {
      const at::Tensor x = torch::tensor({{-1.0, 0.25}, {0.5, 1.0}}, at::kDouble).mul(size);
      EXPECT_TRUE(Rounded(each.options, x).isfinite().all().item<bool>()) << each.name << " " << size;
    }
  }
}

// NaN is not hidden: the search ends, and the tensor with it becomes NaN.
TEST(EdgeRangeTest, AValueThatIsNotANumberEndsInOne) {
  for (const NamedOptions& each : AllOptions(8)) {
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      const at::Tensor x = torch::tensor({{-1.0, bad}, {0.5, 1.0}}, at::kDouble);
      const at::Tensor rounded = Rounded(each.options, x);
      EXPECT_FALSE(rounded.isfinite().all().item<bool>()) << each.name << " of " << bad;
    }
  }
}

}  // namespace
}  // namespace inlier
