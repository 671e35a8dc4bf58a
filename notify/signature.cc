#include "notify/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "absl/strings/escaping.h"
#include "base/check.h"

namespace inlier {

std::string HmacSha256Hex(std::string_view key, std::string_view text) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  INLIER_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                    reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes,
                    &size) != nullptr);
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes), size});
}

}  // namespace inlier
