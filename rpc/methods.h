// The RPCs of the coordinator, as the options of their declarations describe them (inlier/v1/rpc_options.proto).
//
// Thread safety: all functions may be called from any thread.
#ifndef INLIER_RPC_METHODS_H_
#define INLIER_RPC_METHODS_H_

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/credentials.h"

namespace inlier {

struct Method {
  std::string name;  // Without its service; no two services have the same.
  Role role;         // A caller needs it.
  bool changes;      // It changes something that outlives the call.
  bool runs_programs;
};

// The methods of one service. InvalidArgument names an rpc without a role.
absl::StatusOr<std::vector<Method>> MethodsOf(const google::protobuf::ServiceDescriptor& service);

// The methods of all services of the coordinator. The process ends where one has no role.
const std::vector<Method>& Methods();

// nullptr where the coordinator has no method of this name.
const Method* FindMethod(std::string_view name);

}  // namespace inlier

#endif  // INLIER_RPC_METHODS_H_
