#include "worker/data_checker.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/status.h"
#include "base/utf8.h"
#include "worker/attempt_folder.h"
#include "worker/disk_work.h"
#include "worker/processes/trial_environment.h"
#include "worker/programs/program_roots.h"
#include "worker/programs/program_runner.h"

namespace inlier {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

// Of a child's output; the coordinator accepts 4096 bytes.
constexpr std::size_t kOutputBytesMax = 4000;
constexpr std::size_t kReadingBytesMax = 100;  // Of a line that reports its progress.

void Append(std::string& to, std::string_view bytes) {
  to.append(bytes.substr(0, kOutputBytesMax - std::min(kOutputBytesMax, to.size())));
}

v1::DataChecked ProblemOf(std::uint64_t token, std::string_view problem) {
  v1::DataChecked answer;
  answer.set_token(token);
  answer.set_problem(std::string(problem));
  return answer;
}

bool HasEnded(const v1::DataChecked& answer) { return answer.has_problem() || IsSha256Hex(answer.digest()); }

}  // namespace

struct DataChecker::Job {
  std::uint64_t token = 0;
  fs::path folder;
  std::string pending, digest;  // On descriptor 3: the line that has not ended, the last one that has.
  std::string output;           // On stdout and stderr.
  std::function<void(const std::string&)> on_reading;  // Gets the earlier lines.
  std::unique_ptr<TrialProcess> process;

  ~Job() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }

  void TakeLines(std::string_view bytes) {
    Append(pending, bytes);
    for (std::size_t end; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1)) {
      digest = pending.substr(0, end);
      if (!IsSha256Hex(digest)) on_reading(digest.substr(0, kReadingBytesMax));
    }
  }

  absl::Status Start(asio::io_context& io, const AttemptSettings& settings, const v1::DataCheck& check) {
    token = check.token();
    folder = settings.state_dir / "data_checks" / std::to_string(token);
    v1::AttemptSpec request;
    if (!request.mutable_spec()->ParseFromString(check.source()))
      return absl::InvalidArgumentError(
          "the coordinator's message cannot be read: both must be of one version");
    request.set_data_dir(settings.data_dir.string());
    request.set_cache_dir(settings.cache_dir.string());
    settings.SetDataRoots(request);
    std::string program = settings.trial_program;
    const bool of_program = request.spec().has_program();
    if (of_program) {
      ASSIGN_OR_RETURN(const v1::ProgramRoot root, FindProgramRoot(settings, request.spec().program()));
      request.set_program_root(root.root());
      request.set_trial_program(settings.trial_program);
      ASSIGN_OR_RETURN(program, OwnProgram());
    }
    RETURN_IF_ERROR(PrepareAttemptFolder(folder, request));
    const Command command{
        program,
        {of_program ? kProgramDigest : "digest", (folder / kAttemptSpecName).string()},
        TrialEnvironment(settings.trial_environment,
                         {"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1", "CUDA_VISIBLE_DEVICES="}),
        folder.string(),
        {}};
    ASSIGN_OR_RETURN(process, TrialProcess::Start(
                                  io, command, [this](std::string_view bytes) { TakeLines(bytes); },
                                  [this](std::string_view bytes) { Append(output, bytes); }));
    return absl::OkStatus();
  }

  v1::DataChecked Answer(const ProcessExit& exit) const {
    const std::string found(absl::StripAsciiWhitespace(digest));
    if (exit.signal == 0 && exit.status == 0 && IsSha256Hex(found)) {
      v1::DataChecked answer;
      answer.set_token(token);
      answer.set_digest(found);
      return answer;
    }
    const std::string message(absl::StripAsciiWhitespace(output));
    return ProblemOf(token, !message.empty() ? message
                                             : absl::StrCat("inlier-trial digest ended with ",
                                                            exit.signal != 0 ? "signal " : "status ",
                                                            exit.signal != 0 ? exit.signal : exit.status));
  }
};

DataChecker::DataChecker(asio::io_context& io, const AttemptSettings& settings, AttemptBoard& board,
                         StartTrouble& start_trouble, std::function<void()> request_sync)
    : io_(io),
      settings_(settings),
      board_(board),
      start_trouble_(start_trouble),
      request_sync_(std::move(request_sync)) {}

DataChecker::~DataChecker() {
  if (job_ != nullptr) job_->process->Signal(SIGKILL);
}

void DataChecker::Want(const std::vector<v1::DataCheck>& checks) {
  if (checks.empty() && wanted_.empty()) return;
  wanted_.clear();
  for (const v1::DataCheck& check : checks) wanted_[check.token()] = check;
  if (std::erase_if(answers_, [this](const auto& answer) { return !wanted_.contains(answer.first); }) > 0)
    board_.SetDataChecked(answers_);
  if (job_ != nullptr && !wanted_.contains(job_->token)) job_->process->Signal(SIGKILL);
  Next();
}

void DataChecker::Next() {
  if (job_ != nullptr || start_trouble_.any()) return;
  for (const auto& [token, check] : wanted_) {
    if (const auto known = answers_.find(token); known != answers_.end() && HasEnded(known->second)) continue;
    auto job = std::make_shared<Job>();
    job->on_reading = [this, alive = std::weak_ptr<int>(alive_), token = token](const std::string& how_far) {
      if (!alive.expired()) OnReading(token, how_far);
    };
    if (const absl::Status started = job->Start(io_, settings_, check); !started.ok()) {
      if (!absl::IsInvalidArgument(started)) return start_trouble_.NotStarted(std::string(started.message()));
      OnAnswer(ProblemOf(token, std::string(started.message())));
      continue;
    }
    spdlog::info("data_check_started token={} pid={}", token, job->process->pid());
    job_ = job;
    return StartWork(io_, Run(std::move(job)));
  }
}

asio::awaitable<void> DataChecker::Run(std::shared_ptr<Job> job) {
  const std::weak_ptr<int> alive = alive_;
  const ProcessExit exit = co_await job->process->WaitForExit();
  if (alive.expired()) co_return;
  job_.reset();
  const v1::DataChecked answer = job->Answer(exit);
  if (CouldNotRun(exit)) co_return start_trouble_.NotStarted(answer.problem());
  if (wanted_.contains(job->token)) {
    spdlog::info("data_check_ended token={} digest={} problem={}", job->token, answer.digest(),
                 LogText(answer.problem()));
    OnAnswer(answer);
  }
  Next();
}

// Requests no sync: nothing waits for it.
void DataChecker::OnReading(std::uint64_t token, const std::string& how_far) {
  if (job_ == nullptr || job_->token != token || !wanted_.contains(token)) return;
  v1::DataChecked& answer = answers_[token];
  answer.set_token(token);
  answer.set_digest(ReplaceInvalidUtf8(how_far));
  board_.SetDataChecked(answers_);
}

void DataChecker::OnAnswer(const v1::DataChecked& answer) {
  answers_[answer.token()] = answer;
  board_.SetDataChecked(answers_);
  request_sync_();
}

}  // namespace inlier
