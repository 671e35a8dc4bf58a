#include "s3/credentials.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/environment.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/status.h"
#include "rpc/private_file.h"

namespace inlier {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 16;
constexpr char kField[] = "s3.credentials_file";

}  // namespace

absl::StatusOr<S3Credentials> ParseS3Credentials(const std::string& text) {
  S3Credentials credentials;
  bool of_default = true;  // Lines before the first profile, too.
  int number = 0;
  for (const auto& line_view : absl::StrSplit(text, '\n')) {
    ++number;
    const std::string line(absl::StripAsciiWhitespace(line_view));
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '[') {
      of_default = line == "[default]";
      continue;
    }
    const std::size_t at = line.find('=');
    if (at == std::string::npos)
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " is neither [PROFILE] nor NAME = VALUE"));
    if (!of_default) continue;
    const std::string name(absl::StripAsciiWhitespace(line.substr(0, at)));
    const std::string value(absl::StripAsciiWhitespace(line.substr(at + 1)));
    if (name == "aws_access_key_id") credentials.access_key = value;
    if (name == "aws_secret_access_key") credentials.secret_key = value;
    if (name == "aws_session_token") credentials.session_token = value;
  }
  if (credentials.access_key.empty() || credentials.secret_key.empty())
    return absl::InvalidArgumentError("its profile default lacks aws_access_key_id or aws_secret_access_key");
  return credentials;
}

absl::StatusOr<S3Credentials> S3CredentialSource::Read() const {
  if (file_.empty()) {
    S3Credentials credentials{.access_key = EnvironmentVariableOr("AWS_ACCESS_KEY_ID", ""),
                              .secret_key = EnvironmentVariableOr("AWS_SECRET_ACCESS_KEY", ""),
                              .session_token = EnvironmentVariableOr("AWS_SESSION_TOKEN", "")};
    if (!credentials.access_key.empty() && !credentials.secret_key.empty()) return credentials;
    return absl::InvalidArgumentError(
        "s3: there is no key pair; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in this program's "
        "environment, or name a file with s3.credentials_file");
  }
  RETURN_IF_ERROR(CheckRenewable(kField, file_));
  if (!insecure_) RETURN_IF_ERROR(CheckPrivate(kField, file_));
  const absl::StatusOr<std::string> text = ReadSmallFile(file_, kFileBytesMax);
  if (!text.ok())
    return absl::InvalidArgumentError(absl::StrCat(kField, ": ", std::string(text.status().message())));
  absl::StatusOr<S3Credentials> credentials = ParseS3Credentials(*text);
  if (!credentials.ok())
    return absl::InvalidArgumentError(
        absl::StrCat(kField, ": ", file_, ": ", std::string(credentials.status().message())));
  return credentials;
}

absl::StatusOr<std::unique_ptr<S3CredentialSource>> S3CredentialSource::Open(const std::string& file,
                                                                             bool insecure) {
  std::unique_ptr<S3CredentialSource> source(new S3CredentialSource(file, insecure));
  source->stamp_ = FileStamp({file});
  ASSIGN_OR_RETURN(source->current_, source->Read());
  return source;
}

S3Credentials S3CredentialSource::Get() {
  const std::lock_guard lock(mutex_);
  const FileStamp now({file_});
  if (!file_.empty() && !(now == stamp_)) {
    stamp_ = now;
    absl::StatusOr<S3Credentials> read = Read();
    if (read.ok()) {
      current_ = *std::move(read);
    } else {
      spdlog::warn("s3_credentials_kept reason={}", LogText(read.status().message()));
    }
  }
  return current_;
}

}  // namespace inlier
