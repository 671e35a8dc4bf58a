#include "coordinator/process/show_stored.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_replace.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/status.h"
#include "coordinator/process/coordinator.h"
#include "coordinator/store/folder/database_copy.h"
#include "inlier/v1/config.pb.h"
#include "nlohmann/json.hpp"
#include "rpc/config.h"
#include "rpc/credentials.h"
#include "rpc/daemon.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::unique_ptr<Coordinator>> Show(const fs::path& copy, const std::string& query_program,
                                                  const std::string& token,
                                                  std::function<void(absl::Status)> on_fatal) {
  const fs::path tokens = copy / "tokens";
  RETURN_IF_ERROR(WriteTokensFile(tokens, {{Role::kRead, "reader", Sha256Hex(token)}}));
  v1::CoordinatorConfig config;
  config.set_state_dir(copy.string());
  config.set_listen("127.0.0.1:0");
  config.set_http_listen("127.0.0.1:0");
  config.set_tokens_file(tokens.string());
  config.set_query_program(query_program);
  RETURN_IF_ERROR(LoadConfig("", {}, config));
  return Coordinator::Start(config, std::move(on_fatal), Coordinator::Mode::kShow);
}

void Answer(const nlohmann::json& line) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;  // A path may have any bytes.
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
  const absl::StatusOr<DatabaseCopy> folder = DatabaseCopy::Make(dir);
  if (!folder.ok()) return Fail(folder.status(), dir, {});
  const absl::StatusOr<std::string> token = NewToken();
  if (!token.ok()) return Fail(token.status(), dir, {});
  int status = kExitOk;
  auto coordinator = Show(folder->path(), query_program, *token, [&](const absl::Status& fatal) {
    boost::asio::post(io, [&, fatal] {
      status = ReportFatal("inlier-coordinator", fatal);
      io.stop();
    });
  });
  if (!coordinator.ok()) return Fail(coordinator.status(), dir, folder->path());
  Answer({{"grpc", (*coordinator)->grpc_address()}, {"token", *token}});
  io.run();
  coordinator->reset();
  return status;
}

}  // namespace inlier
