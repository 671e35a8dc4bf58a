// Where a bucket is, and how its objects are named.
//
//   <prefix>/<sha256>.safetensors           an artifact
//   <prefix>/damaged/<sha256>.safetensors   one whose content did not have its digest, moved away
//   <prefix>/owner                          prefix_owner.h
//
// Thread safety: values.
#ifndef INLIER_S3_LOCATION_H_
#define INLIER_S3_LOCATION_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "inlier/v1/config.pb.h"

namespace inlier {

// Names and values of a URL's query, not encoded, in the order of their names, as the signature needs them.
using S3Query = std::map<std::string, std::string>;

class S3Location {
 public:
  // InvalidArgument names the field of `config` and the remedy.
  static absl::StatusOr<S3Location> FromConfig(const v1::S3Config& config);

  const std::string& endpoint() const { return endpoint_; }  // Without a slash at its end.
  const std::string& bucket() const { return bucket_; }
  const std::string& region() const { return region_; }
  bool encrypted() const;

  // "<prefix>/": the beginning of every key of ours.
  std::string KeyPrefix() const { return prefix_ + "/"; }
  std::string KeyOf(std::string_view sha256) const;
  std::string DamagedKeyOf(std::string_view sha256) const;
  // The digest of the artifact with this key; empty for other keys.
  std::string Sha256Of(std::string_view key) const;

  // Of the object, or of the bucket for an empty key. The signature needs "=" also after a name without a value.
  std::string Url(std::string_view key, const S3Query& query) const;
  // "s3://bucket/key".
  std::string NameOf(std::string_view key) const;
  // "s3://bucket/prefix at https://host".
  std::string Describe() const;

  // True for the same bucket and prefix, perhaps by another endpoint.
  bool HoldsTheSameAs(const S3Location& other) const {
    return bucket_ == other.bucket_ && prefix_ == other.prefix_;
  }

 private:
  std::string endpoint_, bucket_, prefix_, region_;
};

// `text` for a URL's query, with all but letters, digits and "-._~" as %XX.
std::string S3Encoded(std::string_view text);

}  // namespace inlier

#endif  // INLIER_S3_LOCATION_H_
