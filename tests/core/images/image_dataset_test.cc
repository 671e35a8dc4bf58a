#include "core/images/image_dataset.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <set>

#include "core/images/image_geometry.h"
#include "tests/core/images/image_files.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::HasSubstr;

constexpr int kTrain = 23, kValidation = 7, kSide = 6, kClasses = 4;

class ImageDatasetTest : public testing::Test {
 protected:
  ImageDatasetTest() {
    at::set_num_threads(1);
    WriteIdx("train", kTrain, 1);
    WriteIdx("t10k", kValidation, 101);
  }

  // Image i has its first pixel `first` + i and label i % kClasses.
  void WriteIdx(const std::string& name, int count, int first) {
    std::vector<Image> images;
    std::string labels;
    for (int i = 0; i < count; ++i) {
      images.push_back(Ramp(kSide, kSide, 1));
      for (std::uint8_t& byte : images.back().bytes) byte = static_cast<std::uint8_t>(byte * (i + 1));
      images.back().bytes[0] = static_cast<std::uint8_t>(first + i);
      labels += static_cast<char>(i % kClasses);
    }
    folder_.Write(name + "-images-idx3-ubyte", IdxImages(images));
    folder_.Write(name + "-labels-idx1-ubyte", IdxLabels(labels));
  }

  v1::ImageDataSpec Spec() const {
    v1::ImageDataSpec spec;
    spec.set_path(folder_.path().string());
    return spec;
  }
  static ImageOptions Options() { return {.image_size = kSide, .channels = 1}; }
  static std::unique_ptr<ImageDataset> Open(const v1::ImageDataSpec& spec,
                                            const ImageOptions& options = Options()) {
    return ImageDataset::Open(spec, options).value();
  }
  // The first pixel's byte, which identifies the image.
  static std::vector<int> FirstBytes(const Batch& batch) {
    std::vector<int> values;
    for (std::int64_t i = 0; i < batch.pixels.size(0); ++i)
      values.push_back(static_cast<int>(std::lround((batch.pixels[i][0][0][0].item<double>() + 1) * 127.5)));
    return values;
  }
  static v1::ImageDataSpec EverythingDrawn(v1::ImageDataSpec spec) {
    v1::AugmentationSpec& augmentation = *spec.mutable_augmentation();
    augmentation.set_crop_scale(0.3);
    augmentation.set_horizontal_flip(0.5);
    augmentation.set_rand_augment_layers(2);
    augmentation.set_color_jitter(0.4);
    augmentation.set_interpolation(v1::AugmentationSpec::RANDOM);
    return spec;
  }
  static bool Equal(const Batch& a, const Batch& b) {
    return torch::equal(a.pixels, b.pixels) && torch::equal(a.labels, b.labels);
  }

  TemporaryFolder folder_;
};

TEST_F(ImageDatasetTest, SizesAndClassesAreTheFiles) {
  const auto dataset = Open(Spec());
  EXPECT_EQ(dataset->train_examples(), kTrain);
  EXPECT_EQ(dataset->validation_examples(), kValidation);
  EXPECT_EQ(dataset->sequence_length(), 0);
  EXPECT_EQ(dataset->classes(), kClasses);
  EXPECT_EQ(dataset->class_names(), (std::vector<std::string>{"0", "1", "2", "3"}));
}

TEST_F(ImageDatasetTest, ValidationComesInOrderAndMayEndSmall) {
  const auto dataset = Open(Spec());
  ASSERT_EQ(dataset->ValidationBatches(4), 2);
  const Batch first = dataset->ValidationBatch(0, 4, 9), last = dataset->ValidationBatch(1, 4, 9);
  EXPECT_EQ(first.pixels.sizes(), (std::vector<std::int64_t>{4, 1, kSide, kSide}));
  EXPECT_EQ(first.pixels.scalar_type(), torch::kFloat32);
  EXPECT_EQ(first.labels.scalar_type(), torch::kInt64);
  EXPECT_EQ(FirstBytes(first), (std::vector<int>{101, 102, 103, 104}));
  EXPECT_EQ(FirstBytes(last), (std::vector<int>{105, 106, 107}));
  EXPECT_TRUE(torch::equal(first.labels, torch::tensor({0L, 1L, 2L, 3L})));
  EXPECT_TRUE(torch::equal(last.labels, torch::tensor({0L, 1L, 2L})));
  EXPECT_FALSE(first.ids.defined());
}

TEST_F(ImageDatasetTest, PixelsAreScaledAsAsked) {
  const Batch half = Open(Spec())->ValidationBatch(0, 1, 0);
  const double x = 101.0 / 255;
  EXPECT_NEAR(half.pixels[0][0][0][0].item<float>(), (x - 0.5) / 0.5, 1e-6);
  v1::ImageDataSpec spec = Spec();
  spec.set_pixel_scale(v1::IMAGENET);
  const Batch grey = Open(spec)->ValidationBatch(0, 1, 0);
  EXPECT_NEAR(grey.pixels[0][0][0][0].item<float>(), (x - 0.449) / 0.226, 1e-6);
  const Batch colours = Open(spec, {.image_size = kSide, .channels = 3})->ValidationBatch(0, 1, 0);
  EXPECT_EQ(colours.pixels.size(1), 3);
  EXPECT_NEAR(colours.pixels[0][0][0][0].item<float>(), (x - 0.485) / 0.229, 1e-6);
  EXPECT_NEAR(colours.pixels[0][1][0][0].item<float>(), (x - 0.456) / 0.224, 1e-6);
  EXPECT_NEAR(colours.pixels[0][2][0][0].item<float>(), (x - 0.406) / 0.225, 1e-6);
}

TEST_F(ImageDatasetTest, AnEpochMeetsEveryImageOnceInAnOrderOfItsOwn) {
  const auto dataset = Open(Spec());
  const auto epoch = [&](std::uint64_t number) {
    std::vector<int> seen;
    for (int i = 0; i < kTrain; ++i)
      seen.push_back(FirstBytes(dataset->TrainBatch(5, number * kTrain + i, 1))[0]);
    return seen;
  };
  const std::vector<int> first = epoch(0), second = epoch(1);
  EXPECT_EQ(std::set<int>(first.begin(), first.end()).size(), std::size_t{kTrain});
  EXPECT_EQ(std::set<int>(second.begin(), second.end()).size(), std::size_t{kTrain});
  EXPECT_NE(first, second);
  // A batch over the end of the first epoch.
  const std::vector<int> across = FirstBytes(dataset->TrainBatch(5, 2, 10));
  EXPECT_EQ(across, (std::vector<int>{first[20], first[21], first[22], second[0], second[1], second[2],
                                      second[3], second[4], second[5], second[6]}));
}

TEST_F(ImageDatasetTest, WithoutAugmentationTrainingIsTreatedAsValidation) {
  const auto dataset = Open(Spec(), {.image_size = 4, .channels = 3, .threads = 3});
  // Calibration on the training part has no augmentation; a batch of all of it, sorted by label and mean.
  const auto sorted = [](const Batch& batch) {
    return batch.pixels.index_select(0, (batch.labels * 1000 + batch.pixels.mean({1, 2, 3})).argsort());
  };
  const Batch train = dataset->TrainBatch(1, 0, kTrain);
  const Batch plain = dataset->CalibrationBatch(v1::TRAIN, 0, kTrain, 8);
  EXPECT_FALSE(torch::equal(train.pixels, plain.pixels));
  EXPECT_TRUE(torch::equal(sorted(train), sorted(plain)));
}

TEST_F(ImageDatasetTest, AnyBatchIsAFunctionOfSeedAndNumberAlone) {
  const auto dataset = Open(EverythingDrawn(Spec())), again = Open(EverythingDrawn(Spec()));
  const Batch late = dataset->TrainBatch(7, 1'000'000'007, 5);
  EXPECT_TRUE(Equal(late, again->TrainBatch(7, 1'000'000'007, 5)));
  EXPECT_FALSE(Equal(late, dataset->TrainBatch(7, 1'000'000'008, 5)));
  EXPECT_FALSE(Equal(late, dataset->TrainBatch(8, 1'000'000'007, 5)));
  // The same images in another epoch are drawn differently.
  EXPECT_FALSE(torch::equal(dataset->TrainBatch(7, 0, kTrain).pixels.sum(),
                            dataset->TrainBatch(7, 1, kTrain).pixels.sum()));
}

TEST_F(ImageDatasetTest, NeitherBatchSizeNorThreadsChangeAnAugmentedImage) {
  const v1::ImageDataSpec spec = EverythingDrawn(Spec());
  const auto dataset = Open(spec);
  const auto threaded = Open(spec, {.image_size = kSide, .channels = 1, .threads = 4});
  const Batch all = dataset->TrainBatch(3, 0, 12);
  EXPECT_TRUE(Equal(all, threaded->TrainBatch(3, 0, 12)));
  for (int i = 0; i < 3; ++i) {
    const Batch part = dataset->TrainBatch(3, i, 4);
    EXPECT_TRUE(torch::equal(part.pixels, all.pixels.slice(0, 4 * i, 4 * i + 4)));
    EXPECT_TRUE(torch::equal(part.labels, all.labels.slice(0, 4 * i, 4 * i + 4)));
  }
}

TEST_F(ImageDatasetTest, CalibrationOfTrainingIsDrawnWithoutRepetitionAndNotAugmented) {
  const auto dataset = Open(EverythingDrawn(Spec()));
  std::set<int> seen;
  for (int i = 0; i < 4; ++i) {
    for (const int byte : FirstBytes(dataset->CalibrationBatch(v1::TRAIN, i, 5, 1)))
      EXPECT_TRUE(seen.insert(byte).second);
  }
  EXPECT_FALSE(
      Equal(dataset->CalibrationBatch(v1::TRAIN, 0, 5, 1), dataset->CalibrationBatch(v1::TRAIN, 0, 5, 2)));
  const Batch validation = dataset->CalibrationBatch(v1::VALIDATION, 1, 5, 1);
  EXPECT_EQ(FirstBytes(validation), (std::vector<int>{106, 107, 101, 102, 103}));
}

// Rows are mixed with the next one, labels and pixels by the same share.
TEST_F(ImageDatasetTest, MixupIsTheConvexSumOfTwoImagesAndTheirLabels) {
  v1::ImageDataSpec spec = Spec();
  const auto plain = Open(spec);
  spec.mutable_augmentation()->set_mixup_alpha(0.8);
  const auto mixed = Open(spec);
  std::set<float> shares;
  for (int index = 0; index < 3; ++index) {
    const Batch before = plain->TrainBatch(2, index, 6), after = mixed->TrainBatch(2, index, 6);
    ASSERT_EQ(after.labels.sizes(), (std::vector<std::int64_t>{6, kClasses}));
    EXPECT_EQ(after.labels.scalar_type(), torch::kFloat32);
    EXPECT_TRUE(torch::allclose(after.labels.sum(1), torch::ones(6), 0, 1e-6));
    for (int row = 0; row < 6; ++row) {
      const int next = (row + 1) % 6;
      const auto label = before.labels[row].item<std::int64_t>(),
                 other = before.labels[next].item<std::int64_t>();
      if (label == other) {
        EXPECT_FLOAT_EQ(after.labels[row][label].item<float>(), 1);
        continue;
      }
      const float share = after.labels[row][label].item<float>();
      shares.insert(share);
      EXPECT_TRUE(torch::allclose(
          after.pixels[row], before.pixels[row] * share + before.pixels[next] * (1 - share), 1e-5, 1e-5));
    }
  }
  EXPECT_EQ(shares.size(), 3) << "one share a batch, another for each";
  EXPECT_TRUE(Equal(mixed->TrainBatch(2, 1, 6), mixed->TrainBatch(2, 1, 6)));
  EXPECT_EQ(mixed->ValidationBatch(0, 2, 0).labels.scalar_type(), torch::kInt64);
}

TEST_F(ImageDatasetTest, CutmixPutsABoxOfTheNextImageIn) {
  v1::ImageDataSpec spec = Spec();
  const auto plain = Open(spec);
  spec.mutable_augmentation()->set_cutmix_alpha(1);
  const auto mixed = Open(spec);
  int boxes = 0;
  for (int index = 0; index < 5; ++index) {
    const Batch before = plain->TrainBatch(2, index, 6), after = mixed->TrainBatch(2, index, 6);
    EXPECT_TRUE(torch::allclose(after.labels.sum(1), torch::ones(6), 0, 1e-6));
    for (int row = 0; row < 6; ++row) {
      const int next = (row + 1) % 6;
      const auto label = before.labels[row].item<std::int64_t>();
      if (label == before.labels[next].item<std::int64_t>()) continue;
      const torch::Tensor own = after.pixels[row] == before.pixels[row];
      EXPECT_TRUE(
          torch::equal(after.pixels[row].masked_select(~own), before.pixels[next].masked_select(~own)));
      const double share = after.labels[row][label].item<double>();
      // Pixels that happen to be equal in both count as its own.
      EXPECT_GE(own.sum().item<double>() / (kSide * kSide) + 1e-6, share);
      EXPECT_NEAR(own.sum().item<double>() / (kSide * kSide), share, 0.1);
      if (share < 0.99) ++boxes;
    }
  }
  EXPECT_GT(boxes, 0);
}

TEST_F(ImageDatasetTest, MixedLabelsHaveTheModelsColumns) {
  v1::ImageDataSpec spec = Spec();
  spec.mutable_augmentation()->set_mixup_alpha(1);
  const auto dataset = Open(spec, {.image_size = kSide, .channels = 1, .classes = 10});
  EXPECT_EQ(dataset->TrainBatch(1, 0, 3).labels.size(1), 10);
  EXPECT_EQ(dataset->classes(), kClasses);
}

TEST_F(ImageDatasetTest, TheDigestFollowsContentAndEverySettingOfABatch) {
  const std::string digest = Open(Spec())->dataset_digest();
  EXPECT_EQ(digest.size(), 64);
  EXPECT_EQ(Open(Spec(), {.image_size = kSide, .channels = 1, .threads = 3})->dataset_digest(), digest);
  std::set<std::string> digests = {digest};
  const auto differs = [&digests](const std::unique_ptr<ImageDataset>& dataset) {
    return digests.insert(dataset->dataset_digest()).second;
  };
  EXPECT_TRUE(differs(Open(Spec(), {.image_size = 5, .channels = 1})));
  EXPECT_TRUE(differs(Open(Spec(), {.image_size = kSide, .channels = 3})));
  v1::ImageDataSpec spec = Spec();
  spec.set_pixel_scale(v1::IMAGENET);
  EXPECT_TRUE(differs(Open(spec)));
  const auto with = [&](auto change) {
    v1::ImageDataSpec changed = Spec();
    change(*changed.mutable_augmentation());
    return Open(changed);
  };
  using Augmentation = v1::AugmentationSpec;
  EXPECT_TRUE(differs(with([](Augmentation& a) { a.set_crop_scale(0.5); })));
  EXPECT_TRUE(differs(with([](Augmentation& a) {
    a.set_crop_scale(0.5);
    a.set_interpolation(Augmentation::RANDOM);
  })));
  EXPECT_TRUE(differs(with([](Augmentation& a) { a.set_crop_padding(1); })));
  EXPECT_TRUE(differs(with([](Augmentation& a) { a.set_horizontal_flip(0.5); })));
  EXPECT_TRUE(differs(with([](Augmentation& a) { a.set_color_jitter(0.5); })));
  EXPECT_TRUE(differs(with([](Augmentation& a) { a.set_rand_augment_layers(1); })));
  EXPECT_TRUE(differs(with([](Augmentation& a) {
    a.set_rand_augment_layers(1);
    a.set_rand_augment_magnitude(3);
  })));
  EXPECT_TRUE(differs(with([](Augmentation& a) { a.set_mixup_alpha(0.5); })));
  EXPECT_TRUE(differs(with([](Augmentation& a) { a.set_cutmix_alpha(0.5); })));
  // A setting without effect does not change the digest.
  EXPECT_TRUE(differs(with([](Augmentation& a) {
    a.set_rand_augment_layers(1);
    a.set_rand_augment_probability(0.5);
  })));
  EXPECT_TRUE(differs(with([](Augmentation& a) {
    a.set_rand_augment_layers(1);
    a.set_rand_augment_operations(Augmentation::TIMM);
  })));
  EXPECT_FALSE(differs(with([](Augmentation& a) { a.set_rand_augment_magnitude(3); })));
  WriteIdx("t10k", kValidation, 102);
  EXPECT_TRUE(differs(Open(Spec())));
}

// As Pillow: rows and then columns, with whole pixels after each.
TEST_F(ImageDatasetTest, ImagesOfAnotherSizeAreScaledAsAtenScalesOneSideAfterTheOther) {
  const Image photo = Ramp(40, 60, 3);
  TemporaryFolder folder;
  for (const char* part : {"train", "val"}) {
    std::filesystem::create_directories(folder / part / "only");
    folder.Write(std::string(part) + "/only/photo.png", PngBytes(photo));
  }
  v1::ImageDataSpec spec;
  spec.set_path(folder.path().string());
  const auto dataset = Open(spec, {.image_size = 16, .channels = 3});
  const torch::Tensor bytes =
      torch::tensor(std::vector<int>(photo.bytes.begin(), photo.bytes.end()), torch::kFloat32)
          .view({1, 40, 60, 3})
          .permute({0, 3, 1, 2});
  const auto scaled = [](const torch::Tensor& pixels, at::IntArrayRef sides) {
    return at::_upsample_bicubic2d_aa(pixels, sides, /*align_corners=*/false).round().clamp(0, 255);
  };
  const torch::Tensor expected = scaled(scaled(bytes, {40, 24}), {16, 24}).slice(3, 4, 20);
  const torch::Tensor ours = (dataset->ValidationBatch(0, 1, 0).pixels + 1) * 127.5;
  EXPECT_LE((ours - expected).abs().max().item<double>(), 0.01);
}

TEST_F(ImageDatasetTest, AFileThatCannotBeDecodedIsNamedByTheBatch) {
  TemporaryFolder folder;
  const std::string whole = JpegBytes(Ramp(30, 30, 3));
  for (const char* part : {"train", "val"}) {
    std::filesystem::create_directories(folder / part / "only");
    folder.Write(std::string(part) + "/only/a.jpg", whole.substr(0, whole.size() / 2));
  }
  v1::ImageDataSpec spec;
  spec.set_path(folder.path().string());
  const auto dataset = Open(spec, {.image_size = 16, .channels = 3});
  try {
    dataset->TrainBatch(1, 0, 2);
    FAIL() << "half a JPEG was decoded";
  } catch (const c10::Error& error) {
    EXPECT_THAT(std::string(error.what_without_backtrace()),
                HasSubstr("data.images: " + (folder / "train/only/a.jpg").string() + ": a damaged JPEG ("));
  }
}

TEST_F(ImageDatasetTest, UnsupportedSettingsAreRefused) {
  EXPECT_EQ(std::string(ImageDataset::Open(Spec(), {.image_size = kSide, .channels = 2}).status().message()),
            "model.vit.channels: 2 is not supported by data.images: use 1 (grey) or 3");
  v1::ImageDataSpec spec;
  spec.set_path(folder_.path().string() + "/none");
  const auto missing = ImageDataset::Open(spec, Options()).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("data.images.path: no folder"));
}

// The real data set.
TEST_F(ImageDatasetTest, FashionMnistIsServedWhole) {
  ASSERT_TRUE(std::filesystem::exists(std::filesystem::path(INLIER_TEST_DATA_DIR) / "fashion-mnist"))
      << "not fetched: run `make images`";
  v1::ImageDataSpec spec;
  spec.set_dataset("fashion-mnist");
  const auto dataset =
      Open(spec, {.data_dir = INLIER_TEST_DATA_DIR, .image_size = 28, .channels = 1, .threads = 2});
  EXPECT_EQ(dataset->train_examples(), 60'000);
  EXPECT_EQ(dataset->validation_examples(), 10'000);
  EXPECT_EQ(dataset->classes(), 10);
  const Batch all = dataset->CalibrationBatch(v1::TRAIN, 0, 60'000, 1);
  EXPECT_TRUE(torch::equal(all.labels.bincount(), torch::full({10}, 6000, torch::kInt64)));
  // The published mean and deviation of its training pixels, 0.2860 and 0.3530.
  const torch::Tensor pixels = all.pixels.to(torch::kFloat64) / 2 + 0.5;
  EXPECT_NEAR(pixels.mean().item<double>(), 0.2860, 5e-5);
  EXPECT_NEAR(pixels.std().item<double>(), 0.3530, 5e-5);
}

}  // namespace
}  // namespace inlier
