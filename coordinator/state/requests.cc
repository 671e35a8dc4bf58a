#include "coordinator/state/requests.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace inlier {

absl::Status CheckRequest(const State& state, const char* method, const std::string& id,
                          const google::protobuf::Message& request, std::string& digest) {
  if (id.size() > kRequestIdBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("request_id may have ", kRequestIdBytesMax, " bytes; a uuid has 36"));
  }
  digest = ContentDigest(request);
  std::string used;
  if (const std::optional<SweepId> sweep = state.sweeps.FindRequest(id)) {
    used = absl::StrCat("the submission of sweep ", sweep->ToString());
  } else if (const RequestRow* earlier = state.requests.Find(id)) {
    if (earlier->method != method) {
      used = absl::StrCat("another call (", earlier->method, ")");
    } else if (earlier->digest != digest) {
      used = absl::StrCat("a ", method, " with other content");
    }
  }
  if (used.empty()) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("request_id ", id, " was used for ", used, "; use a new request_id"));
}

}  // namespace inlier
