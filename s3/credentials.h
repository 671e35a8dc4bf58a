// The key pair that signs calls of the object store, from a file or the environment. No message or log has it.
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
  // An empty `file` stands for AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. InvalidArgument
  // without a key pair, or where another user may read the file, unless `insecure`.
  static absl::StatusOr<std::unique_ptr<S3CredentialSource>> Open(const std::string& file, bool insecure);

  // Reads a changed file again; an invalid one leaves the last valid credentials in force.
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

// The profile `default` of a file in the form of ~/.aws/credentials. Errors name the line, never its content.
absl::StatusOr<S3Credentials> ParseS3Credentials(const std::string& text);

}  // namespace inlier

#endif  // INLIER_S3_CREDENTIALS_H_
