// The state in a folder where no coordinator runs, served to this process alone: a child process of
// inlier-coordinator on a copy of the database (coordinator/process/show_stored.h). The folder stays as it is.
//
// Thread safety: none.
#ifndef INLIER_CLI_CONNECTION_STORED_STATE_H_
#define INLIER_CLI_CONNECTION_STORED_STATE_H_

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace inlier {

class StoredState {
 public:
  // Copies the database and waits until the child answers; a large database takes seconds. Errors name the folder:
  // NotFound, PermissionDenied, FailedPrecondition (a newer schema, another program's file), ResourceExhausted (no
  // space for the copy), DataLoss.
  static absl::StatusOr<std::unique_ptr<StoredState>> Open(const std::filesystem::path& dir);
  // Ends the child, which removes the copy; so does the end of this process.
  ~StoredState();
  StoredState(const StoredState&) = delete;
  StoredState& operator=(const StoredState&) = delete;

  const std::string& address() const { return address_; }
  const std::string& token() const { return token_; }  // Of the role read.

 private:
  explicit StoredState(pid_t child) : child_(child) {}

  pid_t child_;
  std::string address_, token_;
};

}  // namespace inlier

#endif  // INLIER_CLI_CONNECTION_STORED_STATE_H_
