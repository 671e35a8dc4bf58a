#include "base/data/data_folder.h"

#include <algorithm>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files/file.h"

namespace inlier {

namespace fs = std::filesystem;

std::vector<std::string> DataFilesIn(const fs::path& data_dir, const std::string& extension) {
  std::vector<std::string> names;
  for (const fs::path& entry : EntriesOf(data_dir)) {
    std::error_code ignored;
    if (entry.extension() == extension && fs::is_regular_file(entry, ignored))
      names.push_back(entry.stem().string());
  }
  std::ranges::sort(names);
  return names;
}

absl::StatusOr<fs::path> FindDataFile(const std::string& name, const fs::path& data_dir,
                                      const DataFileKind& kind) {
  if (!IsFileName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(kind.field, ": \"", name, "\" is not the name of a ", kind.what, "; ", kind.otherwise));
  }
  const fs::path file = data_dir / (name + kind.extension);
  std::error_code error;
  if (fs::is_regular_file(file, error)) return file;
  const std::vector<std::string> there = DataFilesIn(data_dir, kind.extension);
  return absl::NotFoundError(
      absl::StrCat(kind.field, ": no ", kind.what, " \"", name, "\" in ", data_dir.string(),
                   there.empty() ? absl::StrCat(" (no ", kind.plural, " there)")
                                 : absl::StrCat(" (there are: ", absl::StrJoin(there, ", "), ")"),
                   "; get it with `make corpora`, or ", kind.otherwise));
}

absl::Status Unreadable(const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(std::string(status.message()),
                                                  "; let the worker's user read it, or name another file"));
}

}  // namespace inlier
