// Server reflection: a client asks for the services and the files that define them, and needs no generated code.
//
// gRPC's own plugin keeps a thread for each open stream and reads messages of any shape; here a question is a
// message like any other. Thread safety: any thread.
#ifndef INLIER_RPC_REFLECTION_H_
#define INLIER_RPC_REFLECTION_H_

#include <string>
#include <vector>

#include "grpc/reflection/v1alpha/reflection.pb.h"

namespace inlier {

// The answer to one question, an error_response for what is absent. `services` are full names.
grpc::reflection::v1alpha::ServerReflectionResponse Reflect(
    const grpc::reflection::v1alpha::ServerReflectionRequest& request,
    const std::vector<std::string>& services);

}  // namespace inlier

#endif  // INLIER_RPC_REFLECTION_H_
