// Digests of files, remembered in the cache folder while the files' sizes, modification times and numbers stay the same.
#ifndef INLIER_CORE_DATA_FILE_DIGEST_H_
#define INLIER_CORE_DATA_FILE_DIGEST_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"

namespace inlier {

// Makes one digest of those of the files, given in their order.
using CombineDigests = std::function<std::string(const std::vector<std::string>&)>;

// Called after each piece of the files that is read, from the thread that reads: bytes so far, and of all files.
using DigestProgress = std::function<void(std::uint64_t bytes, std::uint64_t bytes_total)>;

// combine(SHA-256 of each of `files`), remembered in the file `memory`, whose folder exists. `place` names the files in
// messages. `progress` may be empty; nothing is reported of a digest that is remembered. InvalidArgument: one lies
// outside the roots. Unavailable: they changed while they were read.
absl::StatusOr<std::string> CachedDigestOfFiles(const std::vector<std::filesystem::path>& files,
                                                const std::filesystem::path& place, const DataRoots& roots,
                                                const std::filesystem::path& memory,
                                                const CombineDigests& combine,
                                                const DigestProgress& progress = {});

}  // namespace inlier

#endif  // INLIER_CORE_DATA_FILE_DIGEST_H_
