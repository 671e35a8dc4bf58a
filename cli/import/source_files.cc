#include "cli/import/source_files.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr std::size_t kSourceFilesMax = 100'000;

}  // namespace

absl::StatusOr<MappedFile> SourceFiles::Open(const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(file));
  const std::string name = file == root_ ? file.filename().string() : file.lexically_relative(root_).string();
  digests_[name] = Sha256Hex(mapped.bytes());
  return mapped;
}

absl::StatusOr<std::vector<std::filesystem::path>> SourceFiles::Files() const {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(root_, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    const bool hidden = at->path().filename().string().starts_with('.');
    if (at->is_directory() && hidden) at.disable_recursion_pending();
    if (!hidden && at->is_regular_file()) files.push_back(at->path());
    if (files.size() > kSourceFilesMax)
      return absl::ResourceExhaustedError(absl::StrCat(root_.string(), ": has more than ", kSourceFilesMax,
                                                       " files; import the folders in it one after another"));
  }
  if (error)
    return absl::UnavailableError(absl::StrCat(root_.string(), ": cannot be listed: ", error.message()));
  std::ranges::sort(files);
  return files;
}

std::string SourceFiles::Digest() const {
  if (digests_.size() == 1 && !std::filesystem::is_directory(root_)) return digests_.begin()->second;
  Sha256 whole;
  for (const auto& [name, digest] : digests_) whole.Update(absl::StrCat(digest, "  ", name, "\n"));
  return whole.HexDigest();
}

}  // namespace inlier
