// A tiny real training for tests: a two-layer BERT or OPT on tests/data/tiny.txt, in a temporary folder.
#ifndef INLIER_TESTS_CORE_TRAIN_TRAIN_FIXTURE_H_
#define INLIER_TESTS_CORE_TRAIN_TRAIN_FIXTURE_H_

#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/models/make_model.h"
#include "core/text/text_dataset.h"
#include "core/train/trainer.h"
#include "core/train/trial_sink.h"
#include "google/protobuf/text_format.h"
#include "spec/trial/validator.h"
#include "tests/support/temporary_folder.h"

namespace inlier {

// Keeps all reports.
class CollectingSink : public TrialSink {
 public:
  void OnProgress(const v1::Progress& event) override { progress.push_back(event); }
  void OnMeasurement(const v1::MeasurementPoint& event) override { measurements.push_back(event); }
  void OnCheckpoint(const v1::CheckpointSaved& event) override { checkpoints.push_back(event); }

  // The values of a curve, in order.
  std::vector<double> Curve(const std::string& name) const {
    std::vector<double> values;
    for (const v1::MeasurementPoint& point : measurements) {
      if (point.name() == name && !point.final()) values.push_back(point.value());
    }
    return values;
  }

  std::vector<v1::Progress> progress;
  std::vector<v1::MeasurementPoint> measurements;
  std::vector<v1::CheckpointSaved> checkpoints;
};

// A resolved spec: tiny, 20 updates, dropout everywhere, checkpoint every 10; `changes` in text format on
// top.
inline v1::TrialSpec TinySpec(const std::string& changes = "") {
  v1::TrialSpec spec;
  const std::string text =
      std::string(R"(
    seed: 7 dropout: 0.1
    model { bert { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } }
    attention { dropout: 0.1 }
    data { text { path: ")") +
      INLIER_TINY_TEXT +
      R"(" tokenizer { byte_pair { vocab_size: 300 } } sequence_length: 16 validation_fraction: 0.1 } }
    training { steps: 20 batch_size: 4 checkpoint_every: 10 measure_every: 1
               optimizer { adamw { learning_rate: 0.001 } } schedule { warmup_steps: 2 } }
    evaluation { batches: 2 batch_size: 4 })";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec));
  v1::TrialSpec more;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(changes, &more)) << changes;
  spec.MergeFrom(more);
  return ResolveAndValidate(spec).value();
}

// The dataset of a spec, its cache in one folder for the whole test program.
inline std::unique_ptr<TextDataset> TinyDataset(const v1::TrialSpec& spec) {
  static const TemporaryFolder cache;
  TextOpenOptions options;
  options.cache_dir = cache.path();
  return TextDataset::Open(spec.data().text(), spec.data().text().objective(), options).value();
}

// A model with its initial weights.
inline std::shared_ptr<LanguageModel> TinyModel(const v1::TrialSpec& spec) {
  std::shared_ptr<LanguageModel> model = MakeLanguageModel(spec).value();
  InitialiseWeights(*model, spec, spec.seed());
  return model;
}

inline void ExpectSameBits(const Model& a, const Model& b) {
  const auto left = ParametersOf(a), right = ParametersOf(b);
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i)
    EXPECT_TRUE(at::equal(left[i].second, right[i].second)) << left[i].first;
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_TRAIN_TRAIN_FIXTURE_H_
