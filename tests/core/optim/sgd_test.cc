// SGD against the formula written out in double.
#include "core/optim/sgd.h"

#include <gtest/gtest.h>

#include "tests/core/optim/optimizer_fixture.h"

namespace inlier {
namespace {

void ExpectFormula(const Sgd::Options& options) {
  double buffer[2] = {0, 0};
  ExpectFormulaOf(
      {0.1, 0.0, 0.03}, 1e-15, [&](const ParameterGroups& groups) { return Sgd(groups, options); },
      [&](int i, int t, double rate, double gradient, double value) {
        gradient += (i == 0 ? options.weight_decay : 0.0) * value;
        buffer[i] = t == 1 ? gradient : options.momentum * buffer[i] + gradient;
        const double direction = options.nesterov       ? gradient + options.momentum * buffer[i]
                                 : options.momentum > 0 ? buffer[i]
                                                        : gradient;
        return value - rate * direction;
      });
}

TEST(SgdTest, Plain) { ExpectFormula({.momentum = 0, .nesterov = false, .weight_decay = 0}); }
TEST(SgdTest, Penalty) { ExpectFormula({.momentum = 0, .nesterov = false, .weight_decay = 0.1}); }
TEST(SgdTest, Momentum) { ExpectFormula({.momentum = 0.9, .nesterov = false, .weight_decay = 0}); }
TEST(SgdTest, Nesterov) { ExpectFormula({.momentum = 0.9, .nesterov = true, .weight_decay = 0.1}); }

TEST(SgdTest, KeepsNothingWithoutMomentum) {
  Sgd sgd(SmallNetwork().groups(), {.momentum = 0, .nesterov = false, .weight_decay = 0.1});
  EXPECT_TRUE(sgd.State().empty());
  EXPECT_TRUE(sgd.LoadState({}).ok());
}

}  // namespace
}  // namespace inlier
