// A folder in memory with a database that is already made, for inputs by the thousand.
#ifndef INLIER_TESTS_FUZZ_FOLDER_H_
#define INLIER_TESTS_FUZZ_FOLDER_H_

#include <fstream>
#include <string>

#include "base/check.h"
#include "base/files/file.h"
#include "coordinator/store/database.h"
#include "tests/support/temporary_folder.h"

namespace inlier {

// The bytes of an inlier.db without rows.
inline const std::string& EmptyDatabase() {
  static const std::string bytes = [] {
    const TemporaryFolder folder(MemoryFolder());
    INLIER_CHECK(Database::Open(folder.path()).ok());
    return *ReadFile(folder / "inlier.db");
  }();
  return bytes;
}

}  // namespace inlier

#endif  // INLIER_TESTS_FUZZ_FOLDER_H_
