#include "coordinator/show_stored.h"

#include <stdlib.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/status.h"
#include "coordinator/coordinator.h"
#include "inlier/v1/config.pb.h"
#include "nlohmann/json.hpp"
#include "rpc/config.h"
#include "rpc/credentials.h"
#include "rpc/daemon.h"
#include "rpc/file_stamp.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr char kDatabase[] = "inlier.db", kLog[] = "inlier.db-wal";
constexpr int kCopiesTried = 5;

// A folder of this user alone, removed with its content.
class PrivateFolder {
 public:
  static absl::StatusOr<PrivateFolder> Make() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "inlier-read-XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr)
      return ErrnoStatus("cannot make a temporary folder; name a place for it with TMPDIR");
    return PrivateFolder(name);
  }
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  explicit PrivateFolder(fs::path path) : path_(std::move(path)) {}

  fs::path path_;
};

absl::Status CopyFile(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (!error) fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write, error);
  if (!error) return absl::OkStatus();
  const std::string text =
      absl::StrCat("cannot copy ", from.string(), " to ", to.string(), ": ", error.message());
  if (error == std::errc::no_space_on_device || error == std::errc::file_too_large)
    return absl::ResourceExhaustedError(absl::StrCat(text, "; name a place with more space with TMPDIR"));
  if (error == std::errc::permission_denied) return absl::PermissionDeniedError(text);
  return error == std::errc::no_such_file_or_directory ? absl::NotFoundError(text) : absl::UnknownError(text);
}

// The database with its log, both of one moment.
absl::Status CopyDatabase(const fs::path& from, const fs::path& to) {
  const std::vector<std::string> files = {(from / kDatabase).string(), (from / kLog).string()};
  for (int tries = 0; tries < kCopiesTried; ++tries) {
    const FileStamp before(files);
    std::error_code error;
    fs::remove(to / kLog, error);
    RETURN_IF_ERROR(CopyFile(from / kDatabase, to / kDatabase));
    if (fs::exists(from / kLog, error)) RETURN_IF_ERROR(CopyFile(from / kLog, to / kLog));
    if (FileStamp(files) == before) return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat(
      (from / kDatabase).string(),
      " changes while it is read: a coordinator has started, here or on another machine; try again, or "
      "name it with --server HOST:PORT"));
}

struct Shown {
  std::unique_ptr<Coordinator> coordinator;
  std::string token;
};

absl::StatusOr<Shown> Show(const fs::path& copy, const std::string& query_program,
                           std::function<void(absl::Status)> on_fatal) {
  Shown shown;
  ASSIGN_OR_RETURN(shown.token, NewToken());
  const fs::path tokens = copy / "tokens";
  RETURN_IF_ERROR(WriteTokensFile(tokens, {{Role::kRead, "reader", Sha256Hex(shown.token)}}));
  v1::CoordinatorConfig config;
  config.set_state_dir(copy.string());
  config.set_listen("127.0.0.1:0");
  config.set_http_listen("127.0.0.1:0");
  config.set_tokens_file(tokens.string());
  config.set_query_program(query_program);
  RETURN_IF_ERROR(LoadConfig("", {}, config));
  ASSIGN_OR_RETURN(shown.coordinator,
                   Coordinator::Start(config, std::move(on_fatal), Coordinator::Mode::kShow));
  return shown;
}

void Answer(const nlohmann::json& line) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;  // Bytes of a path that are no text.
  std::fputs((line.dump(-1, ' ', false, kReplace) + "\n").c_str(), stdout);
  std::fflush(stdout);
}

int Fail(const absl::Status& status, const fs::path& dir, const fs::path& copy) {
  std::string message(status.message());
  if (!copy.empty()) message = absl::StrReplaceAll(message, {{copy.string(), dir.string()}});
  Answer({{"code", status.raw_code()}, {"message", message}});
  return kExitFailure;
}

}  // namespace

int ShowStored(const fs::path& dir, const std::string& query_program) {
  InitLog("inlier-coordinator", "error");
  boost::asio::io_context io;
  StopSignals signals(io, [&io](const std::string&, int) { io.stop(); });
  const absl::StatusOr<PrivateFolder> folder = PrivateFolder::Make();
  if (!folder.ok()) return Fail(folder.status(), dir, {});
  if (const absl::Status copied = CopyDatabase(dir, folder->path()); !copied.ok())
    return Fail(copied, dir, {});
  int status = kExitOk;
  absl::StatusOr<Shown> shown = Show(folder->path(), query_program, [&](const absl::Status& fatal) {
    boost::asio::post(io, [&, fatal] {
      status = ReportFatal("inlier-coordinator", fatal);
      io.stop();
    });
  });
  if (!shown.ok()) return Fail(shown.status(), dir, folder->path());
  Answer({{"grpc", shown->coordinator->grpc_address()}, {"token", shown->token}});
  io.run();
  shown->coordinator.reset();
  return status;
}

}  // namespace inlier
