// Artifacts over real gRPC: chunks that are checked, calls that break, and requests that make no sense.
#include <fstream>

#include "base/digest.h"
#include "base/files/file.h"
#include "inlier/v1/artifact_service.grpc.pb.h"
#include "tests/coordinator/services/fixture.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using grpc::StatusCode;
using testing::HasSubstr;

class ArtifactServiceTest : public CoordinatorTest {
 protected:
  v1::ArtifactStat Stat(const std::string& sha256) {
    auto stub = v1::ArtifactService::NewStub(channel_);
    grpc::ClientContext context;
    v1::StatArtifactRequest request;
    request.set_sha256(sha256);
    v1::ArtifactStat stat;
    const grpc::Status status = stub->Stat(&context, request, &stat);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return stat;
  }

  // Sends the messages; the status of the call.
  grpc::Status Send(const std::vector<v1::UploadArtifactRequest>& messages,
                    v1::UploadArtifactResponse* response = nullptr) {
    auto stub = v1::ArtifactService::NewStub(channel_);
    grpc::ClientContext context;
    v1::UploadArtifactResponse ignored;
    auto writer = stub->Upload(&context, response == nullptr ? &ignored : response);
    for (const v1::UploadArtifactRequest& message : messages) {
      if (!writer->Write(message)) break;
    }
    writer->WritesDone();
    return writer->Finish();
  }

  static v1::UploadArtifactRequest Header(const std::string& sha256, std::uint64_t bytes,
                                          std::uint64_t offset) {
    v1::UploadArtifactRequest message;
    message.mutable_header()->set_sha256(sha256);
    message.mutable_header()->set_bytes(bytes);
    message.mutable_header()->set_offset(offset);
    return message;
  }
  static v1::UploadArtifactRequest Chunk(std::uint64_t offset, const std::string& data) {
    v1::UploadArtifactRequest message;
    message.mutable_chunk()->set_offset(offset);
    message.mutable_chunk()->set_data(data);
    message.mutable_chunk()->set_sha256(Sha256Hex(data));
    return message;
  }

  grpc::Status SendAll(v1::UploadArtifactResponse* response = nullptr) {
    return Send({Header(sha_, content_.size(), 0), Chunk(0, content_.substr(0, 1 << 20)),
                 Chunk(1 << 20, content_.substr(1 << 20, 1 << 20)), Chunk(2 << 20, "tail")},
                response);
  }

  grpc::Status Fetch(const std::string& sha256, std::uint64_t offset, std::string& content) {
    auto stub = v1::ArtifactService::NewStub(channel_);
    grpc::ClientContext context;
    v1::DownloadArtifactRequest request;
    request.set_sha256(sha256);
    request.set_offset(offset);
    auto reader = stub->Download(&context, request);
    v1::ArtifactChunk chunk;
    while (reader->Read(&chunk)) {
      EXPECT_EQ(chunk.offset(), offset + content.size());
      EXPECT_LE(chunk.data().size(), std::size_t{1} << 20);
      EXPECT_EQ(chunk.sha256(), Sha256Hex(chunk.data()));
      content += chunk.data();
    }
    return reader->Finish();
  }

  const std::string content_ = std::string(1 << 20, 'x') + std::string(1 << 20, 'y') + "tail";
  const std::string sha_ = Sha256Hex(content_);
  const std::string path_ = "artifacts/" + sha_ + ".safetensors";
};

TEST_F(ArtifactServiceTest, AnUploadIsDownloadedFromAnyOffset) {
  v1::UploadArtifactResponse response;
  ASSERT_TRUE(SendAll(&response).ok());
  EXPECT_EQ(response.bytes_taken(), content_.size());
  EXPECT_EQ(*ReadFile(folder_ / path_), content_);
  std::string whole, end;
  EXPECT_TRUE(Fetch(sha_, 0, whole).ok());
  EXPECT_EQ(whole, content_);
  EXPECT_TRUE(Fetch(sha_, content_.size() - 6, end).ok());
  EXPECT_EQ(end, "yytail");
  // A second time nothing is taken.
  ASSERT_TRUE(Send({Header(sha_, content_.size(), 0), Chunk(0, "anything")}, &response).ok());
  EXPECT_EQ(response.bytes_taken(), 0u);
  EXPECT_EQ(*ReadFile(folder_ / path_), content_);
}

TEST_F(ArtifactServiceTest, AnUploadContinuesAcrossARestartOfTheCoordinator) {
  EXPECT_EQ(Send({Header(sha_, content_.size(), 0), Chunk(0, content_.substr(0, 1 << 20))}).error_code(),
            StatusCode::ABORTED);
  Restart();
  EXPECT_EQ(Stat(sha_).received(), std::uint64_t{1} << 20);
  EXPECT_FALSE(Stat(sha_).complete());
  v1::UploadArtifactResponse response;
  const grpc::Status sent = Send({Header(sha_, content_.size(), 1 << 20),
                                  Chunk(1 << 20, content_.substr(1 << 20, 1 << 20)), Chunk(2 << 20, "tail")},
                                 &response);
  ASSERT_TRUE(sent.ok()) << sent.error_message();
  EXPECT_EQ(response.bytes_taken(), content_.size() - (1 << 20));
  EXPECT_TRUE(Stat(sha_).complete());
  EXPECT_EQ(*ReadFile(folder_ / path_), content_);
}

TEST_F(ArtifactServiceTest, ADamagedChunkIsNotWritten) {
  v1::UploadArtifactRequest damaged = Chunk(0, "good");
  damaged.mutable_chunk()->set_data("evil");
  EXPECT_THAT(Send({Header(sha_, content_.size(), 0), damaged}),
              FailsWith(StatusCode::ABORTED, HasSubstr("damaged in transfer")));
  EXPECT_EQ(Stat(sha_).received(), 0u);
}

TEST_F(ArtifactServiceTest, UploadsWithoutSenseAreRefusedWithTheReason) {
  const auto code = [this](const std::vector<v1::UploadArtifactRequest>& messages) {
    return Send(messages).error_code();
  };
  EXPECT_EQ(code({}), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code({Chunk(0, "x")}), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code({v1::UploadArtifactRequest()}), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code({Header("../" + sha_, 10, 0)}), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code({Header(sha_, 10, 0), Header(sha_, 10, 0)}), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code({Header(sha_, 10, 0), Chunk(0, "")}), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code({Header(sha_, 10 << 20, 0), Chunk(0, std::string((1 << 20) + 1, 'x'))}),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code({Header(sha_, 10, 5)}), StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(code({Header(sha_, 5, 0), Chunk(0, "wrong")}), StatusCode::DATA_LOSS);
  EXPECT_EQ(code({Header(sha_, std::uint64_t{1} << 61, 0)}), StatusCode::RESOURCE_EXHAUSTED);
  std::string content;
  EXPECT_EQ(Fetch(sha_, 0, content).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Fetch("..", 0, content).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(content, "");
}

TEST_F(ArtifactServiceTest, ACollectionListsItsRemovalsAndThenRemoves) {
  const std::string stray = "artifacts/" + Sha256Hex("stray") + ".safetensors";
  folder_.Write(stray, "stray");
  std::filesystem::last_write_time(
      folder_ / stray, std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 8));
  ASSERT_TRUE(SendAll().ok());
  auto stub = v1::ArtifactService::NewStub(channel_);
  const auto collect = [&stub](bool dry_run, std::uint32_t keep_days) {
    grpc::ClientContext context;
    v1::CollectRequest request;
    request.set_dry_run(dry_run);
    request.set_keep_days(keep_days);
    v1::CollectResponse response;
    const grpc::Status status = stub->Collect(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  };
  const v1::CollectResponse planned = collect(true, 7);
  ASSERT_EQ(planned.files_size(), 1);
  EXPECT_EQ(planned.files(0).path(), stray);
  EXPECT_EQ(planned.bytes_total(), 5u);
  EXPECT_EQ(planned.files_kept(), 1u);
  EXPECT_EQ(planned.bytes_kept(), content_.size());
  EXPECT_TRUE(std::filesystem::exists(folder_ / stray));
  EXPECT_EQ(collect(false, 7).SerializeAsString(), planned.SerializeAsString());
  EXPECT_FALSE(std::filesystem::exists(folder_ / stray));
  // A file that has just arrived is never treated as a leftover.
  EXPECT_EQ(collect(false, 0).files_total(), 0u);
  EXPECT_TRUE(Stat(sha_).complete());
}

TEST_F(ArtifactServiceTest, TheStoreIsKnownByTheIdInItsFolder) {
  auto stub = v1::ArtifactService::NewStub(channel_);
  grpc::ClientContext context;
  v1::StoreDescription description;
  ASSERT_TRUE(stub->DescribeStore(&context, v1::DescribeStoreRequest(), &description).ok());
  EXPECT_EQ(description.store_id(), *ReadFile(folder_ / "artifacts/store.id"));
  EXPECT_EQ(description.store_id().size(), 36u);
}

}  // namespace
}  // namespace inlier
