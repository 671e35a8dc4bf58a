// Updates of orthogonal matrices against SpinQuant's own optimizer: group rotations of tests/golden/README-models.md.
#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/optim/cayley_sgd.h"
#include "core/optim/orthogonal_matrix.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"

namespace inlier {
namespace {

// Each update from the matrix that theirs has given so far, whose rows theirs first makes as long as 1, or orthonormal.
void CompareUpdates(GoldenReport& report, const GoldenCase& golden, CaseSettings& config,
                    at::ScalarType precision) {
  const std::vector<double> rates = config.At("learning_rates");
  const std::set<std::size_t> orthonormal_before = config.At("orthonormal_before");
  GoldenComparison compare(report, golden, precision);
  at::Tensor matrix = golden.Tensor("input/start");
  const at::Tensor expected = golden.Tensor("out/matrices");
  const at::Tensor gradients = golden.Tensor("input/gradients").to(precision);
  std::vector<at::Tensor> matrices;
  for (std::size_t update = 0; update < rates.size(); ++update) {
    const auto index = static_cast<std::int64_t>(update);
    matrix = orthonormal_before.contains(update) ? Orthonormalised(matrix.t()).t()
                                                 : matrix.div(matrix.norm(2, {1}, /*keepdim=*/true) + 1e-8);
    matrices.push_back(CayleySgdUpdate(matrix.to(precision), gradients[index], rates[update]));
    matrix = expected[index];
  }
  compare.Tensor("out/matrices", at::stack(matrices), {.absolute = precision == at::kDouble ? 1e-12 : 1e-6});
}

TEST(RotationsGoldenTest, AuthorsOptimizer) {
  GoldenReport report("rotations");
  for (const GoldenCase& golden : FindGoldenCases("rotations")) {
    for (const at::ScalarType precision : {at::kDouble, at::kFloat}) {
      CaseSettings config(golden, "config");
      CompareUpdates(report, golden, config, precision);
      report.Accepts(golden, All({FileIsUsed(golden, {"config"}), config.AllUsed()}));
    }
  }
  report.Finish();
}

}  // namespace
}  // namespace inlier
