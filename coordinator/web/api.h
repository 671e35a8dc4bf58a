// The services as JSON over HTTP: POST /api/inlier.v1.SweepService/<Method> with the request as proto JSON.
//
// Each call goes through the coordinator's own gRPC server, with the caller's Authorization header, so admission,
// roles, rates, bounds and the audit are those of gRPC. WatchSweep answers with server-sent events: "update" with a
// SweepUpdate, and "end" with the status. An update is read when the client has taken the one before.
//
// JSON is made on a thread of its own: no call waits for another one's answer on the threads of gRPC or HTTP.
//
// Thread safety: Handle from any thread.
#ifndef INLIER_COORDINATOR_WEB_API_H_
#define INLIER_COORDINATOR_WEB_API_H_

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <memory>
#include <mutex>

#include "coordinator/services/blocking_pool.h"
#include "inlier/v1/config.pb.h"
#include "rpc/http_server.h"

namespace inlier {

class Api {
 public:
  static constexpr char kPrefix[] = "/api/inlier.v1.SweepService/";
  static constexpr std::size_t kBodyBytesMax = 64 << 10;
  static constexpr int kStreamsMax = 64;  // Open at once.

  // `config` outlives it.
  explicit Api(const v1::CoordinatorConfig& config) : config_(config) {}
  ~Api() { Join(); }

  // REQUIRES: before the first call. `server` outlives the calls.
  void UseServer(grpc::Server& server);

  void Handle(const std::shared_ptr<HttpCall>& call);

  // Waits for the calls that are under way; the server is to be shut down before.
  void Join();

 private:
  class UnaryCall;
  class StreamCall;

  absl::Status Start(const std::shared_ptr<HttpCall>& call);
  void Began();
  void Ended();

  const v1::CoordinatorConfig& config_;
  std::shared_ptr<grpc::Channel> channel_;
  std::mutex mutex_;
  std::condition_variable ended_;
  int open_ = 0;
  int streams_ = 0;
  BlockingPool pool_{{}, "answers of the page"};  // The last one: its work uses the others.
};

// An error as JSON: {"code": "NOT_FOUND", "message": "…"}.
HttpResponse ErrorResponse(const absl::Status& status);

// Compresses the body by gzip when it is large and the client takes it.
void Compress(const HttpRequest& request, HttpResponse& response);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_WEB_API_H_
