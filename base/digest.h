// SHA-256 of bytes and files, as lower-case hexadecimal: the name of artifacts, fingerprints and cache entries.
#ifndef INLIER_BASE_DIGEST_H_
#define INLIER_BASE_DIGEST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"

struct evp_md_ctx_st;

namespace inlier {

class Sha256 {
 public:
  Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void Update(std::string_view bytes);
  // REQUIRES: called once.
  std::string HexDigest();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

std::string Sha256Hex(std::string_view bytes);

// A digest as it is computed with: a third of its text.
using Digest = std::array<std::uint8_t, 32>;
// The digest of 64 lower-case hexadecimal digits; nullopt for any other text.
std::optional<Digest> ParseSha256Hex(std::string_view text);
// REQUIRES: the text is a digest.
Digest DigestOfHex(std::string_view text);
std::string HexOf(const Digest& digest);
struct DigestHash {
  std::size_t operator()(const Digest& digest) const {
    std::size_t hash;
    std::memcpy(&hash, digest.data(), sizeof(hash));  // All its bits are alike.
    return hash;
  }
};
absl::StatusOr<std::string> Sha256HexOfFile(const std::filesystem::path& path, const DataRoots& roots = {});

// True for 64 lower-case hexadecimal digits: a name that a file may have.
inline bool IsSha256Hex(std::string_view text) { return ParseSha256Hex(text).has_value(); }

}  // namespace inlier

#endif  // INLIER_BASE_DIGEST_H_
