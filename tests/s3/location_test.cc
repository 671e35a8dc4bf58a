#include "s3/location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

const std::string kSha256(64, 'a');

v1::S3Config Config() {
  v1::S3Config config;
  config.set_endpoint("http://127.0.0.1:9000");
  config.set_bucket("checkpoints");
  return config;
}

TEST(S3LocationTest, AnArtifactIsAnObjectBelowThePrefix) {
  v1::S3Config config = Config();
  config.set_prefix("team/outliers");
  const S3Location location = *S3Location::FromConfig(config);
  EXPECT_EQ(location.KeyOf(kSha256), "team/outliers/" + kSha256 + ".safetensors");
  EXPECT_EQ(location.DamagedKeyOf(kSha256), "team/outliers/damaged/" + kSha256 + ".safetensors");
  EXPECT_EQ(location.Sha256Of(location.KeyOf(kSha256)), kSha256);
  EXPECT_EQ(location.Sha256Of(location.DamagedKeyOf(kSha256)), "");
  EXPECT_EQ(location.Sha256Of("team/outliers/readme.txt"), "");
  EXPECT_EQ(location.Sha256Of("team/" + kSha256 + ".safetensors"), "");
  EXPECT_EQ(location.Describe(), "s3://checkpoints/team/outliers at http://127.0.0.1:9000");
}

TEST(S3LocationTest, AQueryIsSortedAndEveryNameHasAValue) {
  const S3Location location = *S3Location::FromConfig(Config());
  EXPECT_EQ(location.Url("", {{"uploads", ""}, {"prefix", "a/b c"}}),
            "http://127.0.0.1:9000/checkpoints?prefix=a%2Fb%20c&uploads=");
  EXPECT_EQ(location.Url("inlier/x", {}), "http://127.0.0.1:9000/checkpoints/inlier/x");
}

TEST(S3LocationTest, WithoutAnEndpointItIsThatOfTheRegion) {
  v1::S3Config config = Config();
  config.clear_endpoint();
  config.set_region("eu-central-1");
  EXPECT_EQ(S3Location::FromConfig(config)->endpoint(), "https://s3.eu-central-1.amazonaws.com");
}

TEST(S3LocationTest, TwoWaysToOneBucketHoldTheSame) {
  v1::S3Config other = Config();
  other.set_endpoint("https://store.example");
  const S3Location location = *S3Location::FromConfig(Config());
  EXPECT_TRUE(location.HoldsTheSameAs(*S3Location::FromConfig(other)));
  other.set_prefix("another");
  EXPECT_FALSE(location.HoldsTheSameAs(*S3Location::FromConfig(other)));
}

TEST(S3LocationTest, WhatIsNoPlaceIsRefusedByItsField) {
  const auto refusal = [](void (*change)(v1::S3Config&)) {
    v1::S3Config config = Config();
    change(config);
    const absl::StatusOr<S3Location> location = S3Location::FromConfig(config);
    return location.ok() ? std::string() : std::string(location.status().message());
  };
  EXPECT_THAT(
      refusal([](v1::S3Config& c) { c.set_endpoint("store:9000"); }),
      testing::AllOf(testing::HasSubstr("s3.endpoint: 'store:9000'"), testing::HasSubstr("https://HOST")));
  EXPECT_THAT(refusal([](v1::S3Config& c) { c.set_endpoint("https://a:b@store"); }),
              testing::HasSubstr("s3.endpoint"));
  EXPECT_THAT(refusal([](v1::S3Config& c) { c.set_endpoint("https://store/path"); }),
              testing::HasSubstr("without a path"));
  EXPECT_THAT(refusal([](v1::S3Config& c) { c.set_bucket("a/b"); }), testing::HasSubstr("s3.bucket: 'a/b'"));
  EXPECT_THAT(refusal([](v1::S3Config& c) { c.set_prefix("a/../b"); }), testing::HasSubstr("s3.prefix"));
  EXPECT_THAT(refusal([](v1::S3Config& c) { c.set_prefix("/a"); }), testing::HasSubstr("s3.prefix"));
  EXPECT_THAT(refusal([](v1::S3Config& c) { c.set_prefix("a b"); }), testing::HasSubstr("s3.prefix"));
  EXPECT_THAT(refusal([](v1::S3Config& c) { c.set_region("eu central"); }), testing::HasSubstr("s3.region"));
}

}  // namespace
}  // namespace inlier
