// Every call enters the coordinator here.
//
// The services' methods are registered here and not with gRPC, which would read and parse a call's message
// before its credentials are checked. A call is admitted on its metadata (Access); then its method's stream
// or handler gets it. gRPC's health check and server reflection are open to any caller: they hold no data.
//
// Thread safety: methods are added before the server starts; calls come on gRPC's threads.
#ifndef INLIER_COORDINATOR_SERVICES_DOOR_H_
#define INLIER_COORDINATOR_SERVICES_DOOR_H_

#include <grpcpp/generic/async_generic_service.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/services/call_stream.h"
#include "coordinator/services/calls.h"

namespace inlier {

class Door final : public grpc::CallbackGenericService {
 public:
  // Makes the object of a call, which deletes itself.
  using Enter = std::function<grpc::ServerGenericBidiReactor*(AdmittedCall)>;

  // `calls` outlives it.
  explicit Door(Calls& calls);

  // `service` is the full name.
  void AddStream(const std::string& service, const std::string& method, Enter enter);

  template <typename Request, typename Response>
  void Add(const std::string& service, const std::string& method,
           std::function<void(UnaryContext*, const Request*, Response*)> handle) {
    AddStream(service, method, [handle = std::move(handle)](AdmittedCall call) {
      return new UnaryCall<Request, Response>(std::move(call), handle);
    });
  }
  // The same by a member of `handler`, which the door keeps.
  template <typename Handler, typename Request, typename Response>
  void Add(const std::string& service, const std::string& method, std::shared_ptr<Handler> handler,
           void (Handler::*call)(UnaryContext*, const Request*, Response*)) {
    Add<Request, Response>(service, method, [=](auto* context, auto* request, auto* response) {
      (handler.get()->*call)(context, request, response);
    });
  }

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override;

 private:
  struct Method {
    std::string name;  // Without the service.
    bool open = false;
    Enter enter;
  };

  Calls& calls_;
  std::map<std::string, Method> methods_;  // By path: /service/method.
  std::vector<std::string> services_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_DOOR_H_
