#include "core/images/image_dataset.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "core/images/image_augmentation.h"
#include "core/images/image_mixing.h"
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

torch::Tensor ImageDataset::Pixels(std::int64_t rows, const MakeRow& make) const {
  const auto channels = static_cast<std::int64_t>(scales_.size());
  const std::int64_t plane = side_ * side_;
  torch::Tensor pixels = torch::empty({rows, channels, side_, side_}, torch::kFloat32);
  float* const first = pixels.data_ptr<float>();
  const auto write = [&](std::int64_t row) -> absl::Status {
    ASSIGN_OR_RETURN(const Image image, make(row));
    INLIER_CHECK(image.height == side_ && image.width == side_ && image.channels == channels);
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto [mean, deviation] = scales_[c];
      float* const out = first + (row * channels + c) * plane;
      for (std::int64_t i = 0; i < plane; ++i)
        out[i] = (static_cast<float>(image.bytes[i * channels + c]) / 255 - mean) / deviation;
    }
    return absl::OkStatus();
  };
  const absl::Status status = ParallelFor(rows, threads_, write);
  TORCH_CHECK(status.ok(), "data.images: ", std::string(status.message()));
  return pixels;
}

void ImageDataset::Mix(RandomStream stream, Batch& batch) const {
  const ImageMix mix = DrawImageMix(augmentation_.mixup_alpha(), augmentation_.cutmix_alpha(),
                                    static_cast<int>(side_), stream);
  const torch::Tensor labels = torch::one_hot(batch.labels, label_columns_).to(torch::kFloat32);
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

absl::StatusOr<std::unique_ptr<ImageDataset>> ImageDataset::Open(const v1::ImageDataSpec& spec,
                                                                 const ImageOptions& options) {
  INLIER_CHECK(options.image_size > 0 && options.threads >= 1);
  if (options.channels != 1 && options.channels != 3) {
    return absl::InvalidArgumentError(absl::StrCat("model.vit.channels: ", options.channels,
                                                   " is not supported by data.images: use 1 (grey) or 3"));
  }
  ASSIGN_OR_RETURN(const std::filesystem::path folder, FindImages(spec, options.data_dir));
  std::unique_ptr<ImageDataset> made(new ImageDataset());
  ASSIGN_OR_RETURN(made->source_, OpenImageSource(folder, options.threads, options.progress,
                                                  {options.roots, PixelsMax(options.image_size)}));
  made->augmentation_ = spec.augmentation();
  made->scales_ = ChannelScales(spec.pixel_scale(), options.channels);
  made->side_ = options.image_size;
  made->crop_ = spec.evaluation_crop();
  made->label_columns_ = std::max(options.classes, made->classes());
  made->threads_ = options.threads;
  std::string settings = absl::StrFormat(
      "inlier image dataset 1\nimages %s\nside %d\nchannels %d\nscale %s\n", made->source_.content_digest,
      options.image_size, options.channels, v1::PixelScale_Name(spec.pixel_scale()));
  if (made->crop_ != 1) absl::StrAppendFormat(&settings, "evaluation crop %.17g\n", made->crop_);
  absl::StrAppend(&settings, AugmentationText(spec.augmentation()));
  if (made->mixes_examples()) absl::StrAppend(&settings, "columns ", made->label_columns_, "\n");
  made->digest_ = Sha256Hex(settings);
  return made;
}

Batch ImageDataset::MakeBatch(const Place& place, const std::vector<std::int64_t>& examples) const {
  const ImagePart& part = place.train ? *source_.train : *source_.validation;
  const bool augmented = place.use == Use::kTraining;
  const int side = static_cast<int>(side_), channels = static_cast<int>(scales_.size());
  Batch batch;
  batch.pixels = Pixels(std::ssize(examples), [&](std::int64_t row) -> absl::StatusOr<Image> {
    ASSIGN_OR_RETURN(const Image image, part.ImageOf(examples[row]));
    if (!augmented) return PrepareImage(image, side, channels, crop_);
    RandomStream stream(place.seed, "augment", place.first + row);
    return AugmentImage(image, augmentation_, side, channels, stream);
  });
  std::vector<std::int64_t> labels;
  for (const std::int64_t example : examples) labels.push_back(part.LabelOf(example));
  batch.labels = torch::tensor(labels, torch::kInt64);
  if (augmented && mixes_examples())
    Mix(RandomStream(place.seed, "mix", place.first / examples.size()), batch);
  return batch;
}

}  // namespace inlier
