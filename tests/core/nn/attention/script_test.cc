// A user's own softmax or gate: it computes what it says, and each that would fail late or give wrong numbers is refused with a
// sentence.
#include "core/nn/attention/script.h"

#include <caffe2/serialize/inline_container.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/nn/attention/script_checks.h"
#include "core/nn/attention/softmax.h"
#include "tests/core/support/test_scripts.h"

namespace inlier {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kScriptName[] = "attention.softmax.script.file: /scripts/mine.pt";

std::string ScriptErrorOf(const std::string& bytes, RowSum sums = RowSum::kAtMostOne) {
  const auto script = Script::Load(bytes, kScriptName);
  const absl::Status status = script.ok() ? CheckSoftmaxScript(**script, sums, 4) : script.status();
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  if (!status.ok()) {
    EXPECT_THAT(std::string(status.message()), StartsWith(std::string(kScriptName) + ": "));
  }
  return status.ok() ? "OK" : std::string(status.message());
}

std::string GateErrorOf(const std::string& bytes) {
  const auto script = Script::Load(bytes, kScriptName);
  const absl::Status status = script.ok() ? CheckGateScript(**script, 4, 3) : script.status();
  return status.ok() ? "OK" : std::string(status.message());
}

// The same archive with another version of the format.
std::string WithVersion(const std::string& bytes, std::uint64_t version) {
  std::istringstream file(bytes);
  caffe2::serialize::PyTorchStreamReader reader(&file);
  std::string result;
  caffe2::serialize::PyTorchStreamWriter writer([&result](const void* data, std::size_t size) {
    result.append(static_cast<const char*>(data), size);
    return size;
  });
  writer.setMinVersion(version);
  for (const std::string& record : reader.getAllRecords()) {
    if (record == "version" || record == "byteorder" || record.starts_with(".data")) continue;
    const auto [data, size] = reader.getRecord(record);
    writer.writeRecord(record, data.get(), size);
  }
  writer.writeEndOfFile();
  return result;
}

TEST(ScriptTest, OrdinaryFunctionsPass) {
  EXPECT_EQ(ScriptErrorOf(SoftmaxBytes("  return torch.softmax(scores, -1)\n"), RowSum::kOne), "OK");
  EXPECT_EQ(
      ScriptErrorOf(SoftmaxBytes("  return torch.clamp(torch.softmax(scores, -1) * 1.1 - 0.1, 0., 1.)\n")),
      "OK");
  EXPECT_EQ(ScriptErrorOf(SoftmaxBytes(kOwnSoftmax)), "OK");
  EXPECT_EQ(ScriptErrorOf(SoftmaxBytes("  return torch.sigmoid(scores) * mask\n"), RowSum::kAny), "OK");
  EXPECT_EQ(GateErrorOf(OwnGateBytes(3)), "OK");
  EXPECT_EQ(GateErrorOf(ScriptBytes("x", "  return torch.sigmoid(x)\n")), "OK")
      << "a gate an element, without parameters";
}

TEST(ScriptTest, WhatIsNoTorchScriptIsNamedWithTheRemedy) {
  const std::string good = SoftmaxBytes("  return torch.softmax(scores, -1)\n");
  for (const std::string& bytes :
       {std::string(), std::string("import torch\n"), good.substr(0, good.size() / 2)}) {
    EXPECT_THAT(ScriptErrorOf(bytes), AllOf(HasSubstr("is no TorchScript that LibTorch 2."),
                                            HasSubstr("torch.jit.script(f).save(path)")));
  }
  EXPECT_EQ(ScriptErrorOf(WithVersion(good, 1)), "OK");
  EXPECT_THAT(ScriptErrorOf(WithVersion(good, 99)),
              AllOf(HasSubstr("version 99, but the maximum supported version"),
                    HasSubstr("with a torch that is no newer")));
}

TEST(ScriptTest, WhatReachesOutsideOfTheFunctionIsRefused) {
  const auto inside = [](const std::string& statement) {
    return SoftmaxBytes(
        "  if scores.size(0) == 77:\n    " + statement + "\n  return torch.softmax(scores, -1)\n",
        [](torch::jit::Module& module) { module.register_attribute("calls", c10::IntType::get(), 0); });
  };
  EXPECT_THAT(ScriptErrorOf(inside("torch.save(scores, '/tmp/x')")), HasSubstr("the operation aten::save"));
  EXPECT_THAT(ScriptErrorOf(inside("print(scores)")), HasSubstr("the operation prim::Print"));
  EXPECT_THAT(ScriptErrorOf(inside("torch.manual_seed(1)")), HasSubstr("the operation aten::manual_seed"));
  EXPECT_THAT(ScriptErrorOf(inside("self.calls = self.calls + 1")), HasSubstr("the operation prim::SetAttr"));
  EXPECT_THAT(
      ScriptErrorOf(SoftmaxBytes("  return torch.softmax(scores, -1)\n",
                                 [](torch::jit::Module& module) {
                                   module.define(
                                       "def __getstate__(self):\n  return (1, self.training)\n"
                                       "def __setstate__(self, state: Tuple[int, bool]) -> None:\n"
                                       "  torch.save(torch.ones(1), '/tmp/x')\n  self.training = state[1]\n");
                                 })),
      HasSubstr("__setstate__, which runs before it can be checked"));
  EXPECT_THAT(ScriptErrorOf(SoftmaxBytes("  return torch.softmax(scores + torch.rand_like(scores), -1)\n")),
              HasSubstr("gives two results for the same arguments"));
  EXPECT_THAT(ScriptErrorOf(SoftmaxBytes(
                  "  self.sum.add_(1.0)\n  return torch.softmax(scores * self.sum, -1)\n",
                  [](torch::jit::Module& module) { module.register_buffer("sum", torch::ones({1})); })),
              HasSubstr("gives two results"));
}

TEST(ScriptTest, WrongProbabilitiesAreNamedWithWhatWasFound) {
  const auto error = [](const std::string& expression, RowSum sums = RowSum::kAtMostOne) {
    return ScriptErrorOf(SoftmaxBytes("  return " + expression + "\n"), sums);
  };
  EXPECT_THAT(error("torch.softmax(scores, -1).sum(-1)"),
              HasSubstr("gives probabilities of shape (2, 4, 6) for scores of (2, 4, 6, 6)"));
  EXPECT_THAT(error("torch.softmax(scores, -1).double()"), HasSubstr("gives Double for arguments of Float"));
  EXPECT_THAT(error("torch.log(scores)"), HasSubstr("numbers that are not finite"));
  EXPECT_THAT(error("torch.softmax(scores * 0, -1)"),
              AllOf(HasSubstr("where the mask hides a key"), HasSubstr("masked_fill(~mask, 0.0)")));
  EXPECT_THAT(error("torch.softmax(scores, -1) * 2"),
              HasSubstr("rows sum to 2 up to 2, and row_sum is AT_MOST_ONE"));
  EXPECT_EQ(error("torch.softmax(scores, -1) * 2", RowSum::kAny), "OK");
  EXPECT_THAT(error("torch.softmax(scores, -1) * -0.5"), HasSubstr("rows sum to -0.5"));
  EXPECT_THAT(error("torch.softmax(scores, -1) * 0.9", RowSum::kOne),
              AllOf(HasSubstr("and row_sum is ONE: 1"), HasSubstr("declare row_sum ANY")));
  EXPECT_THAT(error("torch.softmax(scores.detach(), -1)"), HasSubstr("gives no gradient for scores"));
  EXPECT_THAT(error("torch.softmax(scores, -1) + torch.sqrt(scores - scores)"),
              HasSubstr("a gradient for scores that is not finite"));
}

TEST(ScriptTest, WhatThrowsIsQuotedWithItsLine) {
  EXPECT_THAT(ScriptErrorOf(SoftmaxBytes("  return torch.softmax(scores, 7)\n")),
              AllOf(HasSubstr("the function failed"), HasSubstr("return torch.softmax(scores, 7)"),
                    HasSubstr("Dimension out of range")));
  EXPECT_THAT(ScriptErrorOf(ScriptBytes("scores", "  return torch.softmax(scores, -1)\n")),
              HasSubstr("Expected at most 2 argument(s) for operator 'forward', but received 3"));
  EXPECT_THAT(ScriptErrorOf(SoftmaxBytes("  return scores, mask\n")),
              HasSubstr("Expected Tensor but got Tuple"));
  const auto script =
      Script::Load(SoftmaxBytes("  assert scores.size(0) < 9, 'too many'\n  return scores\n"), kScriptName)
          .value();
  EXPECT_THAT(
      [&] {
        (*script)({torch::ones({9, 1}), torch::ones({1})});
      },
      testing::ThrowsMessage<ScriptError>(AllOf(StartsWith(kScriptName), HasSubstr("too many"))));
}

TEST(ScriptTest, ParametersAreAGatesAndAreTrained) {
  const auto with_parameter = [](torch::jit::Module& module) {
    AddParameter(module, "w", torch::ones({4, 3}));
  };
  EXPECT_THAT(
      ScriptErrorOf(SoftmaxBytes("  return torch.softmax(scores * self.w.sum(), -1)\n", with_parameter)),
      AllOf(HasSubstr("has the parameter w, and a softmax trains none"), HasSubstr("register_buffer")));
  const auto gate = [&](const std::string& expression) {
    return GateErrorOf(ScriptBytes("x", "  return " + expression + "\n", with_parameter));
  };
  EXPECT_EQ(gate("torch.sigmoid(x * self.w)"), "OK");
  EXPECT_THAT(gate("torch.sigmoid(x)"), HasSubstr("gives no gradient for w"));
  EXPECT_THAT(gate("2 * torch.sigmoid(x * self.w)"), HasSubstr("keep them from 0 to 1"));
  EXPECT_THAT(gate("torch.sigmoid(x * self.w).sum(-1)"),
              HasSubstr("gives gates of shape (2, 6, 4) for x of (2, 6, 4, 3)"));
  EXPECT_THAT(
      GateErrorOf(ScriptBytes("x", "  return torch.sigmoid(x * self.w)\n",
                              [](torch::jit::Module& module) {
                                module.register_parameter("w", torch::ones({4, 3}), /*is_buffer=*/false);
                              })),
      HasSubstr("its parameter w needs no gradient"));
}

// Optimizations of TorchScript would begin at the third call.
TEST(ScriptTest, EveryCallGivesTheBitsOfTheOperationsAsWritten) {
  const auto script =
      Script::Load(SoftmaxBytes("  s = scores * 1.7 + 0.3\n  e = torch.exp(s - s.amax([-1], True))\n"
                                "  return e / e.sum(-1, keepdim=True) * mask\n"),
                   kScriptName)
          .value();
  const at::Tensor scores = torch::randn({2, 3, 8, 8}).set_requires_grad(true),
                   mask = torch::ones({8}, at::kBool);
  const at::Tensor s = scores * 1.7 + 0.3, e = torch::exp(s - s.amax({-1}, true));
  const at::Tensor expected = e / e.sum(-1, true) * mask;
  const at::Tensor gradient = torch::autograd::grad({expected.square().sum()}, {scores}, {}, true)[0];
  for (int call = 0; call < 6; ++call) {
    const at::Tensor p = (*script)({scores, mask});
    EXPECT_TRUE(p.equal(expected)) << call;
    EXPECT_TRUE(torch::autograd::grad({p.square().sum()}, {scores})[0].equal(gradient)) << call;
  }
}

TEST(ScriptTest, ACopyHasTensorsOfItsOwn) {
  const auto script = Script::Load(OwnGateBytes(3), kScriptName).value();
  const auto copy = script->Copy();
  ASSERT_EQ(copy->parameters().size(), 2u);
  EXPECT_EQ(copy->buffers().size(), 1u);
  const at::NoGradGuard no_grad;
  for (auto& [name, value] : copy->parameters()) value.fill_(9);
  for (const auto& [name, value] : script->parameters()) EXPECT_LT(value.max().item<float>(), 9) << name;
  const at::Tensor x = torch::ones({1, 2, 4, 3});
  EXPECT_FALSE((*script)({x}).equal((*copy)({x})));
}

}  // namespace
}  // namespace inlier
