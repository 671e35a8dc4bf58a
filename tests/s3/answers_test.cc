#include "s3/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

constexpr char kHead[] = R"(<?xml version="1.0" encoding="UTF-8"?>)";
constexpr char kNamespace[] = R"( xmlns="http://s3.amazonaws.com/doc/2006-03-01/")";

std::string Xml(const std::string& name, const std::string& content) {
  return std::string(kHead) + "<" + name + kNamespace + ">" + content + "</" + name + ">";
}

TEST(S3AnswersTest, AListHasItsObjectsAndTheWayOn) {
  const auto page =
      ParseObjects(Xml("ListBucketResult",
                       "<IsTruncated>true</IsTruncated><NextContinuationToken>t&amp;1</NextContinuationToken>"
                       "<Contents><Key>p/a&lt;b</Key><Size>12000000000</Size>"
                       "<LastModified>2026-11-26T03:06:53.123Z</LastModified></Contents>"))
          .value();
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].key, "p/a<b");
  EXPECT_EQ(page.items[0].bytes, 12'000'000'000u);
  EXPECT_EQ(page.items[0].modified_seconds, 1'795'662'413);
  EXPECT_EQ(page.next, (S3Query{{"continuation-token", "t&1"}}));
}

TEST(S3AnswersTest, TheLastPageHasNoWayOn) {
  const auto page = ParseObjects(Xml("ListBucketResult", "<IsTruncated>false</IsTruncated>")).value();
  EXPECT_TRUE(page.items.empty());
  EXPECT_TRUE(page.next.empty());
}

TEST(S3AnswersTest, PartsAndUploadsAreRead) {
  const auto parts =
      ParseParts(Xml("ListPartsResult",
                     "<Part><ETag>&#34;e1&#34;</ETag><PartNumber>7</PartNumber><Size>5</Size>"
                     "<LastModified>2026-11-26T03:09:20Z</LastModified></Part><IsTruncated>true</IsTruncated>"
                     "<NextPartNumberMarker>7</NextPartNumberMarker>"));
  ASSERT_TRUE(parts.ok());
  ASSERT_EQ(parts->items.size(), 1u);
  EXPECT_EQ(parts->items[0].number, 7);
  EXPECT_EQ(parts->items[0].etag, "\"e1\"");
  EXPECT_EQ(parts->items[0].bytes, 5u);
  EXPECT_EQ(parts->next, (S3Query{{"part-number-marker", "7"}}));
  const auto uploads = ParseUploads(Xml("ListMultipartUploadsResult",
                                        "<Upload><Key>k</Key><UploadId>u</"
                                        "UploadId><Initiated>2026-11-26T03:08:53Z</Initiated></Upload>"))
                           .value();
  ASSERT_EQ(uploads.items.size(), 1u);
  EXPECT_EQ(uploads.items[0].id, "u");
  EXPECT_GT(uploads.items[0].begun_seconds, 0);
  EXPECT_EQ(*ParseUploadId(Xml("InitiateMultipartUploadResult", "<UploadId>id</UploadId>")), "id");
}

TEST(S3AnswersTest, HalfAnAnswerIsNone) {
  const std::string whole = Xml("ListBucketResult", "<IsTruncated>false</IsTruncated>");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_TRUE(absl::IsUnavailable(ParseObjects(whole.substr(0, bytes)).status())) << bytes;
  EXPECT_TRUE(absl::IsUnavailable(ParseObjects("<html><body>hello</body></html>").status()));
  EXPECT_TRUE(absl::IsUnavailable(ParseUploadId(Xml("InitiateMultipartUploadResult", "")).status()));
}

TEST(S3AnswersTest, TheCompletionNamesThePartsInOrder) {
  EXPECT_EQ(CompletionXml({{.number = 1, .etag = "\"a\""}, {.number = 2, .etag = "\"b<\""}}),
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag></Part>"
            "<Part><PartNumber>2</PartNumber><ETag>\"b&lt;\"</ETag></Part></CompleteMultipartUpload>");
}

S3Answer Error(long status, const std::string& code, const std::string& message = "") {
  return {.status = status,
          .body = std::string(kHead) + "<Error><Code>" + code + "</Code><Message>" + message +
                  "</Message></Error>"};
}

TEST(S3AnswersTest, AnErrorHasTheCallTheStatusTheCodeAndTheRemedy) {
  EXPECT_THAT(
      StatusOf(Error(404, "NoSuchBucket", "It is not there"), "PUT s3://b/k at http://h"),
      StatusIs(
          absl::StatusCode::kFailedPrecondition,
          "PUT s3://b/k at http://h: HTTP 404 NoSuchBucket (It is not there); make the bucket, or correct "
          "s3.bucket"));
}

TEST(S3AnswersTest, ErrorsAreWhatTheirCallerDoesAboutThem) {
  const auto code = [](const S3Answer& answer) { return StatusOf(answer, "x").code(); };
  EXPECT_EQ(code({.status = 200}), absl::StatusCode::kOk);
  EXPECT_EQ(code(Error(404, "NoSuchKey")), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(Error(404, "NoSuchUpload")), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(Error(403, "SignatureDoesNotMatch")), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code({.status = 403}), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(Error(400, "ExpiredToken")), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(Error(400, "XMinioAdminBucketQuotaExceeded")), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code(Error(416, "InvalidRange")), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(code(Error(503, "SlowDown")), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code({.status = 502, .body = "<html>bad gateway"}), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code(Error(400, "RequestTimeout")), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code(Error(400, "InvalidPart")), absl::StatusCode::kAborted);
  EXPECT_EQ(code(Error(400, "IncompleteBody")), absl::StatusCode::kAborted);
  EXPECT_EQ(code(Error(301, "PermanentRedirect")), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(Error(400, "InvalidArgument")), absl::StatusCode::kInvalidArgument);
  // A server that works long at an answer begins it before it knows how it ends.
  EXPECT_EQ(code(Error(200, "InternalError")), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace inlier
