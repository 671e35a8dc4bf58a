#include "coordinator/queries/query_answerer.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "coordinator/queries/frames.h"
#include "coordinator/store/query_guard.h"
#include "inlier/v1/query_process.pb.h"

namespace inlier {
namespace {

constexpr int kNice = 10;
// The coordinator kills the process at the time limit; this is for a coordinator that has gone.
constexpr unsigned kSecondsAfterTheLimit = 2;
// A process that needed more ends: the allocator would keep it.
constexpr std::int64_t kHeapBytesKept = std::int64_t{32} << 20;

void Confine() {
  ::prctl(PR_SET_NAME, "inlier-query");
  ::setpriority(PRIO_PROCESS, 0, kNice);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  if (const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); score >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(score, "800", 3);
    ::close(score);
  }
  sqlite3_hard_heap_limit64(kQueryHeapBytes);
}

// Reads the next message; empty at the end of the socket.
std::string ReadMessage(std::string& buffer) {
  char bytes[16384];
  for (;;) {
    const absl::StatusOr<std::optional<std::string_view>> frame = FirstFrame(buffer);
    if (!frame.ok()) return "";
    if (*frame) {
      std::string message(**frame);
      buffer.erase(0, Framed("").size() + message.size());
      return message;
    }
    const ssize_t n = ::recv(STDIN_FILENO, bytes, sizeof(bytes), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return "";
    buffer.append(bytes, static_cast<std::size_t>(n));
  }
}

bool WriteMessage(std::string_view message) {
  const std::string frame = Framed(message);
  for (std::size_t sent = 0; sent < frame.size();) {
    const ssize_t n = ::send(STDIN_FILENO, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

absl::StatusOr<v1::QueryResponse> Answer(const std::filesystem::path& database,
                                         std::unique_ptr<GuardedConnection>& connection,
                                         const v1::GuardedQuery& query) {
  if (connection == nullptr) {
    ASSIGN_OR_RETURN(connection, GuardedConnection::Open(database));
  }
  return connection->Query(query.sql(), {.rows = query.rows_max(),
                                         .bytes = query.bytes_max(),
                                         .cell_bytes = query.cell_bytes_max(),
                                         .time = std::chrono::milliseconds(query.time_ms_max())});
}

}  // namespace

int AnswerQueries(const std::filesystem::path& database) {
  Confine();
  std::unique_ptr<GuardedConnection> connection;
  std::string buffer;
  for (;;) {
    const std::string message = ReadMessage(buffer);
    if (message.empty()) return 0;
    v1::GuardedQuery query;
    if (!query.ParseFromString(message)) return 1;
    ::alarm(static_cast<unsigned>(query.time_ms_max() / 1000) + 1 + kSecondsAfterTheLimit);
    v1::GuardedAnswer answer;
    absl::StatusOr<v1::QueryResponse> response = Answer(database, connection, query);
    answer.set_code(static_cast<int>(response.status().code()));
    answer.set_message(std::string(response.status().message()));
    if (response.ok()) *answer.mutable_response() = *std::move(response);
    answer.set_last(sqlite3_memory_highwater(0) > kHeapBytesKept);
    ::alarm(0);
    if (!WriteMessage(answer.SerializeAsString()) || answer.last()) return 0;
  }
}

}  // namespace inlier
