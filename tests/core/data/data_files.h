// Files that tests of texts and tokenizers read.
#ifndef INLIER_TESTS_CORE_DATA_DATA_FILES_H_
#define INLIER_TESTS_CORE_DATA_DATA_FILES_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/temporary_folder.h"

namespace inlier {

inline std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::filesystem::path GoldenFolder() {
  const char* named = std::getenv("INLIER_GOLDEN_DIR");
  return named != nullptr ? named : INLIER_GOLDEN_DEFAULT;
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_DATA_DATA_FILES_H_
