// A folder of a model that appears whole or not at all: it is written next to its place and renamed.
#ifndef INLIER_CORE_HUGGING_FACE_EXPORT_FOLDER_H_
#define INLIER_CORE_HUGGING_FACE_EXPORT_FOLDER_H_

#include <filesystem>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

class ExportFolder {
 public:
  // AlreadyExists when there are files at `target`, unless `replace`: then it must be a model's folder
  // (config.json, no folders in it), which Commit replaces.
  static absl::Status Check(const std::filesystem::path& target, bool replace);
  // The same, and makes the folder next to it.
  static absl::StatusOr<ExportFolder> Make(const std::filesystem::path& target, bool replace);

  // Without Commit, nothing is left.
  ~ExportFolder();
  ExportFolder(ExportFolder&& other) noexcept;
  ExportFolder& operator=(ExportFolder&&) = delete;

  const std::filesystem::path& path() const { return made_; }
  absl::Status Write(std::string_view name, std::string_view content) const;

  // On disk when this returns OK.
  absl::Status Commit();

 private:
  ExportFolder(std::filesystem::path target, std::filesystem::path made, bool replace)
      : target_(std::move(target)), made_(std::move(made)), replace_(replace) {}

  std::filesystem::path target_;
  std::filesystem::path made_;  // After an exchange the old folder.
  bool replace_;
};

}  // namespace inlier

#endif  // INLIER_CORE_HUGGING_FACE_EXPORT_FOLDER_H_
