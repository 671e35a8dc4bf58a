// The services as JSON over HTTP: POST /api/inlier.v1.SweepService/<Method> with the request as proto JSON.
//
// Each call goes through the coordinator's own gRPC server, with the caller's Authorization header, so admission,
// roles, rates, bounds and the audit are those of gRPC. WatchSweep answers with server-sent events: "update" with a
// SweepUpdate, and "end" with the status. An update is read when the client has taken the one before.
//
// A request's credentials and role are checked on its head, before its body is read. JSON is read and made on
// threads of its own, where addresses take turns. Answers that wait for their clients have a limit of bytes,
// and a call whose client has gone is cancelled.
//
// Thread safety: Handle from any thread.
#ifndef INLIER_COORDINATOR_WEB_API_H_
#define INLIER_COORDINATOR_WEB_API_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "coordinator/services/access.h"
#include "coordinator/services/blocking_pool.h"
#include "coordinator/services/byte_shares.h"
#include "inlier/v1/config.pb.h"
#include "rpc/http/http_server.h"

namespace inlier {

class Api {
 public:
  static constexpr char kPrefix[] = "/api/inlier.v1.SweepService/";
  static constexpr std::size_t kBodyBytesMax = 64 << 10;
  static constexpr int kDepthMax = 50;    // Of the JSON in it.
  static constexpr int kStreamsMax = 64;  // Open at once.

  // `config` and `access` outlive it. Unread answers count among `bytes`.
  Api(const v1::CoordinatorConfig& config, Access& access, ByteShares bytes)
      : config_(config), access_(access), bytes_(std::move(bytes)) {}
  ~Api() { Join(); }

  // To be called before the first call. `server` outlives the calls.
  void UseServer(grpc::Server& server);

  // Checks the head of a request; absent: the request may be handled.
  std::optional<HttpResponse> Refusal(const HttpRequest& head);
  void Handle(const std::shared_ptr<HttpCall>& call);

  // Waits for open calls. REQUIRES: the server was shut down.
  void Join();

 private:
  friend class ApiUnaryCall;
  friend class ApiStreamCall;

  absl::Status Check(const HttpRequest& head);
  absl::Status Start(const std::shared_ptr<HttpCall>& call);
  // Runs `work` on a thread for JSON, in the turn of the call's address; or refuses the call.
  void Run(const std::shared_ptr<HttpCall>& call, std::function<void()> work);
  void Began();
  void Ended();

  const v1::CoordinatorConfig& config_;
  Access& access_;
  ByteShares bytes_;
  std::shared_ptr<grpc::Channel> channel_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::atomic<bool> stopping_{false};
  int open_ = 0;
  int streams_ = 0;
  BlockingPool pool_{{.threads = 2}, "requests of the page"};  // The last one: its work uses the others.
};

// An error as JSON: {"code": "NOT_FOUND", "message": "…"}.
HttpResponse ErrorResponse(const absl::Status& status);

// Compresses the body by gzip when it is large and the client takes it.
void Compress(const HttpRequest& request, HttpResponse& response);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_WEB_API_H_
