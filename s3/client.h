// The calls of an object store that artifacts need, one request each (lists: one a page).
//
// Errors are those of S3Exchange::Send and StatusOf, with the call, the object and the endpoint in the message.
//
// Thread safety: every function on any thread; each waits for the network.
#ifndef INLIER_S3_CLIENT_H_
#define INLIER_S3_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "s3/answers.h"
#include "s3/exchange.h"

namespace inlier {

// Both may be empty.
struct S3Watch {
  std::function<bool()> is_cancelled{};
  std::function<void(std::uint64_t)> on_moved{};  // Bytes of this request so far.
};

struct S3Found {
  std::uint64_t bytes = 0;
  std::int64_t age_seconds = 0;  // Since it was written, by the server's clock; 0 where it sent no times.
};

class S3Client {
 public:
  // Checks `config` and the key pair without a call. InvalidArgument with the field and the remedy. `insecure`
  // allows other users of this machine to read the file of the key pair.
  static absl::StatusOr<std::unique_ptr<S3Client>> Make(const v1::S3Config& config, bool insecure);

  const S3Location& location() const { return exchange_.location(); }
  std::uint64_t part_bytes() const { return part_bytes_; }

  // Ends all calls, also those in progress, as Cancelled.
  void Stop() { exchange_.Stop(); }

  // OK if the bucket exists and may be listed.
  absl::Status CheckBucket(const S3Watch& watch = {});

  // nullopt where there is no such object.
  absl::StatusOr<std::optional<S3Found>> Head(const std::string& key);
  // Hands the bytes from `offset` on to `on_body`, with the answer's headers. OutOfRange beyond the object's end.
  absl::Status Get(const std::string& key, std::uint64_t offset,
                   std::function<absl::Status(const S3Answer&, std::string_view)> on_body,
                   const S3Watch& watch = {});
  absl::Status Put(const std::string& key, std::string_view body, const S3Watch& watch = {});
  // Copies on the server, up to 5 GiB.
  absl::Status Copy(const std::string& from, const std::string& to);
  // OK also when there is none.
  absl::Status Delete(const std::string& key);
  // Every object whose key begins with `prefix`; `now_seconds`, when given, gets the server's clock.
  absl::StatusOr<std::vector<S3Object>> List(const std::string& prefix, std::int64_t* now_seconds = nullptr);

  // Multipart uploads. NotFound where `id` was completed or aborted.
  absl::StatusOr<std::string> BeginUpload(const std::string& key);
  absl::StatusOr<S3Part> PutPart(const std::string& key, const std::string& id, int number,
                                 std::string_view body, const S3Watch& watch = {});
  absl::StatusOr<std::vector<S3Part>> ListParts(const std::string& key, const std::string& id);
  absl::Status CompleteUpload(const std::string& key, const std::string& id,
                              const std::vector<S3Part>& parts);
  absl::Status AbortUpload(const std::string& key, const std::string& id);
  // The incomplete ones of keys that begin with `prefix`.
  absl::StatusOr<std::vector<S3MultipartUpload>> ListUploads(const std::string& prefix,
                                                             std::int64_t* now_seconds = nullptr);

 private:
  S3Client(S3Location location, std::unique_ptr<S3CredentialSource> credentials, const v1::S3Config& config);
  // An answer whose status is a success.
  absl::StatusOr<S3Answer> Call(const S3Request& request);
  std::string What(const S3Request& request) const;
  template <typename Item>
  absl::StatusOr<std::vector<Item>> ListAll(S3Request request,
                                            absl::StatusOr<S3Page<Item>> (*parse)(const std::string&),
                                            std::int64_t* now_seconds);

  S3Exchange exchange_;
  const std::uint64_t part_bytes_;
};

}  // namespace inlier

#endif  // INLIER_S3_CLIENT_H_
