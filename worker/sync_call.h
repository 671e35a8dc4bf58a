// One call to the coordinator that carries syncs: a Session stream, or single Sync calls in a row. Answers
// and the end of the call arrive in an inbox.
//
// Thread safety: Send, Cancel and Finish on one thread; the inbox is filled by gRPC's threads and emptied by
// that one.
#ifndef INLIER_WORKER_SYNC_CALL_H_
#define INLIER_WORKER_SYNC_CALL_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "inlier/v1/worker_service.grpc.pb.h"
#include "inlier/v1/worker_service.pb.h"
#include "worker/sync_schedule.h"

namespace inlier {

// Filled by gRPC's threads; `changed` is notified of each change.
struct SyncInbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<v1::CoordinatorSync> answers;
  bool sendable = false;                         // The call takes another sync.
  bool broken = false;                           // The stream has ended; Finish() it to learn why.
  std::optional<absl::Status> ended;             // The call is over: its object may be destroyed.
  std::optional<SyncSchedule::Urgency> urgency;  // The greatest requested since it was read.
  bool stop = false;
};

class SyncCall {
 public:
  virtual ~SyncCall() = default;
  // REQUIRES: the inbox was `sendable` since the last Send.
  virtual void Send(v1::WorkerSync sync) = 0;
  // Ends the call from this side; `ended` follows.
  virtual void Cancel() = 0;
  // Lets a broken call end: `ended` follows. No Send after it. May be called again.
  virtual void Finish() = 0;
  virtual const char* mode() const = 0;
};

// Both outlive the call. `answer_timeout` bounds a single call; a stream has no deadline of its own.
std::unique_ptr<SyncCall> OpenStreamCall(v1::WorkerService::Stub& stub, SyncInbox& inbox);
std::unique_ptr<SyncCall> OpenUnaryCall(v1::WorkerService::Stub& stub, SyncInbox& inbox,
                                        Duration answer_timeout);

}  // namespace inlier

#endif  // INLIER_WORKER_SYNC_CALL_H_
