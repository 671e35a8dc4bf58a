// Labelled images ready for training: read, resized, augmented and served as batches that depend on their number alone.
//
// Sources (image_source.h): IDX files, kept in memory as bytes, or a folder tree of PNG and JPEG files,
// decoded when a batch needs them. Every image is scaled so that its shorter side is image_size (bicubic,
// antialiased; unchanged when it has that size), cut to a square from the middle, converted to `channels`,
// and its pixels in [0, 1] are scaled by pixel_scale. Training images go through `augmentation` instead; with
// all of it off they are treated as those of validation.
//
// Random choices for one image come from the stream (seed, "augment", number of the example since the start
// of training). Only mixup and cutmix mix within a micro-batch, image i with image i + 1, by a share from the
// stream (seed, "mix", number of the micro-batch), so that batch size and accumulation do change it.
//
// Open checks the header of a file only. A file that cannot be decoded later makes the batch that needs it
// throw a c10::Error that names the file.
//
// Thread safety: const methods may be called from several threads; each call starts `threads` of its own.
#ifndef INLIER_CORE_IMAGES_IMAGE_DATASET_H_
#define INLIER_CORE_IMAGES_IMAGE_DATASET_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "base/random_stream.h"
#include "core/data/ordered_dataset.h"
#include "core/images/image_source.h"
#include "inlier/v1/data_spec.pb.h"

namespace inlier {

struct ImageOptions {
  std::filesystem::path data_dir = {};  // Folders of named data sets.
  std::int64_t image_size = 0;          // Pixels of a side in a batch.
  std::int64_t channels = 0;            // 1: grey; 3: red, green, blue.
  int threads = 1;                      // For reading and for making a batch.
  // May be empty. `phase` is the current step, `fraction` its finished share. Called from the opening thread.
  std::function<void(std::string_view phase, double fraction)> progress = nullptr;
  DataRoots roots = {};      // Where the folder and its files may be.
  std::int64_t classes = 0;  // Columns of mixed labels where the model has more classes than the data.
};

class ImageDataset final : public OrderedDataset {
 public:
  // Opens the images that `spec` (resolved: every default filled in) names.
  // NotFound: no such folder, with the remedy. InvalidArgument, naming the file or folder: a file that is not
  // IDX, is truncated or has no images, labels of another number than images, or other classes for validation
  // than for training; a file that is neither PNG nor JPEG.
  static absl::StatusOr<std::unique_ptr<ImageDataset>> Open(const v1::ImageDataSpec& spec,
                                                            const ImageOptions& options);

  // IDX: 1 + the largest label; folders: the number of them.
  std::int64_t classes() const { return static_cast<std::int64_t>(class_names().size()); }
  // IDX: the numbers; folders: their names, sorted. Label i is the i-th.
  const std::vector<std::string>& class_names() const { return source_.class_names; }

  const std::string& dataset_digest() const override { return digest_; }
  std::int64_t train_examples() const override { return source_.train->size(); }
  std::int64_t validation_examples() const override { return source_.validation->size(); }
  std::int64_t sequence_length() const override { return 0; }
  bool mixes_examples() const override {
    return augmentation_.mixup_alpha() > 0 || augmentation_.cutmix_alpha() > 0;
  }

 private:
  // The image of one row of a batch.
  using MakeRow = std::function<absl::StatusOr<Image>(std::int64_t row)>;

  ImageDataset() = default;
  // pixels (B, channels, side, side); labels (B) int64, or in training where mixup or cutmix is on (B, columns)
  // float32 with rows that sum to 1.
  Batch MakeBatch(const Place& place, const std::vector<std::int64_t>& examples) const override;
  // `rows` images as scaled floats. Throws when one cannot be read.
  torch::Tensor Pixels(std::int64_t rows, const MakeRow& make) const;
  // Mixes each row of a batch with the next one, the last with the first.
  void Mix(RandomStream stream, Batch& batch) const;

  ImageSource source_;
  v1::AugmentationSpec augmentation_;
  std::vector<std::pair<float, float>> scales_;  // Mean and deviation of each channel.
  std::int64_t side_ = 0;
  double crop_ = 1;                 // Of images without augmentation.
  std::int64_t label_columns_ = 0;  // Of mixed labels.
  int threads_ = 1;
  std::string digest_;
};

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_IMAGE_DATASET_H_
