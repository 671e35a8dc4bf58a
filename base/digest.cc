#include "base/digest.h"

#include <openssl/evp.h>

#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/check.h"
#include "base/files/regular_file.h"
#include "base/status.h"

namespace inlier {

namespace {

// Looked up once: OpenSSL 3 searches its providers whenever it is asked for an algorithm by name.
const EVP_MD* Algorithm() {
  static EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return sha256;
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
  INLIER_CHECK(EVP_DigestInit_ex(context_.get(), Algorithm(), nullptr) == 1);
}

void Sha256::Update(std::string_view bytes) {
  INLIER_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::HexDigest() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  INLIER_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest.data()), size));
}

std::string Sha256Hex(std::string_view bytes) {
  Sha256 sha;
  sha.Update(bytes);
  return sha.HexDigest();
}

Digest DigestOfHex(std::string_view text) {
  const std::optional<Digest> digest = ParseSha256Hex(text);
  INLIER_CHECK(digest.has_value());
  return *digest;
}

std::optional<Digest> ParseSha256Hex(std::string_view text) {
  // Eight digits at a time in a number's bytes: a start of the coordinator reads some hundred thousand digests.
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kEach = 0x0101010101010101;
  Digest digest;
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); i += 4) {
    std::uint64_t digits;
    std::memcpy(&digits, text.data() + 2 * i, sizeof(digits));
    std::uint64_t values = (digits & kEach * 0x0f) + (digits >> 6 & kEach) * 9;
    const std::uint64_t letters = (values + kEach * 6) >> 4 & kEach;  // Digits above 9.
    if ((values & kEach * 0xf0) != 0 || values + kEach * '0' + letters * ('a' - '9' - 1) != digits)
      return std::nullopt;
    values = (values << 4 | values >> 8) & 0x00ff00ff00ff00ff;
    values = (values | values >> 8) & 0x0000ffff0000ffff;
    const auto four = static_cast<std::uint32_t>(values | values >> 16);
    std::memcpy(digest.data() + i, &four, sizeof(four));
  }
  return digest;
}

std::string HexOf(const Digest& digest) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

absl::StatusOr<std::string> Sha256HexOfFile(const std::filesystem::path& path, const DataRoots& roots) {
  ASSIGN_OR_RETURN(const RegularFile file, RegularFile::Open(path, roots));
  Sha256 sha;
  std::vector<char> buffer(1 << 18);
  for (std::uint64_t at = 0;;) {
    ASSIGN_OR_RETURN(const std::size_t got, file.ReadAt(at, buffer.data(), buffer.size()));
    sha.Update(std::string_view(buffer.data(), got));
    at += got;
    if (got < buffer.size()) return sha.HexDigest();
  }
}

}  // namespace inlier
