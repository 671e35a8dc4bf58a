// The key pair that signs calls of the object store: from a file, or from the environment. It is in no
// configuration, no message and no log.
//
// Thread safety: every function on any thread.
#ifndef INLIER_S3_CREDENTIALS_H_
#define INLIER_S3_CREDENTIALS_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/file_stamp.h"

namespace inlier {

struct S3Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // Of temporary credentials; empty for others.
};

class S3CredentialSource {
 public:
  // `file`: empty for AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. InvalidArgument where
  // there is no key pair, or where another user may read the file and not `insecure`.
  static absl::StatusOr<std::unique_ptr<S3CredentialSource>> Open(const std::string& file, bool insecure);

  // The file's are read again when it has changed; one that is no good leaves the last good ones in force.
  S3Credentials Get();

 private:
  S3CredentialSource(std::string file, bool insecure) : file_(std::move(file)), insecure_(insecure) {}
  absl::StatusOr<S3Credentials> Read() const;

  const std::string file_;
  const bool insecure_;
  std::mutex mutex_;
  FileStamp stamp_;
  S3Credentials current_;
};

// Of the profile `default` in a file in the form of ~/.aws/credentials; the error names the line, never its
// content.
absl::StatusOr<S3Credentials> ParseS3Credentials(const std::string& text);

}  // namespace inlier

#endif  // INLIER_S3_CREDENTIALS_H_
