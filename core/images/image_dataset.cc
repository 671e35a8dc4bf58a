#include "core/images/image_dataset.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/parallel_for.h"
#include "base/random_stream.h"
#include "base/status.h"
#include "core/data/example_order.h"
#include "core/images/image_augmentation.h"
#include "core/images/image_mixing.h"
#include "core/images/image_source.h"
#include "torch/types.h"

namespace inlier {
namespace {

// Mean and deviation of each channel.
std::vector<std::pair<float, float>> ChannelScales(v1::PixelScale scale, std::int64_t channels) {
  switch (scale) {
    case v1::HALF:
      return std::vector<std::pair<float, float>>(channels, {0.5f, 0.5f});
    case v1::IMAGENET:
      break;
  }
  if (channels == 1) return {{0.449f, 0.226f}};
  return {{0.485f, 0.229f}, {0.456f, 0.224f}, {0.406f, 0.225f}};
}

// Every setting of the augmentation that changes a batch, defaults included.
std::string AugmentationText(const v1::AugmentationSpec& spec) {
  std::string text;
  if (spec.has_crop_scale()) {
    absl::StrAppendFormat(&text, "crop %.17g %s\n", spec.crop_scale(),
                          v1::AugmentationSpec::Interpolation_Name(spec.interpolation()));
  }
  if (spec.crop_padding() > 0) absl::StrAppendFormat(&text, "padding %d\n", spec.crop_padding());
  if (spec.horizontal_flip() > 0) absl::StrAppendFormat(&text, "flip %.17g\n", spec.horizontal_flip());
  if (spec.rand_augment_layers() > 0) {
    absl::StrAppendFormat(&text, "rand augment %d %.17g\n", spec.rand_augment_layers(),
                          spec.rand_augment_magnitude());
    if (spec.rand_augment_probability() != 1)
      absl::StrAppendFormat(&text, "chance %.17g\n", spec.rand_augment_probability());
    if (spec.rand_augment_operations() != v1::AugmentationSpec::TORCHVISION) {
      absl::StrAppend(&text, "operations ",
                      v1::AugmentationSpec::RandAugmentOperations_Name(spec.rand_augment_operations()), "\n");
    }
  }
  if (spec.color_jitter() > 0) absl::StrAppendFormat(&text, "jitter %.17g\n", spec.color_jitter());
  if (spec.mixup_alpha() > 0) absl::StrAppendFormat(&text, "mixup %.17g\n", spec.mixup_alpha());
  if (spec.cutmix_alpha() > 0) absl::StrAppendFormat(&text, "cutmix %.17g\n", spec.cutmix_alpha());
  return text;
}

}  // namespace

struct ImageDataset::State {
  // The image of one row of a batch.
  using MakeRow = std::function<absl::StatusOr<Image>(std::int64_t row)>;

  // `rows` images as scaled floats. Throws when one cannot be read.
  torch::Tensor Pixels(std::int64_t rows, const MakeRow& make) const;
  static torch::Tensor Labels(const ImagePart& part, const std::vector<std::int64_t>& examples);
  // The same images of a part without augmentation, as in validation.
  Batch PlainBatch(const ImagePart& part, const std::vector<std::int64_t>& examples) const;
  bool mixes() const { return augmentation.mixup_alpha() > 0 || augmentation.cutmix_alpha() > 0; }
  // Mixes each row of a batch with the next one, the last with the first.
  void Mix(RandomStream stream, Batch& batch) const;

  ImageSource source;
  v1::AugmentationSpec augmentation;
  std::vector<std::pair<float, float>> scales;  // Mean and deviation of each channel.
  std::int64_t side = 0;
  double crop = 1;                 // Of images without augmentation.
  std::int64_t label_columns = 0;  // Of mixed labels.
  int threads = 1;
  std::string digest;
};

torch::Tensor ImageDataset::State::Pixels(std::int64_t rows, const MakeRow& make) const {
  const auto channels = static_cast<std::int64_t>(scales.size());
  const std::int64_t plane = side * side;
  torch::Tensor pixels = torch::empty({rows, channels, side, side}, torch::kFloat32);
  float* const first = pixels.data_ptr<float>();
  const auto write = [&](std::int64_t row) -> absl::Status {
    ASSIGN_OR_RETURN(const Image image, make(row));
    INLIER_CHECK(image.height == side && image.width == side && image.channels == channels);
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto [mean, deviation] = scales[c];
      float* const out = first + (row * channels + c) * plane;
      for (std::int64_t i = 0; i < plane; ++i)
        out[i] = (static_cast<float>(image.bytes[i * channels + c]) / 255 - mean) / deviation;
    }
    return absl::OkStatus();
  };
  const absl::Status status = ParallelFor(rows, threads, write);
  TORCH_CHECK(status.ok(), "data.images: ", std::string(status.message()));
  return pixels;
}

torch::Tensor ImageDataset::State::Labels(const ImagePart& part, const std::vector<std::int64_t>& examples) {
  std::vector<std::int64_t> labels;
  for (const std::int64_t example : examples) labels.push_back(part.LabelOf(example));
  return torch::tensor(labels, torch::kInt64);
}

Batch ImageDataset::State::PlainBatch(const ImagePart& part,
                                      const std::vector<std::int64_t>& examples) const {
  const auto rows = static_cast<std::int64_t>(examples.size());
  Batch batch;
  batch.pixels = Pixels(rows, [&](std::int64_t row) -> absl::StatusOr<Image> {
    ASSIGN_OR_RETURN(const Image image, part.ImageOf(examples[row]));
    return PrepareImage(image, static_cast<int>(side), static_cast<int>(scales.size()), crop);
  });
  batch.labels = Labels(part, examples);
  return batch;
}

void ImageDataset::State::Mix(RandomStream stream, Batch& batch) const {
  const ImageMix mix =
      DrawImageMix(augmentation.mixup_alpha(), augmentation.cutmix_alpha(), static_cast<int>(side), stream);
  const torch::Tensor labels = torch::one_hot(batch.labels, label_columns).to(torch::kFloat32);
  batch.labels = labels * mix.share + labels.roll(-1, 0) * (1 - mix.share);
  const torch::Tensor others = batch.pixels.roll(-1, 0);
  if (mix.kind == ImageMix::Kind::kMixup) {
    batch.pixels = batch.pixels * mix.share + others * (1 - mix.share);
    return;
  }
  const auto box = [&mix](const torch::Tensor& pixels) {
    return pixels.slice(2, mix.top, mix.bottom).slice(3, mix.left, mix.right);
  };
  box(batch.pixels).copy_(box(others));
}

ImageDataset::ImageDataset(std::unique_ptr<State> state) : state_(std::move(state)) {}
ImageDataset::~ImageDataset() = default;

absl::StatusOr<std::unique_ptr<ImageDataset>> ImageDataset::Open(const v1::ImageDataSpec& spec,
                                                                 const ImageOptions& options) {
  INLIER_CHECK(options.image_size > 0 && options.threads >= 1);
  if (options.channels != 1 && options.channels != 3) {
    return absl::InvalidArgumentError(absl::StrCat("model.vit.channels: ", options.channels,
                                                   " is not supported by data.images: use 1 (grey) or 3"));
  }
  ASSIGN_OR_RETURN(const std::filesystem::path folder, FindImages(spec, options.data_dir));
  auto state = std::make_unique<State>();
  ASSIGN_OR_RETURN(state->source, OpenImageSource(folder, options.threads, options.progress,
                                                  {options.roots, PixelsMax(options.image_size)}));
  state->augmentation = spec.augmentation();
  state->scales = ChannelScales(spec.pixel_scale(), options.channels);
  state->side = options.image_size;
  state->crop = spec.evaluation_crop();
  state->label_columns =
      std::max<std::int64_t>(options.classes, static_cast<std::int64_t>(state->source.class_names.size()));
  state->threads = options.threads;
  std::string settings = absl::StrFormat(
      "inlier image dataset 1\nimages %s\nside %d\nchannels %d\nscale %s\n", state->source.content_digest,
      options.image_size, options.channels, v1::PixelScale_Name(spec.pixel_scale()));
  if (state->crop != 1) absl::StrAppendFormat(&settings, "evaluation crop %.17g\n", state->crop);
  absl::StrAppend(&settings, AugmentationText(spec.augmentation()));
  if (state->mixes()) absl::StrAppend(&settings, "columns ", state->label_columns, "\n");
  state->digest = Sha256Hex(settings);
  return std::unique_ptr<ImageDataset>(new ImageDataset(std::move(state)));
}

std::int64_t ImageDataset::classes() const {
  return static_cast<std::int64_t>(state_->source.class_names.size());
}
const std::vector<std::string>& ImageDataset::class_names() const { return state_->source.class_names; }
std::int64_t ImageDataset::channels() const { return static_cast<std::int64_t>(state_->scales.size()); }
std::int64_t ImageDataset::image_size() const { return state_->side; }
const std::string& ImageDataset::dataset_digest() const { return state_->digest; }
std::int64_t ImageDataset::train_examples() const { return state_->source.train->size(); }
std::int64_t ImageDataset::validation_examples() const { return state_->source.validation->size(); }

bool ImageDataset::mixes_examples() const { return state_->mixes(); }

Batch ImageDataset::TrainBatch(std::uint64_t seed, std::uint64_t index, std::int64_t batch_size) const {
  const ImagePart& part = *state_->source.train;
  const std::vector<std::int64_t> examples = TrainExamples(part.size(), seed, index, batch_size);
  // The number of the batch's first image since the start of training.
  const std::uint64_t first = index * static_cast<std::uint64_t>(batch_size);
  const int side = static_cast<int>(state_->side), channels = static_cast<int>(state_->scales.size());
  Batch batch;
  batch.pixels = state_->Pixels(batch_size, [&](std::int64_t row) -> absl::StatusOr<Image> {
    ASSIGN_OR_RETURN(const Image image, part.ImageOf(examples[row]));
    RandomStream stream(seed, "augment", first + row);
    return AugmentImage(image, state_->augmentation, side, channels, stream);
  });
  batch.labels = State::Labels(part, examples);
  if (state_->mixes()) state_->Mix(RandomStream(seed, "mix", index), batch);
  return batch;
}

Batch ImageDataset::ValidationBatch(std::int64_t index, std::int64_t batch_size,
                                    std::uint64_t mask_seed) const {
  return state_->PlainBatch(*state_->source.validation,
                            ValidationExamples(validation_examples(), index, batch_size));
}

Batch ImageDataset::CalibrationBatch(v1::Split split, std::int64_t index, std::int64_t batch_size,
                                     std::uint64_t seed) const {
  const bool drawn = split == v1::TRAIN;
  const ImagePart& part = drawn ? *state_->source.train : *state_->source.validation;
  return state_->PlainBatch(part, CalibrationExamples(part.size(), drawn, seed, index, batch_size));
}

}  // namespace inlier
