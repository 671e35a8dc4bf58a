#include "base/digest.h"

#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace inlier {
namespace {

// FIPS 180-4.
TEST(DigestTest, EqualsThePublishedExamples) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(DigestTest, PartsAreAsTheWhole) {
  Sha256 digest;
  digest.Update("ab");
  digest.Update("");
  digest.Update("c");
  EXPECT_EQ(digest.HexDigest(), Sha256Hex("abc"));
}

TEST(DigestTest, AFileIsItsBytes) {
  const std::string path = ::testing::TempDir() + "/inlier_digest_test.bin";
  const std::string bytes(3'000'001, '\xab');
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(Sha256HexOfFile(path).value(), Sha256Hex(bytes));
}

TEST(DigestTest, TextBecomesBytesAndTextAgain) {
  const std::string text = Sha256Hex("abc");
  const std::optional<Digest> digest = ParseSha256Hex(text);
  ASSERT_TRUE(digest.has_value());
  EXPECT_EQ((*digest)[0], 0xba);
  EXPECT_EQ((*digest)[31], 0xad);
  EXPECT_EQ(HexOf(*digest), text);
  EXPECT_FALSE(ParseSha256Hex(text.substr(1)).has_value());
  EXPECT_FALSE(ParseSha256Hex("BA" + text.substr(2)).has_value());
}

TEST(DigestTest, EveryCharacterIsADigitOrRefused) {
  const std::string text = Sha256Hex("abc");
  const std::string digits = "0123456789abcdef";
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string other = text;
      other[at] = static_cast<char>(byte);
      const std::optional<Digest> digest = ParseSha256Hex(other);
      ASSERT_EQ(digest.has_value(), digits.find(other[at]) != std::string::npos) << at << " " << byte;
      if (digest) {
        ASSERT_EQ(HexOf(*digest), other);
      }
    }
  }
}

TEST(DigestTest, AMissingFileIsNamed) {
  const absl::Status status = Sha256HexOfFile("/no/such/file").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(status.message()).find("/no/such/file"), std::string::npos) << status;
}

}  // namespace
}  // namespace inlier
