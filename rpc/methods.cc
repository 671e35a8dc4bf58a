#include "rpc/methods.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "inlier/v1/artifact_service.pb.h"
#include "inlier/v1/rpc_options.pb.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/worker_service.pb.h"

namespace inlier {

absl::StatusOr<std::vector<Method>> MethodsOf(const google::protobuf::ServiceDescriptor& service) {
  std::vector<Method> methods;
  for (int i = 0; i < service.method_count(); ++i) {
    const google::protobuf::MethodDescriptor& method = *service.method(i);
    const v1::RpcOptions& options = method.options().GetExtension(v1::call);
    if (!options.has_role()) {
      return absl::InvalidArgumentError(
          absl::StrCat(method.full_name(),
                       " has no role; add `option (call).role = READ` (or SUBMIT, WORK, ADMIN) to it in ",
                       method.file()->name()));
    }
    ASSIGN_OR_RETURN(const Role role,
                     RoleFromName(absl::AsciiStrToLower(v1::RpcOptions::Role_Name(options.role()))));
    methods.push_back({method.name(), role, options.changes(), options.runs_programs()});
  }
  return methods;
}

const std::vector<Method>& Methods() {
  static const std::vector<Method> all = [] {
    std::vector<Method> methods;
    for (const auto* file :
         {v1::SubmitSweepRequest::descriptor()->file(), v1::WorkerSync::descriptor()->file(),
          v1::DescribeStoreRequest::descriptor()->file()}) {
      const std::vector<Method> more = MethodsOf(*file->service(0)).value();
      methods.insert(methods.end(), more.begin(), more.end());
    }
    return methods;
  }();
  return all;
}

const Method* FindMethod(std::string_view name) {
  const auto at = std::ranges::find_if(Methods(), [&](const Method& m) { return m.name == name; });
  return at == Methods().end() ? nullptr : &*at;
}

}  // namespace inlier
