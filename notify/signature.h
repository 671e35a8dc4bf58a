// The signature of a webhook's body.
#ifndef INLIER_NOTIFY_SIGNATURE_H_
#define INLIER_NOTIFY_SIGNATURE_H_

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "base/check.h"

namespace inlier {

// HMAC-SHA256 (RFC 2104), 64 lower-case hexadecimal digits.
inline std::string HmacSha256Hex(std::string_view key, std::string_view text) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  INLIER_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                    reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes,
                    &size) != nullptr);
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes), size});
}

}  // namespace inlier

#endif  // INLIER_NOTIFY_SIGNATURE_H_
