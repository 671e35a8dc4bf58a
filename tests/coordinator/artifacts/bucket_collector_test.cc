// Objects that are removed and objects that are kept, with a real database and a real object store.
#include <gmock/gmock.h>

#include <map>
#include <memory>

#include "base/digest.h"
#include "coordinator/artifacts/artifact_collector.h"
#include "tests/coordinator/store/store_fixture.h"
#include "tests/s3/server_fixture.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

class BucketCollectorTest : public StoreTest {
 protected:
  static void SetUpTestSuite() { server_ = std::make_unique<S3ServerProcess>(); }
  static void TearDownTestSuite() { server_.reset(); }
  void SetUp() override {
    ASSERT_NE(server_->endpoint(), "") << "the S3 server did not start";
    bucket_ = *S3Client::Make(server_->Config(), /*insecure=*/false);
    artifacts_ = *ArtifactStore::Open(folder_.path());
  }

  // An object of the artifact `name`; how a collection shows it.
  std::string Put(const std::string& name) {
    const std::string key = bucket_->location().KeyOf(Sha256Hex(name));
    EXPECT_TRUE(bucket_->Put(key, "0123456789").ok());
    return bucket_->location().NameOf(key);
  }
  bool Exists(const std::string& name) {
    return bucket_->Head(bucket_->location().KeyOf(Sha256Hex(name)))->has_value();
  }
  static CheckpointRow Saved(Token token, std::uint64_t step, bool final, const std::string& name) {
    CheckpointRow row = Checkpoint(token, step, final);
    if (!final) row.path = "attempts/st-1/1/" + name;
    row.sha256 = Sha256Hex(name);
    return row;
  }

  // Object -> reason of each removal, done or planned, of a collection `later`.
  std::map<std::string, std::string> Collect(Duration later, bool dry_run = false) {
    v1::CollectRequest request;
    request.set_dry_run(dry_run);
    const WallTime now{WallNow().unix_ms +
                       std::chrono::duration_cast<std::chrono::milliseconds>(later).count()};
    const auto response =
        CollectArtifacts(folder_.path(), *artifacts_, bucket_.get(), *reader_, request, {}, now).value();
    std::map<std::string, std::string> found;
    for (const v1::CollectedFile& file : response.files()) found[file.path()] = file.reason();
    return found;
  }

  inline static std::unique_ptr<S3ServerProcess> server_;
  std::unique_ptr<S3Client> bucket_;
  std::unique_ptr<ArtifactStore> artifacts_;
};

TEST_F(BucketCollectorTest, ModelsStayAndSupersededCheckpointsGoAfterAnHour) {
  MustApply(Sweep(1), Train(1), Evaluate(2, 1), Trial(1, 1, 0, 1, 2), Start(1, 1),
            Saved(1, 10, false, "early"), Saved(1, 200, true, "model"), End(1, v1::SUCCEEDED));
  Put("model");
  const std::string early = Put("early");
  EXPECT_TRUE(Collect(minutes(50)).empty());
  const std::map<std::string, std::string> expected = {{early, "its training has its result"}};
  EXPECT_EQ(Collect(minutes(61), /*dry_run=*/true), expected);
  EXPECT_TRUE(Exists("early"));
  EXPECT_EQ(Collect(minutes(61)), expected);
  EXPECT_FALSE(Exists("early"));
  EXPECT_TRUE(Collect(hours(24 * 365)).empty());
  EXPECT_TRUE(Exists("model"));
}

TEST_F(BucketCollectorTest, WhatNoAttemptReportsAndWhatIsDamagedGoesAfterItsDays) {
  const std::string stray = Put("stray");
  const std::string damaged = bucket_->location().DamagedKeyOf(Sha256Hex("damaged"));
  ASSERT_TRUE(bucket_->Put(damaged, "x").ok());
  ASSERT_TRUE(bucket_->Put(bucket_->location().KeyPrefix() + "notes.txt", "x").ok());
  EXPECT_TRUE(Collect(hours(24 * 6)).empty());
  EXPECT_EQ(Collect(hours(24 * 8)), (std::map<std::string, std::string>{
                                        {stray, "no attempt has reported it"},
                                        {bucket_->location().NameOf(damaged),
                                         "its content did not have its digest, and it was moved away"}}));
  EXPECT_TRUE(bucket_->Head(bucket_->location().KeyPrefix() + "notes.txt")->has_value());
}

TEST_F(BucketCollectorTest, AnUploadThatWasNotContinuedForADayIsAborted) {
  const std::string key = bucket_->location().KeyOf(Sha256Hex("half"));
  const std::string id = *bucket_->BeginUpload(key);
  ASSERT_TRUE(bucket_->PutPart(key, id, 1, "0123456789").ok());
  EXPECT_TRUE(Collect(hours(23)).empty());
  EXPECT_EQ(Collect(hours(25)),
            (std::map<std::string, std::string>{
                {bucket_->location().NameOf(key), "an upload that was not continued for a day"}}));
  EXPECT_TRUE(bucket_->ListUploads(key)->empty());
}

TEST_F(BucketCollectorTest, AnotherCoordinatorCollectsNothingBelowTheSamePrefix) {
  Put("model");
  EXPECT_TRUE(Collect(hours(1)).empty());
  const TemporaryFolder another;
  const auto store = *ArtifactStore::Open(another.path());
  EXPECT_THAT(CollectArtifacts(another.path(), *store, bucket_.get(), *reader_, {}, {},
                               WallTime{WallNow().unix_ms + 365 * 24 * 3'600'000LL}),
              StatusIs(absl::StatusCode::kFailedPrecondition, testing::HasSubstr("s3.prefix of its own")));
  EXPECT_TRUE(Exists("model"));
}

TEST_F(BucketCollectorTest, WithoutItsBucketTheFolderIsCollectedAndTheErrorIsReported) {
  v1::S3Config config = server_->Config();
  config.set_endpoint("http://127.0.0.1:1");
  bucket_ = *S3Client::Make(config, false);
  EXPECT_THAT(CollectArtifacts(folder_.path(), *artifacts_, bucket_.get(), *reader_, {}, {}, WallNow()),
              StatusIs(absl::StatusCode::kUnavailable,
                       testing::AllOf(testing::HasSubstr("127.0.0.1:1"),
                                      testing::HasSubstr("collecting in the bucket"))));
}

}  // namespace
}  // namespace inlier
