// The signature of a webhook's body.
#ifndef INLIER_NOTIFY_SIGNATURE_H_
#define INLIER_NOTIFY_SIGNATURE_H_

#include <string>
#include <string_view>

namespace inlier {

// HMAC-SHA256 (RFC 2104), 64 lower-case hexadecimal digits.
std::string HmacSha256Hex(std::string_view key, std::string_view text);

}  // namespace inlier

#endif  // INLIER_NOTIFY_SIGNATURE_H_
