// Requests by request_id, and their answers: a call that is repeated because its answer was lost gets the
// same answer and changes nothing.
//
// Remembers the latest kRequestsKept; the store keeps the same ones. A request that was refused has changed
// nothing and is not remembered.
#ifndef INLIER_COORDINATOR_STATE_REQUEST_LOG_H_
#define INLIER_COORDINATOR_STATE_REQUEST_LOG_H_

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "absl/status/status.h"
#include "base/time.h"
#include "coordinator/store/changes.h"
#include "google/protobuf/message.h"

namespace inlier {

// InvalidArgument: it is longer than 256 bytes.
absl::Status CheckRequestId(const std::string& id);

// SHA-256 of the content; maps inside are taken in the order of their keys.
std::string ContentDigest(const google::protobuf::Message& content);

class RequestLog {
 public:
  // REQUIRES: its number is above all others.
  void Remember(RequestRow row);

  // nullptr when the id is not remembered. Valid until the next Add.
  const RequestRow* Find(const std::string& id) const;

  // Remembers a request that has been answered and forgets the oldest; the row is to be committed with what
  // the request changed. REQUIRES: the id is not remembered.
  RequestRow Add(const std::string& id, const std::string& method, const std::string& digest,
                 std::string answer, WallTime at);

  std::size_t size() const { return rows_.size(); }
  // Number of the latest; 0: there was none.
  std::uint64_t last() const { return last_; }

 private:
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, RequestRow> rows_;
  std::unordered_map<std::string, std::uint64_t> number_of_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_REQUEST_LOG_H_
