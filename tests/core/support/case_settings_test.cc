// Settings of a case that no test reads are named.
#include "tests/core/support/case_settings.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "tests/core/support/golden_case.h"

namespace inlier {
namespace {

GoldenCase CaseOf(const char* json) {
  GoldenCase golden;
  golden.group = "optim";
  golden.name = "sgd";
  golden.json = nlohmann::json::parse(json);
  return golden;
}

TEST(CaseSettingsTest, AKeyThatIsReadIsUsed) {
  const GoldenCase golden =
      CaseOf(R"({"method": {"momentum": 0.9, "nesterov": null, "note": "x", "kind": "b"}})");
  CaseSettings method(golden, "method");
  EXPECT_EQ(method.At("momentum"), 0.9);
  EXPECT_FALSE(method.Has("nesterov")) << "null";
  EXPECT_EQ(method.ValueOr("steps", 3), 3);
  EXPECT_EQ(method.OneOf("kind", {"a", "b"}), "b");
  method.Describes({"note"});
  EXPECT_TRUE(method.AllUsed());
}

TEST(CaseSettingsTest, AKeyThatIsNotReadFailsByTheNamesOfTheCaseAndTheKey) {
  const GoldenCase golden = CaseOf(R"({"method": {"momentum": 0.9, "dampening": 0.1}})");
  const auto read = [&golden] {
    CaseSettings method(golden, "method");
    method.At("momentum");
    EXPECT_FALSE(method.AllUsed());
  };
  EXPECT_NONFATAL_FAILURE(read(), "optim/sgd: method.dampening is set to 0.1, and no test reads it");
}

TEST(CaseSettingsTest, ForgettingToAskFailsToo) {
  const GoldenCase golden = CaseOf(R"({"dampening": 0.1})");
  EXPECT_NONFATAL_FAILURE(CaseSettings(golden, ""), "optim/sgd: dampening is set to 0.1");
}

TEST(CaseSettingsTest, AValueThatIsNotSupportedFails) {
  const GoldenCase golden = CaseOf(R"({"dampening": 0.1, "kind": "new", "zero": 0.0, "none": null})");
  const auto read = [&golden](auto use) {
    CaseSettings method(golden, "");
    method.Describes({"dampening", "kind", "zero", "none"});
    use(method);
    EXPECT_FALSE(method.AllUsed());
  };
  EXPECT_NONFATAL_FAILURE(read([](CaseSettings& method) { method.Require("dampening", 0); }),
                          "optim/sgd: dampening is 0.1, and no test supports another value than 0");
  EXPECT_NONFATAL_FAILURE(read([](CaseSettings& method) {
                            method.OneOf("kind", {"a", "b"});
                          }),
                          "optim/sgd: kind is \"new\", which no test supports");
  EXPECT_NONFATAL_FAILURE(read([](CaseSettings& method) { method.At("missing"); }),
                          "optim/sgd: missing is not given");
  CaseSettings method(golden, "");
  method.Describes({"dampening", "kind"});
  method.Require("zero", 0);
  method.Require("none", 0);
  EXPECT_TRUE(method.AllUsed());
}

TEST(CaseSettingsTest, AFieldOfTheSpecThatMakesNoModelIsNamed) {
  const GoldenCase golden = CaseOf(
      R"({"spec": {"model": {"bert": {"layers": 2}}, "norm": "LAYER_NORM", "training": {"label_smoothing": 0.1}}})");
  EXPECT_TRUE(SpecIsUsed(golden, {"training.label_smoothing"}));
  EXPECT_NONFATAL_FAILURE(EXPECT_FALSE(SpecIsUsed(golden)),
                          "optim/sgd: spec.training.label_smoothing is set, and no test reads it");
}

}  // namespace
}  // namespace inlier
