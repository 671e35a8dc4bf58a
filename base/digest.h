// SHA-256 of bytes and files, as lower-case hexadecimal: the name of every artifact, fingerprint and cache
// entry.
#ifndef INLIER_BASE_DIGEST_H_
#define INLIER_BASE_DIGEST_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace inlier {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::string_view bytes);
  // REQUIRES: called once.
  std::string HexDigest();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string Sha256Hex(std::string_view bytes);
absl::StatusOr<std::string> Sha256HexOfFile(const std::filesystem::path& path);

// Whether `text` is 64 lower-case hexadecimal digits: what a file may be named after.
bool IsSha256Hex(std::string_view text);

}  // namespace inlier

#endif  // INLIER_BASE_DIGEST_H_
