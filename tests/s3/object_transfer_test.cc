// Artifacts as objects of a real server: sent whole and in parts, continued, fetched, damaged.
#include "s3/object_transfer.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "base/digest.h"
#include "base/files/file.h"
#include "tests/s3/server_fixture.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

std::string Bytes(std::size_t count, unsigned seed) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>((seed = seed * 1664525u + 1013904223u) >> 24);
  return bytes;
}

class ObjectTransferTest : public S3ServerTest {
 protected:
  // A file to send, with its digest in sha256_.
  int FileOf(const std::string& content) {
    sha256_ = Sha256Hex(content);
    const std::string path = folder_.Write("model", content);
    return fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  void TearDown() override {
    if (fd_ >= 0) ::close(fd_);
  }
  S3Progress Counting() {
    return {.is_cancelled = [this] { return moved_ >= cancel_at_; },
            .on_bytes = [this](std::uint64_t bytes, std::uint64_t total) { there_ = bytes, total_ = total; },
            .on_moved = [this](std::uint64_t bytes) { moved_ += bytes; }};
  }
  absl::StatusOr<bool> Send(S3Existing existing = S3Existing::kKeepRecent) {
    moved_ = 0;
    return SendObject(*client_, sha256_, fd_, existing, Counting());
  }
  fs::path Target() const { return folder_ / (sha256_ + ".safetensors"); }
  absl::Status Fetch() {
    moved_ = 0;
    const auto part = PartFile::Open(Target());
    return FetchObject(*client_, sha256_, **part, Counting());
  }
  std::string key() const { return client_->location().KeyOf(sha256_); }

  int fd_ = -1;
  std::string sha256_;
  std::uint64_t moved_ = 0, there_ = 0, total_ = 0;
  std::uint64_t cancel_at_ = ~std::uint64_t{0};
};

TEST_F(ObjectTransferTest, ASmallFileIsOneObjectAndComesBack) {
  EXPECT_TRUE(client_->CheckBucket().ok()) << client_->CheckBucket();
  FileOf("weights");
  EXPECT_TRUE(Send().value());
  EXPECT_EQ(moved_, 7u);
  ASSERT_TRUE(Fetch().ok());
  EXPECT_EQ(*ReadFile(Target()), "weights");
  EXPECT_FALSE(fs::exists(PartFile::NameOf(Target())));
}

TEST_F(ObjectTransferTest, WhatIsThereIsNotSentAgain) {
  FileOf("weights");
  ASSERT_TRUE(*Send());
  EXPECT_FALSE(*Send());
  EXPECT_EQ(moved_, 0u);
  EXPECT_FALSE(*Send(S3Existing::kKeep));
}

TEST_F(ObjectTransferTest, ALargeFileIsSentInPartsAndContinuedWhereItBroke) {
  const std::string content = Bytes(12'000'000, 1);
  FileOf(content);
  cancel_at_ = 6'000'000;  // In the second part of 5 MiB.
  EXPECT_TRUE(absl::IsCancelled(Send().status()));
  EXPECT_FALSE(client_->Head(key())->has_value());
  ASSERT_EQ(client_->ListUploads(key())->size(), 1u);
  cancel_at_ = ~std::uint64_t{0};
  const auto sent = Send().value();
  EXPECT_EQ(moved_, content.size() - (5 << 20));
  EXPECT_EQ(there_, content.size());
  EXPECT_EQ(total_, content.size());
  EXPECT_TRUE(client_->ListUploads(key())->empty());
  ASSERT_TRUE(Fetch().ok());
  EXPECT_EQ(*ReadFile(Target()), content);
}

TEST_F(ObjectTransferTest, PartsOfAnotherSizeAreNotUsed) {
  const std::string content = Bytes(12'000'000, 2);
  FileOf(content);
  const std::string id = *client_->BeginUpload(key());
  ASSERT_TRUE(client_->PutPart(key(), id, 1, content.substr(0, 6'000'000)).ok());
  ASSERT_TRUE(*Send());
  EXPECT_EQ(moved_, content.size());
  ASSERT_TRUE(client_->AbortUpload(key(), id).ok());
  EXPECT_TRUE(client_->ListUploads(key())->empty());
}

TEST_F(ObjectTransferTest, AnUploadThatAnotherHasEndedIsWhole) {
  const std::string content = Bytes(6'000'000, 3);
  FileOf(content);
  ASSERT_TRUE(*Send());
  EXPECT_TRUE(absl::IsNotFound(client_->ListParts(key(), "no-such-upload").status()));
  EXPECT_FALSE(*Send());
}

TEST_F(ObjectTransferTest, ADownloadContinuesThePartFile) {
  const std::string content = Bytes(3'000'000, 4);
  FileOf(content);
  ASSERT_TRUE(*Send());
  {
    const auto part = PartFile::Open(Target());
    ASSERT_TRUE((*part)->Append(content.substr(0, 1'000'000)).ok());
  }
  ASSERT_TRUE(Fetch().ok());
  EXPECT_EQ(moved_, 2'000'000u);
  EXPECT_EQ(*ReadFile(Target()), content);
}

TEST_F(ObjectTransferTest, APartFileThatIsWholeIsCompletedAndALongerOneBeginsAgain) {
  FileOf("weights");
  ASSERT_TRUE(*Send());
  {
    const auto part = PartFile::Open(Target());
    ASSERT_TRUE((*part)->Append("weights").ok());
  }
  ASSERT_TRUE(Fetch().ok());
  EXPECT_EQ(moved_, 0u);
  fs::remove(Target());
  {
    const auto part = PartFile::Open(Target());
    ASSERT_TRUE((*part)->Append("weights and more").ok());
  }
  EXPECT_TRUE(absl::IsAborted(Fetch()));
  ASSERT_TRUE(Fetch().ok());
  EXPECT_EQ(*ReadFile(Target()), "weights");
}

TEST_F(ObjectTransferTest, ADamagedObjectIsNeverTakenAndIsMovedAway) {
  FileOf("weights");
  ASSERT_TRUE(client_->Put(key(), "weihgts").ok());
  EXPECT_TRUE(absl::IsDataLoss(Fetch()));
  EXPECT_FALSE(fs::exists(Target()));
  EXPECT_TRUE(MoveDamagedAway(*client_, sha256_).value());
  EXPECT_TRUE(absl::IsNotFound(Fetch()));
  EXPECT_TRUE(client_->Head(client_->location().DamagedKeyOf(sha256_))->has_value());
  ASSERT_TRUE(*Send(S3Existing::kKeep));
  EXPECT_TRUE(Fetch().ok());
}

TEST_F(ObjectTransferTest, AFileThatWasDamagedHereIsNotSent) {
  FileOf("weights");
  std::ofstream(folder_ / "model") << "weihgts";
  EXPECT_TRUE(absl::IsDataLoss(Send().status()));
  EXPECT_FALSE(client_->Head(key())->has_value());
}

TEST_F(ObjectTransferTest, AnObjectOfAnotherSizeIsReplaced) {
  FileOf("weights");
  ASSERT_TRUE(client_->Put(key(), "half").ok());
  ASSERT_TRUE(*Send(S3Existing::kKeep));
  EXPECT_TRUE(Fetch().ok());
}

TEST_F(ObjectTransferTest, AListHasAllObjectsOfThePrefix) {
  const std::string prefix = client_->location().KeyPrefix();
  for (const char* name : {"a", "b", "damaged/c"}) ASSERT_TRUE(client_->Put(prefix + name, "x").ok());
  std::int64_t now = 0;
  const auto objects = client_->List(prefix, &now).value();
  std::vector<std::string> keys;
  for (const S3Object& object : objects) {
    keys.push_back(object.key);
    EXPECT_EQ(object.bytes, 1u);
    EXPECT_LE(std::abs(now - object.modified_seconds), 60);
  }
  EXPECT_THAT(keys, testing::UnorderedElementsAre(prefix + "a", prefix + "b", prefix + "damaged/c"));
  EXPECT_TRUE(client_->Delete(prefix + "a").ok());
  EXPECT_TRUE(client_->Delete(prefix + "a").ok());
  EXPECT_FALSE(client_->Head(prefix + "a")->has_value());
}

TEST_F(ObjectTransferTest, ErrorsHaveTheirCauseAndRemedy) {
  ::setenv("AWS_SECRET_ACCESS_KEY", "a-wrong-secret", 1);
  const auto stranger = *S3Client::Make(server_->Config(), false);
  ::setenv("AWS_SECRET_ACCESS_KEY", "test-secret-of-no-value", 1);
  EXPECT_THAT(stranger->CheckBucket(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       testing::AllOf(testing::HasSubstr("HTTP 403 SignatureDoesNotMatch"),
                                      testing::HasSubstr("secret key"),
                                      testing::Not(testing::HasSubstr("a-wrong-secret")))));
  v1::S3Config elsewhere = server_->Config();
  elsewhere.set_bucket("no-such-bucket");
  EXPECT_THAT((*S3Client::Make(elsewhere, false))->CheckBucket(),
              StatusIs(absl::StatusCode::kFailedPrecondition, testing::HasSubstr("make the bucket")));
  elsewhere.set_endpoint("http://127.0.0.1:1");
  EXPECT_THAT((*S3Client::Make(elsewhere, false))->CheckBucket(),
              StatusIs(absl::StatusCode::kUnavailable,
                       testing::HasSubstr("GET s3://no-such-bucket/ at http://127.0.0.1:1")));
}

}  // namespace
}  // namespace inlier
