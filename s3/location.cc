#include "s3/location.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr std::string_view kSuffix = ".safetensors";
constexpr std::size_t kPrefixBytesMax = 512;

bool IsAlphanumeric(unsigned char c) { return c < 0x80 && std::isalnum(c) != 0; }

// True for letters, digits and the characters of `also`, which a signature leaves as they are.
bool IsPlain(std::string_view text, std::string_view also) {
  return std::ranges::all_of(text,
                             [&](unsigned char c) { return IsAlphanumeric(c) || also.find(c) != also.npos; });
}

absl::Status CheckEndpoint(const std::string& endpoint) {
  const auto refuse = [&](const char* why) {
    return absl::InvalidArgumentError(absl::StrCat(
        "s3.endpoint: '", endpoint, "' ", why, "; write http://HOST:PORT or https://HOST, without a path"));
  };
  const std::size_t scheme = absl::StartsWith(endpoint, "https://") ? 8 : 7;
  if (scheme == 7 && !absl::StartsWith(endpoint, "http://")) return refuse("has no http:// or https://");
  const std::string host = endpoint.substr(scheme);
  if (absl::StrContains(host, '@')) return refuse("holds a user or a password, which never go there");
  if (host.empty() || !IsPlain(host, ".-:[]_")) return refuse("names no host");
  return absl::OkStatus();
}

absl::Status CheckNames(const v1::S3Config& config) {
  const std::string& bucket = config.bucket();
  if (bucket.size() < 3 || bucket.size() > 63 || !IsPlain(bucket, ".-_"))
    return absl::InvalidArgumentError(
        absl::StrCat("s3.bucket: '", bucket,
                     "' is not the name of a bucket: write 3 to 63 letters, digits, '.', '-' and '_'"));
  const std::string& prefix = config.prefix();
  const bool whole = !prefix.empty() && prefix.size() <= kPrefixBytesMax && prefix.front() != '/' &&
                     prefix.back() != '/' && !absl::StrContains(prefix, "//") && IsPlain(prefix, "._-/");
  const std::string parts = absl::StrCat("/", prefix, "/");
  if (!whole || absl::StrContains(parts, "/../") || absl::StrContains(parts, "/./"))
    return absl::InvalidArgumentError(absl::StrCat(
        "s3.prefix: '", prefix, "' is not a prefix: write at most ", kPrefixBytesMax,
        " letters, digits, '.', '-' and '_', with single '/' between names other than '.' and '..'"));
  if (config.region().empty() || !IsPlain(config.region(), "-_"))
    return absl::InvalidArgumentError(
        absl::StrCat("s3.region: '", config.region(), "' is not a region: write one such as us-east-1"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<S3Location> S3Location::FromConfig(const v1::S3Config& config) {
  RETURN_IF_ERROR(CheckNames(config));
  S3Location location;
  location.bucket_ = config.bucket();
  location.prefix_ = config.prefix();
  location.region_ = config.region();
  location.endpoint_ = config.has_endpoint() ? std::string(absl::StripSuffix(config.endpoint(), "/"))
                                             : absl::StrCat("https://s3.", config.region(), ".amazonaws.com");
  RETURN_IF_ERROR(CheckEndpoint(location.endpoint_));
  return location;
}

bool S3Location::encrypted() const { return absl::StartsWith(endpoint_, "https://"); }

std::string S3Location::KeyOf(std::string_view sha256) const {
  return absl::StrCat(KeyPrefix(), std::string(sha256), std::string(kSuffix));
}

std::string S3Location::DamagedKeyOf(std::string_view sha256) const {
  return absl::StrCat(KeyPrefix(), "damaged/", std::string(sha256), std::string(kSuffix));
}

std::string S3Location::Sha256Of(std::string_view key) const {
  const std::string prefix = KeyPrefix();
  if (!key.starts_with(prefix) || !key.ends_with(kSuffix)) return "";
  key.remove_prefix(prefix.size());
  key.remove_suffix(kSuffix.size());
  return IsSha256Hex(key) ? std::string(key) : "";
}

std::string S3Location::Url(std::string_view key, const S3Query& query) const {
  std::string url = absl::StrCat(endpoint_, "/", bucket_);
  if (!key.empty()) absl::StrAppend(&url, "/", std::string(key));
  char separator = '?';
  for (const auto& [name, value] : query) {
    url += separator;
    absl::StrAppend(&url, S3Encoded(name), "=", S3Encoded(value));
    separator = '&';
  }
  return url;
}

std::string S3Location::NameOf(std::string_view key) const {
  return absl::StrCat("s3://", bucket_, "/", std::string(key));
}

std::string S3Location::Describe() const { return absl::StrCat(NameOf(prefix_), " at ", endpoint_); }

std::string S3Encoded(std::string_view text) {
  std::string encoded;
  for (const unsigned char c : text) {
    if (IsAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      encoded += static_cast<char>(c);
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", c);
    }
  }
  return encoded;
}

}  // namespace inlier
