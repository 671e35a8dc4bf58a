// A server that answers half, nonsense, or nothing: every call ends with an error that may be tried again, and
// received bytes stay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/time.h"
#include "s3/object_transfer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

// Answers each connection's first request with the same bytes, and closes it.
class RawServer {
 public:
  explicit RawServer(std::string answer)
      : answer_(std::move(answer)), acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}) {
    thread_ = std::thread([this] {
      boost::system::error_code error;
      for (;;) {
        boost::asio::ip::tcp::socket socket(io_);
        acceptor_.accept(socket, error);
        if (error || ended_) return;
        std::string request;
        boost::asio::read_until(socket, boost::asio::dynamic_buffer(request), "\r\n\r\n", error);
        boost::asio::write(socket, boost::asio::buffer(answer_), error);
        // Closed at once, what is unread would reset the connection and take the answer with it.
        socket.shutdown(boost::asio::ip::tcp::socket::shutdown_send, error);
        while (!error)
          boost::asio::read(socket, boost::asio::dynamic_buffer(request), boost::asio::transfer_at_least(1),
                            error);
      }
    });
  }
  ~RawServer() {
    ended_ = true;
    boost::system::error_code error;
    boost::asio::ip::tcp::socket last(io_);
    last.connect(acceptor_.local_endpoint(), error);  // Ends the wait.
    thread_.join();
  }
  std::string endpoint() const {
    return absl::StrCat("http://127.0.0.1:", acceptor_.local_endpoint().port());
  }

 private:
  const std::string answer_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

std::unique_ptr<S3Client> ClientOf(const std::string& endpoint) {
  ::setenv("AWS_ACCESS_KEY_ID", "id", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  v1::S3Config config;
  config.set_endpoint(endpoint);
  config.set_bucket("bucket");
  return *S3Client::Make(config, /*insecure=*/false);
}

std::unique_ptr<S3Client> ClientOf(const RawServer& server) { return ClientOf(server.endpoint()); }

std::string Http(const std::string& head, const std::string& body) {
  return absl::StrCat("HTTP/1.1 ", head, "\r\nConnection: close\r\n\r\n", body);
}

TEST(S3HalfAnswersTest, ADownloadThatBreaksKeepsWhatCame) {
  const RawServer server(Http("200 OK\r\nContent-Length: 1000", std::string(600, 'x')));
  const TemporaryFolder folder;
  const auto part = *PartFile::Open(folder / "model");
  const absl::Status status = FetchObject(*ClientOf(server), Sha256Hex("any"), *part, {});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(part->size(), 600u);
}

TEST(S3HalfAnswersTest, AnErrorInTheMiddleOfADownloadIsNoContent) {
  const RawServer server(Http("503 Slow Down\r\nContent-Length: 5", "later"));
  const TemporaryFolder folder;
  const auto part = *PartFile::Open(folder / "model");
  const absl::Status status = FetchObject(*ClientOf(server), Sha256Hex("any"), *part, {});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(part->size(), 0u);
}

TEST(S3HalfAnswersTest, AnAnswerFromAnotherPlaceIsNotAppended) {
  const RawServer server(
      Http("206 Partial Content\r\nContent-Length: 4\r\nContent-Range: bytes 900-903/1000", "xxxx"));
  const TemporaryFolder folder;
  const auto part = *PartFile::Open(folder / "model");
  ASSERT_TRUE(part->Append("begin").ok());
  EXPECT_TRUE(absl::IsUnavailable(FetchObject(*ClientOf(server), Sha256Hex("any"), *part, {})));
  EXPECT_EQ(part->size(), 5u);
}

TEST(S3HalfAnswersTest, WhatIsNotWholeXmlIsNoList) {
  for (const std::string& answer :
       {Http("200 OK", "<?xml version=\"1.0\"?><ListBucketResult><Contents><Key>a"),
        Http("200 OK", "<html/>"), Http("200 OK", ""), std::string("HTTP/1.1 200 OK\r\nContent-Le"),
        std::string("nonsense\r\n\r\n"), std::string()}) {
    const RawServer server(answer);
    const auto listed = ClientOf(server)->List("p/");
    EXPECT_TRUE(absl::IsUnavailable(listed.status())) << answer << ": " << listed.status();
  }
}

TEST(S3HalfAnswersTest, ACallThatWaitsEndsWhenTheProgramDoes) {
  boost::asio::io_context io;
  // Connections are taken by the system, and no program answers.
  boost::asio::ip::tcp::acceptor silent(io, {boost::asio::ip::address_v4::loopback(), 0});
  const auto client = ClientOf(absl::StrCat("http://127.0.0.1:", silent.local_endpoint().port()));
  std::thread ending([&client] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    client->Stop();
  });
  const Timestamp begun = MonotonicNow();
  EXPECT_TRUE(absl::IsCancelled(client->CheckBucket()));
  EXPECT_LT(MonotonicNow() - begun, std::chrono::seconds(20));  // Without it 30.
  ending.join();
  EXPECT_TRUE(absl::IsCancelled(client->CheckBucket()));
}

TEST(S3HalfAnswersTest, AListThatRepeatsItselfEnds) {
  const RawServer server(Http("200 OK",
                              "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t"
                              "</NextContinuationToken></ListBucketResult>"));
  EXPECT_THAT(ClientOf(server)->List("p/"),
              StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("the list has no end")));
}

// HEAD is answered without a body; a bad request is never tried again, and this is none.
TEST(S3HalfAnswersTest, TheReasonOfARefusedLookIsAskedFor) {
  const RawServer server(Http("400 Bad Request", "<Error><Code>ExpiredToken</Code></Error>"));
  EXPECT_THAT(ClientOf(server)->Head("k"), StatusIs(absl::StatusCode::kPermissionDenied,
                                                    testing::HasSubstr("renew the temporary credentials")));
}

TEST(S3HalfAnswersTest, AnUploadIsBegunOnlyWithItsIdAndAPartIsThereOnlyWithItsETag) {
  const RawServer server(Http("200 OK\r\nContent-Length: 0", ""));
  const auto client = ClientOf(server);
  EXPECT_TRUE(absl::IsUnavailable(client->BeginUpload("k").status()));
  EXPECT_TRUE(absl::IsUnavailable(client->PutPart("k", "id", 1, "x").status()));
}

TEST(S3HalfAnswersTest, PartsAreNotTogetherWhenTheBodyIsAnError) {
  const RawServer server(
      Http("200 OK", "<Error><Code>InternalError</Code><Message>half way</Message></Error>"));
  EXPECT_THAT(ClientOf(server)->CompleteUpload("k", "id", {{.number = 1, .etag = "e"}}),
              StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("InternalError (half way)")));
}

}  // namespace
}  // namespace inlier
