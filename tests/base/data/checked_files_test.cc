#include "base/data/checked_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/digest.h"
#include "base/files/file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class CheckedFilesTest : public testing::Test {
 protected:
  void Write(const std::string& content) { std::ofstream(file_, std::ios::binary) << content; }
  absl::Status Check() { return files_.Check(file_, digest_); }

  TemporaryFolder folder_;
  const fs::path file_ = folder_.path() / "model.safetensors";
  const std::string digest_ = Sha256Hex("the weights");
  CheckedFiles files_;
};

TEST_F(CheckedFilesTest, AnythingButTheContentOfTheDigestIsRefused) {
  EXPECT_TRUE(absl::IsNotFound(Check()));
  Write("the weights");
  EXPECT_TRUE(Check().ok()) << Check();
  for (const char* other : {"the weightz", "the weight", "the weights ", ""}) {
    Write(other);
    EXPECT_THAT(Check(),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(file_.string()), HasSubstr(Sha256Hex(other)), HasSubstr(digest_))))
        << other;
  }
  Write("the weights");
  EXPECT_TRUE(Check().ok()) << Check();
  fs::remove(file_);
  EXPECT_TRUE(absl::IsNotFound(Check()));
  fs::create_directory(file_);
  EXPECT_TRUE(absl::IsInvalidArgument(Check())) << Check();
}

TEST_F(CheckedFilesTest, AChangeIsSeenThoughSizeAndTimeOfContentStay) {
  Write("the weights");
  ASSERT_TRUE(Check().ok());
  const auto written = fs::last_write_time(file_);
  Write("the weightz");
  fs::last_write_time(file_, written);
  EXPECT_TRUE(absl::IsDataLoss(Check()));
  // Another file that takes its place.
  Write("the weights");
  ASSERT_TRUE(Check().ok());
  std::ofstream(folder_.path() / "other", std::ios::binary) << "the weightz";
  fs::last_write_time(folder_.path() / "other", fs::last_write_time(file_));
  fs::rename(folder_.path() / "other", file_);
  EXPECT_TRUE(absl::IsDataLoss(Check()));
}

TEST_F(CheckedFilesTest, AVersionIsReadOnceAndMarkingItAsUsedMakesNoNewOne) {
  Write("the weights");
  ASSERT_TRUE(Check().ok());
  const std::uint64_t before = files_.bytes_read();
  EXPECT_EQ(before, 11u);
  const auto old = fs::last_write_time(file_);
  files_.MarkUsed(file_);
  EXPECT_GE(fs::last_write_time(file_), old);
  EXPECT_TRUE(Check().ok());
  EXPECT_EQ(files_.bytes_read(), before);
  Write("the weights");  // The same, in a new version.
  EXPECT_TRUE(Check().ok());
  EXPECT_EQ(files_.bytes_read(), 2 * before);
}

TEST_F(CheckedFilesTest, MarkingWhatHasChangedDoesNotMakeItKnown) {
  Write("the weights");
  ASSERT_TRUE(Check().ok());
  Write("the weightz");
  files_.MarkUsed(file_);
  EXPECT_TRUE(absl::IsDataLoss(Check()));
}

TEST_F(CheckedFilesTest, AFileThatIsNamedByItsDigestHasThatContent) {
  const fs::path named = folder_.path() / (digest_ + ".safetensors");
  std::ofstream(named, std::ios::binary) << "the weights";
  EXPECT_TRUE(CheckNamedContent(named).ok());
  std::ofstream(named, std::ios::binary) << "the weightz";
  EXPECT_TRUE(absl::IsDataLoss(CheckNamedContent(named)));
  Write("anything");
  EXPECT_TRUE(CheckNamedContent(file_).ok());
}

TEST_F(CheckedFilesTest, WhatIsPutAsideHasAnotherName) {
  Write("the weightz");
  EXPECT_THAT(PutAside(file_), HasSubstr("it is now " + file_.string() + ".damaged"));
  EXPECT_FALSE(fs::exists(file_));
  EXPECT_EQ(*ReadFile(file_.string() + kDamagedSuffix), "the weightz");
  EXPECT_THAT(PutAside(file_), HasSubstr("cannot be put aside"));
}

}  // namespace
}  // namespace inlier
