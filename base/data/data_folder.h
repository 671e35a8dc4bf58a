// Files of the worker's data folder that a spec names: <name>.txt is a corpus, <name>.tsv a labelled data set.
//
// Thread safety: pure functions of the file system.
#ifndef INLIER_BASE_DATA_DATA_FOLDER_H_
#define INLIER_BASE_DATA_DATA_FOLDER_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

// One kind of such files, with the words of its messages.
struct DataFileKind {
  std::string field;      // Its field in the spec: "data.text.corpus".
  std::string what;       // "corpus".
  std::string plural;     // "corpora".
  std::string extension;  // ".txt".
  std::string otherwise;  // The alternative: "name a text file of your own with data.text.path".
};

// data_dir/<name><extension>. InvalidArgument when it is not a plain name; NotFound, naming the folder, those
// in it and the remedy, when there is no such file.
absl::StatusOr<std::filesystem::path> FindDataFile(const std::string& name,
                                                   const std::filesystem::path& data_dir,
                                                   const DataFileKind& kind);

// Names of the files with this extension, without it, sorted.
std::vector<std::string> DataFilesIn(const std::filesystem::path& data_dir, const std::string& extension);

// `status` of a file that exists and cannot be read, with the remedy.
absl::Status Unreadable(const absl::Status& status);

}  // namespace inlier

#endif  // INLIER_BASE_DATA_DATA_FOLDER_H_
