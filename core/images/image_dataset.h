// Labelled images ready for training: read, resized, augmented and served as batches that depend on their
// number alone.
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
#include <vector>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/data/batch.h"
#include "core/data/dataset.h"
#include "inlier/v1/data_spec.pb.h"
#include "inlier/v1/quantization_spec.pb.h"

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

class ImageDataset : public Dataset {
 public:
  // Opens the images that `spec` (resolved: every default filled in) names.
  // NotFound: no such folder, with the remedy. InvalidArgument, naming the file or folder: a file that is not
  // IDX, is truncated or has no images, labels of another number than images, or other classes for validation
  // than for training; a file that is no PNG or JPEG.
  static absl::StatusOr<std::unique_ptr<ImageDataset>> Open(const v1::ImageDataSpec& spec,
                                                            const ImageOptions& options);
  ~ImageDataset() override;

  // IDX: 1 + the largest label; folders: the number of them.
  std::int64_t classes() const;
  // IDX: the numbers; folders: their names, sorted. Label i is the i-th.
  const std::vector<std::string>& class_names() const;
  std::int64_t channels() const;
  std::int64_t image_size() const;

  const std::string& dataset_digest() const override;
  std::int64_t train_examples() const override;
  std::int64_t validation_examples() const override;
  std::int64_t sequence_length() const override { return 0; }

  // pixels (B, channels, side, side); labels (B) int64, or where mixup or cutmix is on (B, columns) float32
  // with rows that sum to 1.
  Batch TrainBatch(std::uint64_t seed, std::uint64_t index, std::int64_t batch_size) const override;
  bool mixes_examples() const override;
  Batch ValidationBatch(std::int64_t index, std::int64_t batch_size, std::uint64_t mask_seed) const override;
  Batch CalibrationBatch(v1::Split split, std::int64_t index, std::int64_t batch_size,
                         std::uint64_t seed) const override;

 private:
  struct State;
  explicit ImageDataset(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_IMAGE_DATASET_H_
