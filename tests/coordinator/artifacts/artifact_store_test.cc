// The artifacts folder on a real disk: a received artifact stays, no partial one is ever seen, and names are
// digests.
#include "coordinator/artifacts/artifact_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <set>

#include "base/digest.h"
#include "base/files/file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Code = absl::StatusCode;

class ArtifactStoreTest : public testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open(ArtifactStoreLimits limits = {}) {
    store_.reset();
    store_ = ArtifactStore::Open(folder_.path(), limits).value();
  }
  // Names of the files in artifacts/ but for store.id.
  std::set<std::string> Files() {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(store_->folder())) {
      if (entry.path().filename() != "store.id") names.insert(entry.path().filename().string());
    }
    return names;
  }
  void Send(const std::string& content) {
    auto upload = store_->BeginUpload(Sha256Hex(content), content.size(), 0).value();
    ASSERT_TRUE(upload->Write(0, content).ok());
    ASSERT_EQ(upload->Complete(), absl::OkStatus());
  }

  TemporaryFolder folder_;
  std::unique_ptr<ArtifactStore> store_;
  const std::string content_ = std::string(300000, 'a') + std::string(300000, 'b');
  const std::string sha_ = Sha256Hex(content_);
};

TEST_F(ArtifactStoreTest, NothingIsSeenUnderTheDigestBeforeAllOfItIsThereAndChecked) {
  EXPECT_FALSE(store_->Stat(sha_)->complete);
  auto upload = store_->BeginUpload(sha_, content_.size(), 0).value();
  ASSERT_TRUE(upload->Write(0, content_.substr(0, 500000)).ok());
  EXPECT_EQ(Files(), std::set<std::string>{sha_ + ".safetensors.part"});
  EXPECT_FALSE(store_->Stat(sha_)->complete);
  EXPECT_EQ(store_->Stat(sha_)->received, 500000u);
  EXPECT_EQ(store_->BeginDownload(sha_, 0).status().code(), Code::kNotFound);
  ASSERT_TRUE(upload->Write(500000, content_.substr(500000)).ok());
  EXPECT_EQ(Files(), std::set<std::string>{sha_ + ".safetensors.part"});
  ASSERT_EQ(upload->Complete(), absl::OkStatus());
  EXPECT_EQ(Files(), std::set<std::string>{sha_ + ".safetensors"});
  EXPECT_EQ(*ReadFile(store_->PathOf(sha_)), content_);
  EXPECT_EQ(store_->Stat(sha_)->bytes, content_.size());
}

TEST_F(ArtifactStoreTest, ABrokenUploadContinuesAlsoInAnotherProcess) {
  {
    auto upload = store_->BeginUpload(sha_, content_.size(), 0);
    ASSERT_TRUE((*upload)->Write(0, content_.substr(0, 400000)).ok());
    EXPECT_EQ((*upload)->Complete().code(), Code::kAborted);
  }
  const std::string first = store_->id();
  Open();
  EXPECT_NE(store_->id(), first);
  EXPECT_EQ(*ReadFile(store_->folder() / "store.id"), store_->id());
  EXPECT_THAT(store_->BeginUpload(sha_, content_.size(), 400001),
              StatusIs(Code::kOutOfRange, HasSubstr("only 400000 bytes are here")));
  auto upload = store_->BeginUpload(sha_, content_.size(), store_->Stat(sha_)->received).value();
  ASSERT_TRUE(upload->Write(400000, content_.substr(400000)).ok());
  ASSERT_EQ(upload->Complete(), absl::OkStatus());
  EXPECT_EQ(*ReadFile(store_->PathOf(sha_)), content_);
}

TEST_F(ArtifactStoreTest, AProcessKilledWhileItReceivesLeavesAPartThatTheNextContinues) {
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto upload = store_->BeginUpload(sha_, content_.size(), 0);
    if (!upload.ok() || !(*upload)->Write(0, content_.substr(0, 123456)).ok()) ::_exit(1);
    [[maybe_unused]] const ssize_t written = ::write(pipe_fds[1], "x", 1);
    for (;;) ::pause();
  }
  char ready = 0;
  ASSERT_EQ(::read(pipe_fds[0], &ready, 1), 1);
  ASSERT_EQ(store_->BeginUpload(sha_, content_.size(), 123456).status().code(), Code::kUnavailable);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(pipe_fds[0]);
  ::close(pipe_fds[1]);
  EXPECT_EQ(store_->Stat(sha_)->received, 123456u);
  auto upload = store_->BeginUpload(sha_, content_.size(), 123456).value();
  ASSERT_TRUE(upload->Write(123456, content_.substr(123456)).ok());
  EXPECT_EQ(upload->Complete(), absl::OkStatus());
  EXPECT_EQ(*ReadFile(store_->PathOf(sha_)), content_);
}

TEST_F(ArtifactStoreTest, ContentThatDoesNotMatchItsDigestIsDiscarded) {
  auto upload = store_->BeginUpload(sha_, 5, 0);
  ASSERT_TRUE((*upload)->Write(0, "wrong").ok());
  EXPECT_EQ((*upload)->Complete().code(), Code::kDataLoss);
  EXPECT_TRUE(Files().empty());
  upload->reset();
  Send(content_);
  EXPECT_EQ(Files(), std::set<std::string>{sha_ + ".safetensors"});
}

TEST_F(ArtifactStoreTest, NothingButADigestBecomesAPath) {
  const std::string upper = "ABCDEF" + std::string(58, '0');
  for (const std::string& name :
       {std::string(), std::string("../../etc/passwd"), std::string(63, 'a'), std::string(65, 'a'), upper,
        std::string(61, 'a') + "/..", std::string("\0", 1) + std::string(63, 'a')}) {
    EXPECT_EQ(store_->Stat(name).status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(store_->BeginUpload(name, 1, 0).status().code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(store_->BeginDownload(name, 0).status().code(), Code::kInvalidArgument) << name;
  }
  EXPECT_TRUE(Files().empty());
}

TEST_F(ArtifactStoreTest, ALinkInThePlaceOfAnArtifactIsNeverFollowed) {
  std::ofstream(folder_ / "secret") << "secret";
  fs::create_symlink(folder_ / "secret", store_->PathOf(sha_));
  fs::create_symlink(folder_ / "secret", PartFile::NameOf(store_->PathOf(sha_)));
  EXPECT_FALSE(store_->Stat(sha_)->complete);
  EXPECT_FALSE(store_->BeginDownload(sha_, 0).ok());
  EXPECT_FALSE(store_->BeginUpload(sha_, 6, 0).ok());
  EXPECT_FALSE(*store_->RemoveIfOlder(store_->PathOf(sha_), Duration(0), WallNow(), false));
  EXPECT_EQ(*ReadFile(folder_ / "secret"), "secret");
}

TEST_F(ArtifactStoreTest, ASecondUploadOfOneArtifactWaitsAndTakesOverFromASilentOne) {
  auto first = store_->BeginUpload(sha_, content_.size(), 0);
  ASSERT_TRUE((*first)->Write(0, content_.substr(0, 1000)).ok());
  EXPECT_EQ(store_->BeginUpload(sha_, content_.size(), 0).status().code(), Code::kUnavailable);
  first->reset();
  Open({.silence = Duration(0)});  // Everyone counts as silent at once.
  first = store_->BeginUpload(sha_, content_.size(), 1000).value();
  auto second = store_->BeginUpload(sha_, content_.size(), 1000).value();
  EXPECT_EQ((*first)->Write(1000, content_.substr(1000)).code(), Code::kAborted);
  EXPECT_EQ((*first)->Complete().code(), Code::kAborted);
  first->reset();
  ASSERT_TRUE(second->Write(1000, content_.substr(1000)).ok());
  EXPECT_EQ(second->Complete(), absl::OkStatus());
  EXPECT_EQ(*ReadFile(store_->PathOf(sha_)), content_);
}

TEST_F(ArtifactStoreTest, AStoredArtifactIsNotTakenAgain) {
  Send(content_);
  auto again = store_->BeginUpload(sha_, content_.size(), 0).value();
  EXPECT_TRUE(again->already_complete());
  EXPECT_TRUE(again->Write(0, "anything").ok());
  EXPECT_TRUE(again->Complete().ok());
  EXPECT_EQ(*ReadFile(store_->PathOf(sha_)), content_);
}

TEST_F(ArtifactStoreTest, ChunksOutOfPlaceAndBytesTooManyAreRefused) {
  auto upload = store_->BeginUpload(sha_, content_.size(), 0);
  EXPECT_EQ((*upload)->Write(1, "x").code(), Code::kInvalidArgument);
  EXPECT_EQ((*upload)->Write(0, content_ + "x").code(), Code::kInvalidArgument);
  EXPECT_EQ(store_->Stat(sha_)->received, 0u);
  EXPECT_EQ(store_->BeginUpload(sha_, 0, 0).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(store_->BeginUpload(sha_, 5, 6).status().code(), Code::kInvalidArgument);
}

TEST_F(ArtifactStoreTest, TheNumberOfUploadsAndTheFreeDiskSpaceAreLimits) {
  Open({.uploads_max = 1});
  auto first = store_->BeginUpload(sha_, content_.size(), 0).value();
  EXPECT_THAT(store_->BeginUpload(Sha256Hex("another"), 7, 0),
              StatusIs(Code::kResourceExhausted, HasSubstr("1 uploads already")));
  first.reset();
  EXPECT_THAT(store_->BeginUpload(sha_, std::uint64_t{1} << 60, 0),
              StatusIs(Code::kResourceExhausted, HasSubstr("inlier gc")));
  // Room that is promised to one upload is not given to another.
  struct statvfs disk {};
  ASSERT_EQ(::statvfs(folder_.path().c_str(), &disk), 0);
  const std::uint64_t most = static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize / 4 * 3;
  Open();
  auto large = store_->BeginUpload(sha_, most, 0).value();
  EXPECT_EQ(store_->BeginUpload(Sha256Hex("another"), most, 0).status().code(), Code::kResourceExhausted);
}

TEST_F(ArtifactStoreTest, ADownloadBeginsAnywhereAndSurvivesTheRemovalOfItsFile) {
  Send(content_);
  auto download = store_->BeginDownload(sha_, 299999).value();
  EXPECT_EQ(download->bytes(), content_.size());
  EXPECT_EQ(*download->Read(3), "abb");
  fs::remove(store_->PathOf(sha_));
  EXPECT_EQ(*download->Read(1 << 20), content_.substr(300002));
  EXPECT_EQ(*download->Read(1 << 20), "");
  Send(content_);
  EXPECT_EQ((*store_->BeginDownload(sha_, content_.size()))->offset(), content_.size());
  EXPECT_EQ(store_->BeginDownload(sha_, content_.size() + 1).status().code(), Code::kOutOfRange);
}

TEST_F(ArtifactStoreTest, OnlyFilesUntouchedForTheAgeAreRemovedAndBeingAskedForIsATouch) {
  Send(content_);
  const fs::path path = store_->PathOf(sha_);
  const WallTime later{WallNow().unix_ms + 7200 * 1000};
  EXPECT_FALSE(*store_->RemoveIfOlder(path, std::chrono::hours(3), later, false));
  EXPECT_TRUE(*store_->RemoveIfOlder(path, std::chrono::hours(1), later, /*dry_run=*/true));
  EXPECT_TRUE(fs::exists(path));
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(5));
  ASSERT_TRUE(store_->Stat(sha_)->complete);
  EXPECT_FALSE(*store_->RemoveIfOlder(path, std::chrono::hours(1), WallNow(), false));
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(5));
  EXPECT_TRUE(*store_->RemoveIfOlder(path, std::chrono::hours(1), WallNow(), false));
  EXPECT_FALSE(fs::exists(path));
  EXPECT_FALSE(*store_->RemoveIfOlder(path, std::chrono::hours(1), WallNow(), false));
  auto upload = store_->BeginUpload(sha_, content_.size(), 0);
  EXPECT_FALSE(*store_->RemoveIfOlder(PartFile::NameOf(path), Duration(0), later, false));
}

}  // namespace
}  // namespace inlier
