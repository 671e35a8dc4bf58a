// The audit: who made which call that changes something, or tried to.
//
// The row of a call is committed with what the call changed, before its reply leaves. Rows of refused calls
// must not fill the disk: a caller (all unauthenticated ones are one) has kRefusalsAtOnce of them, and one
// more each kRefusalPeriod. Further ones are only counted, in the next row; so are all while the store is
// full. Admitted calls of workers are not in the audit: attempts are in the database anyway.
//
// Thread safety: all functions may be called from any thread.
#ifndef INLIER_COORDINATOR_SERVICES_AUDIT_H_
#define INLIER_COORDINATOR_SERVICES_AUDIT_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "base/time.h"
#include "coordinator/state/caller.h"
#include "coordinator/state/context.h"
#include "google/protobuf/message.h"

namespace inlier {

class Audit {
 public:
  static constexpr int kRefusalsAtOnce = 100;
  static constexpr Duration kRefusalPeriod = std::chrono::minutes(10);

  // Makes a row without subject and outcome. `request`: nullptr where the call was refused before it was
  // read.
  static AuditRow RowOf(const Caller& caller, const char* method, const google::protobuf::Message* request);

  // Writes the sweep, trial and worker that the fields of the message name into the row, as far as the state
  // knows them. On the coordinator's thread.
  static void NameSubject(const State& state, const google::protobuf::Message& message, AuditRow& row);

  // Adds the row of a call with this outcome to `effects`, unless it was refused and is only counted.
  // `has_space`: the store can take it now.
  void Add(AuditRow row, const absl::Status& outcome, Moment now, bool has_space, Effects& effects);

 private:
  struct Refusals {
    double rows_left = kRefusalsAtOnce;
    Timestamp filled;
    std::uint64_t counted = 0;  // Refused calls without a row.
  };

  // True if a refused call gets its row, which then counts the earlier refused calls.
  bool Takes(AuditRow& row, Timestamp now, bool has_space);

  std::mutex mutex_;
  std::map<std::string, Refusals> refusals_;  // By caller.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_AUDIT_H_
