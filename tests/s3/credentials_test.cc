#include "s3/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

constexpr char kFile[] =
    "# mine\n[other]\naws_access_key_id = no\naws_secret_access_key = no\n\n[default]\naws_access_key_id = "
    "id\n"
    "aws_secret_access_key=se=cret\nregion = eu\n";

TEST(S3CredentialsTest, TheDefaultProfileIsRead) {
  const auto credentials = ParseS3Credentials(kFile).value();
  EXPECT_EQ(credentials.access_key, "id");
  EXPECT_EQ(credentials.secret_key, "se=cret");
  EXPECT_EQ(credentials.session_token, "");
}

TEST(S3CredentialsTest, AnErrorNamesTheLineAndNotItsContent) {
  const auto credentials = ParseS3Credentials("[default]\naws_secret_access_key hidden\n");
  EXPECT_THAT(std::string(credentials.status().message()),
              testing::AllOf(testing::HasSubstr("line 2"), testing::Not(testing::HasSubstr("hidden"))));
  EXPECT_THAT(std::string(ParseS3Credentials("[default]\naws_access_key_id = id\n").status().message()),
              testing::HasSubstr("lacks aws_access_key_id or aws_secret_access_key"));
}

TEST(S3CredentialsTest, AChangedFileIsReadAgainAndABadOneIsNot) {
  const TemporaryFolder folder;
  const std::string file = folder.Write("credentials", kFile);
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  const auto source = S3CredentialSource::Open(file, /*insecure=*/false).value();
  EXPECT_EQ(source->Get().access_key, "id");
  folder.Write("credentials", "[default]\naws_access_key_id = renewed\naws_secret_access_key = s\n");
  EXPECT_EQ(source->Get().access_key, "renewed");
  folder.Write("credentials", "nothing");
  EXPECT_EQ(source->Get().access_key, "renewed");
}

TEST(S3CredentialsTest, AFileThatOthersMayReadIsRefused) {
  const TemporaryFolder folder;
  const std::string file = folder.Write("credentials", kFile);
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_THAT(std::string(S3CredentialSource::Open(file, false).status().message()),
              testing::AllOf(testing::HasSubstr("s3.credentials_file"), testing::HasSubstr("chmod o-r")));
  EXPECT_TRUE(S3CredentialSource::Open(file, /*insecure=*/true).ok());
}

TEST(S3CredentialsTest, WithoutAFileTheEnvironmentHasThem) {
  ::setenv("AWS_ACCESS_KEY_ID", "from-environment", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  EXPECT_EQ((*S3CredentialSource::Open("", false))->Get().access_key, "from-environment");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  EXPECT_THAT(std::string(S3CredentialSource::Open("", false).status().message()),
              testing::HasSubstr("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"));
  ::unsetenv("AWS_ACCESS_KEY_ID");
}

}  // namespace
}  // namespace inlier
