#include "base/digest.h"

#include <openssl/evp.h>

#include <array>
#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace inlier {

namespace {

// Looked up once: OpenSSL 3 searches its providers whenever it is asked for an algorithm by name.
const EVP_MD* Algorithm() {
  static EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return sha256;
}

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  INLIER_CHECK(EVP_DigestInit_ex(context_->evp, Algorithm(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::Update(std::string_view bytes) {
  INLIER_CHECK(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::HexDigest() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  INLIER_CHECK(EVP_DigestFinal_ex(context_->evp, digest.data(), &size) == 1);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest.data()), size));
}

std::string Sha256Hex(std::string_view bytes) {
  Sha256 sha;
  sha.Update(bytes);
  return sha.HexDigest();
}

std::optional<Digest> ParseSha256Hex(std::string_view text) {
  // A start of the coordinator reads some hundred thousand of them. Above 15: no digit.
  static constexpr auto kValues = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(16);
    for (int i = 0; i < 10; ++i) values[static_cast<std::size_t>('0' + i)] = static_cast<std::uint8_t>(i);
    for (int i = 10; i < 16; ++i)
      values[static_cast<std::size_t>('a' + i - 10)] = static_cast<std::uint8_t>(i);
    return values;
  }();
  Digest digest;
  if (text.size() != 2 * digest.size()) return std::nullopt;
  unsigned seen = 0;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const unsigned high = kValues[static_cast<std::uint8_t>(text[2 * i])];
    const unsigned low = kValues[static_cast<std::uint8_t>(text[2 * i + 1])];
    seen |= high | low;
    digest[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  if (seen > 15) return std::nullopt;
  return digest;
}

std::string HexOf(const Digest& digest) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) text += {kHex[byte >> 4], kHex[byte & 15]};
  return text;
}

bool IsSha256Hex(std::string_view text) { return ParseSha256Hex(text).has_value(); }

absl::StatusOr<std::string> Sha256HexOfFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return absl::NotFoundError(absl::StrCat("cannot read ", path.string()));
  Sha256 sha;
  std::array<char, 1 << 16> buffer;
  while (in.read(buffer.data(), buffer.size()) || in.gcount() > 0) {
    sha.Update(std::string_view(buffer.data(), static_cast<size_t>(in.gcount())));
  }
  if (in.bad()) return absl::DataLossError(absl::StrCat("reading ", path.string(), " failed"));
  return sha.HexDigest();
}

}  // namespace inlier
