#include "coordinator/queries/query_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/queries/frames.h"
#include "coordinator/queries/query_answerer.h"
#include "inlier/v1/query_process.pb.h"

namespace inlier {
namespace {

constexpr int kPollMs = 20;

// Starts the program with `socket` as its standard input and no other descriptor but standard error.
absl::StatusOr<pid_t> Spawn(const std::string& program, const std::string& database, int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  sigset_t every, none;
  ::sigfillset(&every);
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&attributes, &every);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);  // Ctrl-C at a terminal is the coordinator's.
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::string name = "inlier-query", flag = kAnswerQueriesFlag, path = database;
  const std::array<char*, 4> arguments = {name.data(), flag.data(), path.data(), nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  errno = error;
  return ErrnoStatus(absl::StrCat("cannot start ", program, " for a query"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<QueryProcess>> QueryProcess::Start(const std::string& program,
                                                                  const std::filesystem::path& database) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return ErrnoStatus("cannot make a socket for a query");
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  ASSIGN_OR_RETURN(const pid_t pid, Spawn(program, database.string(), theirs.fd()));
  return std::unique_ptr<QueryProcess>(new QueryProcess(pid, std::move(ours)));
}

bool QueryProcess::IsAlive() {
  if (pid_ < 0) return false;
  pollfd look{socket_.fd(), POLLIN, 0};
  // A process that waits for a statement sends nothing: what can be read is the end.
  return ::poll(&look, 1, 0) == 0;
}

int QueryProcess::Kill() {
  if (pid_ < 0) return 0;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  socket_.Close();
  return status;
}

absl::Status QueryProcess::Ended() {
  // It may have closed its socket without having ended yet.
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  const int status = Kill();
  if (!WIFSIGNALED(status))
    return absl::InternalError(
        absl::StrCat("the process of the query ended with status ", WEXITSTATUS(status)));
  if (WTERMSIG(status) == SIGKILL) return QueryTooLarge();  // By the kernel, which kills it first.
  return absl::InvalidArgumentError(absl::StrCat("SQL: the query ended its process by signal ",
                                                 WTERMSIG(status), "; write it with less nesting"));
}

absl::StatusOr<std::string> QueryProcess::Exchange(const std::string& request, Duration time,
                                                   const std::function<bool()>& must_stop) {
  const Timestamp deadline = MonotonicNow() + time + kGrace;
  const std::string frame = Framed(request);
  std::size_t sent = 0;
  std::string received;
  std::array<char, 65536> bytes;
  for (;;) {
    if (must_stop()) {
      Kill();
      return absl::CancelledError("the query was stopped");
    }
    if (MonotonicNow() >= deadline) {
      Kill();
      return QueryTooSlow(time);
    }
    const bool sending = sent < frame.size();
    pollfd ready{socket_.fd(), static_cast<short>(sending ? POLLOUT : POLLIN), 0};
    if (::poll(&ready, 1, kPollMs) <= 0) continue;
    const ssize_t n =
        sending ? ::send(socket_.fd(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT)
                : ::recv(socket_.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return Ended();
    if (sending) {
      sent += static_cast<std::size_t>(n);
      continue;
    }
    received.append(bytes.data(), static_cast<std::size_t>(n));
    ASSIGN_OR_RETURN(const std::optional<std::string_view> message, FirstFrame(received));
    if (message) return std::string(*message);
  }
}

absl::StatusOr<v1::QueryResponse> QueryProcess::Run(const std::string& sql, const QueryLimits& limits,
                                                    const std::function<bool()>& must_stop) {
  v1::GuardedQuery query;
  query.set_sql(sql);
  query.set_rows_max(limits.rows);
  query.set_bytes_max(limits.bytes);
  query.set_cell_bytes_max(limits.cell_bytes);
  query.set_time_ms_max(
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(limits.time).count()));
  ASSIGN_OR_RETURN(const std::string message, Exchange(query.SerializeAsString(), limits.time, must_stop));
  v1::GuardedAnswer answer;
  if (!answer.ParseFromString(message)) {
    Kill();
    return absl::InternalError("the process of the query sent an answer that cannot be read");
  }
  if (answer.last()) Kill();
  if (answer.code() != 0) return absl::Status(static_cast<absl::StatusCode>(answer.code()), answer.message());
  return std::move(*answer.mutable_response());
}

}  // namespace inlier
