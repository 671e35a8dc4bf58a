// The metadata of a checkpoint, and the errors of one that does not fit.
#include "core/train/checkpoint.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>

#include <fstream>

#include "core/optim/make_optimizer.h"
#include "core/train/training_step.h"
#include "spec/trial/canonical.h"
#include "tests/core/train/train_fixture.h"

namespace inlier {
namespace {

using testing::HasSubstr;

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest()
      : spec_(TinySpec()),
        model_(TinyModel(spec_)),
        optimizer_(MakeOptimizer(spec_.training().optimizer(), ParametersOf(*model_))) {}

  std::filesystem::path Save(bool final, std::uint64_t step = 5) {
    const absl::StatusOr<v1::CheckpointSaved> saved = SaveCheckpoint(
        folder_.path(), *model_, optimizer_->State(),
        {.spec = spec_, .step = step, .dataset_digest = "d1", .build = "test build", .final = final});
    EXPECT_TRUE(saved.ok()) << saved.status();
    return folder_ / saved->path();
  }

  const TemporaryFolder folder_;
  const v1::TrialSpec spec_;
  const std::shared_ptr<LanguageModel> model_;
  const std::unique_ptr<Optimizer> optimizer_;
};

TEST_F(CheckpointTest, CarriesWeightsStateAndProvenance) {
  const Checkpoint checkpoint = Checkpoint::Open(Save(false)).value();
  EXPECT_EQ(ResolvedJson(checkpoint.info().spec), ResolvedJson(spec_));
  EXPECT_EQ(checkpoint.info().step, 5u);
  EXPECT_EQ(checkpoint.info().build, "test build");
  EXPECT_FALSE(checkpoint.info().final);
  const auto other = TinyModel(TinySpec("seed: 99"));
  EXPECT_FALSE(at::equal(other->parameters()[0], model_->parameters()[0]));
  ASSERT_TRUE(checkpoint.LoadWeights(*other).ok());
  for (std::size_t i = 0; i < other->parameters().size(); ++i) {
    EXPECT_TRUE(at::equal(other->parameters()[i], model_->parameters()[i]));
  }
  EXPECT_TRUE(checkpoint.LoadOptimizer(*optimizer_).ok());
}

TEST_F(CheckpointTest, FinalOneCannotBeResumed) {
  const std::filesystem::path path = Save(true);
  EXPECT_EQ(path.filename(), "model.safetensors");
  const Checkpoint checkpoint = Checkpoint::Open(path).value();
  EXPECT_TRUE(checkpoint.info().final);
  const absl::StatusOr<SafetensorsReader> file = SafetensorsReader::Open(path);
  EXPECT_EQ(file->entries().size(), ParametersOf(*model_).size() + 2) << "a sum of second moments a layer";
  EXPECT_EQ(
      checkpoint.LoadOptimizer(*optimizer_).message(),
      path.string() + ": has no optimizer state, so training cannot continue from it (a final checkpoint)");
}

TEST_F(CheckpointTest, FinalOneHasTheSumsOfSecondMoments) {
  std::vector<NamedParameter> state = optimizer_->State();
  std::string ffn;
  for (auto& [name, tensor] : state) {
    if (!name.starts_with("second_moment/")) continue;
    tensor.uniform_();
    if (name.ends_with(".1.output.dense.weight") && name.find("attention") == name.npos)
      ffn = name.substr(14);
  }
  ASSERT_FALSE(ffn.empty());
  const Checkpoint checkpoint = Checkpoint::Open(Save(true)).value();
  const auto moment = std::find_if(state.begin(), state.end(), [&](const NamedParameter& entry) {
    return entry.first == "second_moment/" + ffn;
  });
  EXPECT_TRUE(checkpoint.SecondMomentSums(ffn)->equal(moment->second.sum(1)));  // (out, in)
  EXPECT_FALSE(checkpoint.SecondMomentSums("bert.embeddings.word_embeddings.weight")->defined());
  ASSERT_TRUE(checkpoint.LoadWeights(*model_).ok()) << "sums are not weights";
}

TEST_F(CheckpointTest, AnotherSpecIsRefusedWithTheDifferences) {
  const absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(Save(false));
  EXPECT_TRUE(checkpoint->CheckMatches(spec_, "d1").ok());
  // Fields that only evaluation reads, and incidental fields, do not matter.
  EXPECT_TRUE(
      checkpoint->CheckMatches(TinySpec("evaluation { batches: 1 } training { measure_every: 5 }"), "d1")
          .ok());
  const absl::Status other = checkpoint->CheckMatches(TinySpec("seed: 8 training { steps: 30 }"), "d1");
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.message()), HasSubstr("seed is 7 in the checkpoint and 8 here"));
  EXPECT_THAT(std::string(other.message()), HasSubstr("training.steps is 20 in the checkpoint and 30 here"));
  EXPECT_THAT(std::string(checkpoint->CheckMatches(spec_, "d2").message()),
              HasSubstr("trained on other data (digest d1, here d2)"));
}

TEST_F(CheckpointTest, TensorThatDoesNotFitIsNamedAndNothingIsChanged) {
  const absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(Save(false));
  const auto wider = TinyModel(TinySpec("model { bert { ffn_size: 96 } }"));
  const at::Tensor before = wider->parameters()[0].detach().clone();
  EXPECT_THAT(std::string(checkpoint->LoadWeights(*wider).message()),
              HasSubstr("the tensor bert.encoder.layer.0.intermediate.dense.weight has shape (64, 32) where "
                        "the model needs (96, 32)"));
  EXPECT_TRUE(at::equal(before, wider->parameters()[0]));
  const auto deeper = TinyModel(TinySpec("model { bert { layers: 3 } }"));
  EXPECT_THAT(std::string(checkpoint->LoadWeights(*deeper).message()),
              testing::ContainsRegex("the tensor bert.encoder.layer.2.* is missing"));
  const auto shallower = TinyModel(TinySpec("model { bert { layers: 1 } }"));
  EXPECT_THAT(std::string(checkpoint->LoadWeights(*shallower).message()),
              HasSubstr("the model has no place for the tensor number "));
}

TEST_F(CheckpointTest, FilesThatAreNoCheckpointsAreRefused) {
  EXPECT_EQ(Checkpoint::Open(folder_ / "nothing.safetensors").status().code(), absl::StatusCode::kNotFound);
  std::ofstream(folder_ / "text.safetensors") << "hello, this is not a checkpoint";
  EXPECT_FALSE(Checkpoint::Open(folder_ / "text.safetensors").ok());
  ASSERT_TRUE(SaveSafetensors(folder_ / "foreign.safetensors", {{"x", at::zeros({1})}}).ok());
  EXPECT_THAT(std::string(Checkpoint::Open(folder_ / "foreign.safetensors").status().message()),
              HasSubstr("not a checkpoint of inlier"));
  // A file cut short, as by a full disk: refused before any tensor is read.
  const std::filesystem::path whole = Save(false);
  std::filesystem::resize_file(whole, std::filesystem::file_size(whole) - 100);
  EXPECT_EQ(Checkpoint::Open(whole).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(CheckpointTest, DigestAndSizeInTheEventAreThoseOfTheFile) {
  const absl::StatusOr<v1::CheckpointSaved> saved =
      SaveCheckpoint(folder_.path(), *model_, optimizer_->State(),
                     {.spec = spec_, .step = 3, .dataset_digest = "d", .build = "b", .final = true});
  EXPECT_EQ(saved->bytes(), std::filesystem::file_size(folder_ / saved->path()));
  EXPECT_EQ(saved->sha256().size(), 64u);
  EXPECT_TRUE(saved->final());
  EXPECT_EQ(saved->step(), 3u);
}

}  // namespace
}  // namespace inlier
