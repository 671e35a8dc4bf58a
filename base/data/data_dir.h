// The folder of corpora and vocabularies that is used where none is named.
//
// Thread safety: any thread.
#ifndef INLIER_BASE_DATA_DATA_DIR_H_
#define INLIER_BASE_DATA_DATA_DIR_H_

#include <filesystem>
#include <string>

namespace inlier {

// `named` made absolute; when it is empty, DefaultDataDir of this program.
std::string DataDirOr(const std::string& named);

// share/inlier/corpora of the prefix of `program` (PREFIX/bin/NAME) where a package has installed it, perhaps as a
// link to a folder that does not exist yet; else the folder of the build.
std::filesystem::path DefaultDataDir(const std::filesystem::path& program);

}  // namespace inlier

#endif  // INLIER_BASE_DATA_DATA_DIR_H_
