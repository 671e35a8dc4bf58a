#include "s3/prefix_owner.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "base/uuid.h"

namespace inlier {
namespace {

absl::StatusOr<std::string> OwnId(const std::filesystem::path& state_dir) {
  const std::filesystem::path file = state_dir / "artifacts" / "s3.owner";
  absl::StatusOr<std::string> id = ReadFile(file);
  if (!absl::IsNotFound(id.status())) return id;
  id = RandomUuid();
  RETURN_IF_ERROR(WriteFileAtomically(file, *id));
  return id;
}

}  // namespace

absl::Status ClaimPrefix(S3Client& client, const std::filesystem::path& state_dir) {
  ASSIGN_OR_RETURN(const std::string own, OwnId(state_dir));
  const std::string key = client.location().KeyPrefix() + "owner";
  std::string owner;
  const absl::Status found = client.Get(key, 0, [&owner](const S3Answer&, std::string_view bytes) {
    owner.append(bytes);
    return absl::OkStatus();
  });
  if (absl::IsNotFound(found)) return client.Put(key, own);
  RETURN_IF_ERROR(found);
  if (owner == own) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the objects below ",
                                                    client.location().NameOf(client.location().KeyPrefix()),
                                                    " are another coordinator's; give this one an s3.prefix "
                                                    "of its own. If its state folder was lost and this "
                                                    "one has its database, remove the object ",
                                                    client.location().NameOf(key)));
}

}  // namespace inlier
