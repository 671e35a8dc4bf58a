// A softmax or a gate as a script and as our own code: the same training, measurements and rounding, digit by digit where both
// round in the same order.
#include <cmath>
#include <fstream>
#include <map>

#include "core/train/checkpoint.h"
#include "core/train/evaluator.h"
#include "spec/trial/unfused_part.h"
#include "tests/core/support/test_scripts.h"
#include "tests/core/train/train_fixture.h"

namespace inlier {
namespace {

const c10::Device kOnCpu(c10::kCPU);
const std::function<bool()> kNever = [] { return false; };
constexpr char kOptModel[] = "model { opt { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } } ";
constexpr char kW8A8[] =
    "quantization { weights { } activations { } calibration { batches: 2 batch_size: 4 } reference { } } "
    "evaluation { measure: ALL } ";
constexpr char kSoftmaxOne[] =
    "  m = torch.clamp(scores.detach().amax([-1], True), min=0.0)\n  e = torch.exp(scores - m)\n"
    "  return e / (e.sum(-1, keepdim=True) + torch.exp(-m))\n";

class ScriptTrainingTest : public testing::Test {
 protected:
  ScriptTrainingTest() { at::set_num_threads(1); }

  // The part of an AttentionSpec with the script.
  std::string Softmax(const std::string& body, const std::string& more = "") {
    return "softmax { script { file: \"" + WriteScript(folder_.path() / "softmax.pt", SoftmaxBytes(body)) +
           "\" " + more + " } }";
  }
  static v1::TrialSpec Spec(const std::string& attention, const std::string& more = "") {
    return TinySpec("training { engine: REFERENCE } attention { " + attention + " } " + more);
  }

  struct Trained {
    std::shared_ptr<LanguageModel> model;
    std::vector<double> losses;
  };
  Trained Train(const v1::TrialSpec& spec) {
    Trained trained{.model = TinyModel(spec), .losses = {}};
    const auto dataset = TinyDataset(spec);
    CollectingSink sink;
    Trainer trainer(spec, *trained.model, *dataset, kOnCpu, sink);
    EXPECT_TRUE(trainer.Run(folder_.path(), kNever).ok());
    trained.losses = sink.Curve("train_loss");
    EXPECT_EQ(trained.losses.size(), 20u);
    return trained;
  }

  // Every number of an evaluation, times apart, by its name and site.
  static std::map<std::string, double> Measure(Model& model, const v1::TrialSpec& spec) {
    CollectingSink sink;
    const auto result = Evaluate(model, *TinyDataset(spec), spec, kOnCpu, sink, kNever);
    EXPECT_TRUE(result.ok()) << result.status();
    if (result.ok()) ReportEvaluation(*result, {}, 0, sink);
    std::map<std::string, double> numbers;
    for (const v1::MeasurementPoint& point : sink.measurements) {
      if (point.name().find("second") == std::string::npos)
        numbers[point.name() + " " + point.site()] = point.value();
    }
    EXPECT_GT(numbers.size(), 20u);
    return numbers;
  }
  static void ExpectSameNumbers(Model& ours, const std::string& our_part, Model& theirs,
                                const std::string& their_part, const std::string& model = "") {
    for (const std::string& more : {std::string(), std::string(kW8A8)}) {
      const auto left = Measure(ours, Spec(our_part, model + more)),
                 right = Measure(theirs, Spec(their_part, model + more));
      ASSERT_EQ(left.size(), right.size());
      for (const auto& [name, value] : left) {
        EXPECT_TRUE(right.count(name) != 0 &&
                    (value == right.at(name) || (std::isnan(value) && std::isnan(right.at(name)))))
            << name << more << ": " << value << " and " << (right.count(name) != 0 ? right.at(name) : NAN);
      }
    }
  }

  TemporaryFolder folder_;
};

// A factor that is a power of two, so that it rounds nothing wherever it stands in the gradient.
TEST_F(ScriptTrainingTest, AClippedSoftmaxAsAScriptIsOursDigitByDigit) {
  const std::string ours = "softmax { clipped { gamma: -0.03125 zeta: 1.96875 } }";
  const std::string theirs = Softmax(
      "  return torch.hardtanh(torch.softmax(scores, -1) * 2.0 - 0.03125, 0.0, 1.0)\n", "row_sum: ANY");
  for (const std::string model : {"", kOptModel}) {
    const Trained left = Train(Spec(ours, model)), right = Train(Spec(theirs, model));
    EXPECT_EQ(left.losses, right.losses);
    ExpectSameBits(*left.model, *right.model);
    ExpectSameNumbers(*left.model, ours, *right.model, theirs, model);
  }
}

// The same values; gradients are other operations.
TEST_F(ScriptTrainingTest, SoftmaxOneAsAScriptIsOurs) {
  const std::string ours = "softmax { softmax_n {} }", theirs = Softmax(kSoftmaxOne);
  const Trained left = Train(Spec(ours)), right = Train(Spec(theirs));
  for (std::size_t i = 0; i < left.losses.size(); ++i)
    EXPECT_NEAR(left.losses[i], right.losses[i], 1e-5) << i;
  const auto same_weights = TinyModel(Spec(theirs));
  const at::NoGradGuard no_grad;
  for (auto& item : same_weights->named_parameters())
    item.value().copy_(left.model->named_parameters()[item.key()]);
  ExpectSameNumbers(*left.model, ours, *same_weights, theirs);
}

TEST_F(ScriptTrainingTest, ALinearGateAsAScriptIsOursAndItsParametersAreTrainedAndSaved) {
  const std::string model = "model { bert { layers: 1 hidden_size: 32 heads: 2 ffn_size: 64 } } ";
  const std::string ours = "gate { linear {} output_factor: 2 }";
  const auto start = TinyModel(Spec(ours, model));
  const std::string prefix = "bert.encoder.layer.0.attention.self.gate.";
  const std::string bytes = ScriptBytes(
      "x",
      "  w = torch.block_diag([self.head0.weight, self.head1.weight])\n"
      "  return torch.sigmoid(torch.linear(x.flatten(2), w, torch.cat([self.head0.bias, "
      "self.head1.bias]))).unsqueeze(-1)\n",
      [&](torch::jit::Module& module) {
        for (const std::string head : {"0", "1"}) {
          torch::jit::Module linear("Head" + head);
          for (const std::string part : {"weight", "bias"})
            AddParameter(linear, part, start->named_parameters()[prefix + head + "." + part].detach());
          module.register_module("head" + head, linear);
        }
      });
  const std::string theirs =
      "gate { script { file: \"" + WriteScript(folder_.path() / "gate.pt", bytes) + "\" } output_factor: 2 }";
  const Trained left = Train(Spec(ours, model)), right = Train(Spec(theirs, model));
  EXPECT_EQ(left.losses, right.losses);
  ExpectSameNumbers(*left.model, ours, *right.model, theirs, model);
  const at::Tensor trained = right.model->named_parameters()[prefix + "head0.weight"];
  EXPECT_TRUE(trained.equal(left.model->named_parameters()[prefix + "0.weight"]));
  EXPECT_FALSE(trained.equal(start->named_parameters()[prefix + "0.weight"]));

  const auto loaded = TinyModel(Spec(theirs, model));
  const auto checkpoint = Checkpoint::Open(folder_.path() / kFinalCheckpointName);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  ASSERT_EQ(checkpoint->LoadWeights(*loaded), absl::OkStatus());
  ExpectSameBits(*loaded, *right.model);
  ExpectSameNumbers(*loaded, theirs, *right.model, theirs, model);
}

TEST_F(ScriptTrainingTest, EveryLayerHasItsOwnGateThatStartsAsTheFile) {
  const std::string file = WriteScript(folder_.path() / "gate.pt", OwnGateBytes(16));
  const v1::TrialSpec spec = Spec("gate { script { file: \"" + file + "\" } }");
  const auto initial = TinyModel(spec);
  std::vector<at::Tensor> first, second;
  for (const auto& item : initial->named_parameters()) {
    if (item.key().ends_with("0.attention.self.gate.inner.w")) first.push_back(item.value());
    if (item.key().ends_with("1.attention.self.gate.inner.w")) second.push_back(item.value());
  }
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_TRUE(first[0].equal(second[0]));
  EXPECT_GT(first[0].abs().max().item<float>(), 0.1);
  EXPECT_FALSE(first[0].is_alias_of(second[0]));
  const Trained trained = Train(spec);
  EXPECT_FALSE(trained.model->named_parameters()["bert.encoder.layer.0.attention.self.gate.inner.w"].equal(
      trained.model->named_parameters()["bert.encoder.layer.1.attention.self.gate.inner.w"]));
  for (const std::string optimizer : {"muon {}", "soap {}", "ortho_adam {}", "sgd {}"}) {
    v1::TrialSpec other = spec;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(optimizer,
                                                              other.mutable_training()->mutable_optimizer()));
    const Trained by = Train(ResolveAndValidate(other).value());
    EXPECT_TRUE(std::isfinite(by.losses.back())) << optimizer;
    EXPECT_FALSE(
        by.model->named_parameters()["bert.encoder.layer.0.attention.self.gate.inner.w"].equal(first[0]))
        << optimizer;
  }
}

TEST_F(ScriptTrainingTest, ScriptsAreTrainedByReferenceAlone) {
  for (const std::string& part :
       {Softmax(kSoftmaxOne),
        "gate { script { file: \"" + WriteScript(folder_.path() / "gate.pt", OwnGateBytes(16)) + "\" } }"}) {
    const v1::TrialSpec spec = TinySpec("attention { " + part + " }");
    const auto model = TinyModel(spec);
    for (const layer::Place place :
         {layer::Place::kCpuFloat32, layer::Place::kCpuBfloat16, layer::Place::kGpuBfloat16})
      EXPECT_FALSE(model->can_fuse(place)) << part;
    EXPECT_FALSE(UnfusedPart(spec).empty());
    EXPECT_THAT(part, testing::HasSubstr("script"));
    EXPECT_EQ(Train(spec).losses,
              Train(TinySpec("training { engine: REFERENCE } attention { " + part + " }")).losses);
  }
}

// As declared for the few tokens of the first check, and not for those of the data.
TEST_F(ScriptTrainingTest, RowSumsAreComparedAtEachEvaluation) {
  const std::string grows = "  return torch.softmax(scores, -1) * (scores.size(-1) / 6.0)\n";
  CollectingSink sink;
  const auto evaluate = [&](const v1::TrialSpec& spec) {
    return Evaluate(*TinyModel(spec), *TinyDataset(spec), spec, kOnCpu, sink, kNever).status();
  };
  for (const std::string& more : {std::string(), std::string(kW8A8)}) {
    const absl::Status status = evaluate(Spec(Softmax(grows, "row_sum: ONE"), more));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                testing::AllOf(
                    testing::HasSubstr("softmax.pt: in the first batch of the evaluation, at bert.encoder."),
                    testing::HasSubstr("rows sum to 2.66"), testing::HasSubstr("row_sum is ONE: 1")));
  }
  EXPECT_TRUE(evaluate(Spec(Softmax(grows, "row_sum: ANY"))).ok());
  EXPECT_TRUE(evaluate(Spec(Softmax(kSoftmaxOne), kW8A8)).ok()) << "rounded probabilities may sum to more";
}

}  // namespace
}  // namespace inlier
