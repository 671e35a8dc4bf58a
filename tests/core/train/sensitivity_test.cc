// Leave-one-out sensitivity of a model that is sure of what it predicts: all that rounding changes is a cost.
#include "core/train/sensitivity.h"

#include <algorithm>
#include <map>
#include <string>

#include "core/quant/post_training_quantization.h"
#include "core/train/batch_input.h"
#include "core/train/evaluator.h"
#include "tests/core/train/train_fixture.h"

namespace inlier {
namespace {

constexpr char kBad[] = "bert.encoder.layer.0.intermediate.0";

// The data, its labels replaced by what the model predicts in float.
class SelfLabelled : public Dataset {
 public:
  SelfLabelled(const Dataset& data, LanguageModel& model) : data_(data), model_(model) {}

  const std::string& dataset_digest() const override { return data_.dataset_digest(); }
  std::int64_t train_examples() const override { return data_.train_examples(); }
  std::int64_t validation_examples() const override { return data_.validation_examples(); }
  std::int64_t sequence_length() const override { return data_.sequence_length(); }
  Batch TrainBatch(std::uint64_t seed, std::uint64_t index, std::int64_t size) const override {
    return data_.TrainBatch(seed, index, size);
  }
  Batch ValidationBatch(std::int64_t index, std::int64_t size, std::uint64_t mask_seed) const override {
    Batch batch = data_.ValidationBatch(index, size, mask_seed);
    const at::NoGradGuard no_gradient;
    batch.labels = model_.Logits(InputOf(batch, c10::kCPU)).argmax(-1);
    return batch;
  }
  Batch CalibrationBatch(v1::Split split, std::int64_t index, std::int64_t size,
                         std::uint64_t seed) const override {
    return data_.CalibrationBatch(split, index, size, seed);
  }

 private:
  const Dataset& data_;
  LanguageModel& model_;
};

class SensitivityTest : public testing::Test {
 protected:
  SensitivityTest() {
    at::set_num_threads(1);
    model_->eval();
    const at::NoGradGuard no_gradient;
    for (auto& item : model_->named_parameters()) {
      // Large logits, and layers that matter.
      if (item.value().dim() == 2) item.value().mul_(8);
    }
  }

  absl::StatusOr<EvaluationResult> Evaluated(bool bad) {
    auto quantization = CalibrateQuantization(*model_, data_, spec_, c10::kCPU, sink_, nullptr);
    if (!quantization.ok()) return quantization.status();
    if (bad)  // All values, some 1 to 10, become one of two numbers.
      dynamic_cast<PostTrainingQuantization&>(**quantization).SetActivationRange(kBad, {{0}, {1e6}, false});
    return EvaluateQuantized(*model_, data_, spec_, c10::kCPU, quantization->get(), sink_, nullptr);
  }

  const v1::TrialSpec spec_ = TinySpec(
      "quantization { weights { bits: 8 } activations { bits: 8 } calibration { batches: 3 batch_size: 4 } } "
      "evaluation { sensitivity_batches: 2 }");
  const std::shared_ptr<LanguageModel> model_ = TinyModel(spec_);
  const std::unique_ptr<TextDataset> text_ = TinyDataset(spec_);
  const SelfLabelled data_{*text_, *model_};
  CollectingSink sink_;
};

TEST_F(SensitivityTest, TheBaselineIsTheLossOfTheQuantizedModel) {
  const EvaluationResult result = Evaluated(/*bad=*/false).value();
  ASSERT_TRUE(result.sensitivity.has_value());
  EXPECT_EQ(result.sensitivity->baseline, result.scores.loss) << "as many batches";
  EXPECT_EQ(result.sensitivity->leave_one_out.size(), result.quantizers.size());
  EXPECT_EQ(result.quantizers.size(), 4u + 2 * 8 + 3 + 2 * 13) << "every quantizer of the reference's BERT";

  // Leaving none out is the quantized model.
  auto quantization = CalibrateQuantization(*model_, data_, spec_, c10::kCPU, sink_, nullptr).value();
  const auto none = MeasureLeaveOneOut(*model_, data_, spec_.evaluation(), c10::kCPU, *quantization,
                                       {"nowhere"}, 2, sink_, nullptr);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->at(0).loss, result.scores.loss);
}

TEST_F(SensitivityTest, FewerBatchesHaveTheirOwnBaseline) {
  v1::TrialSpec spec = spec_;
  spec.mutable_evaluation()->set_batches(1);
  spec.mutable_evaluation()->clear_sensitivity_batches();
  const absl::StatusOr<EvaluationResult> one = Evaluate(*model_, data_, spec, c10::kCPU, sink_, nullptr);
  spec = spec_;
  spec.mutable_evaluation()->set_sensitivity_batches(1);
  const absl::StatusOr<EvaluationResult> two = Evaluate(*model_, data_, spec, c10::kCPU, sink_, nullptr);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_FALSE(one->sensitivity.has_value()) << "off by default";
  EXPECT_EQ(two->sensitivity->baseline, one->scores.loss);
  EXPECT_NE(two->scores.loss, one->scores.loss);
}

TEST_F(SensitivityTest, AQuantizerThatIsMadeBadIsTheWorstByNoiseAndByCost) {
  const EvaluationResult result = Evaluated(/*bad=*/true).value();
  ReportEvaluation(result, {}, 20, sink_);
  std::map<std::string, std::map<std::string, double>> sites;  // By measurement and tensor.
  std::map<std::string, double> whole;
  for (const v1::MeasurementPoint& point : sink_.measurements) {
    if (point.has_site()) {
      sites[point.name()][point.site()] = point.value();
    } else {
      whole[point.name()] = point.value();
    }
  }
  const auto by_value = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto& noise = sites["sqnr"];
  const auto& cost = sites["sensitivity"];
  ASSERT_FALSE(noise.empty() || cost.empty());
  const auto loudest = std::min_element(noise.begin(), noise.end(), by_value);
  EXPECT_EQ(loudest->first, kBad);
  EXPECT_EQ(whole["min_sqnr"], loudest->second);
  const auto dearest = std::max_element(cost.begin(), cost.end(), by_value);
  EXPECT_EQ(dearest->first, kBad);
  EXPECT_GT(dearest->second, 0.01);
  EXPECT_DOUBLE_EQ(whole["sensitivity_baseline"] - sites["leave_one_out_loss"][kBad], dearest->second);
  EXPECT_EQ(sink_.progress.back().phase(), "sensitivity");
}

TEST_F(SensitivityTest, StopsWhenAsked) {
  auto quantization = CalibrateQuantization(*model_, data_, spec_, c10::kCPU, sink_, nullptr).value();
  const auto stopped = MeasureLeaveOneOut(*model_, data_, spec_.evaluation(), c10::kCPU, *quantization,
                                          {kBad}, 1, sink_, [] { return true; });
  EXPECT_EQ(stopped.status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace inlier
