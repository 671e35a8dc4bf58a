// inlier-trial: runs one attempt of one trial in its own process, and the other commands that need LibTorch.
#include <ATen/Context.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "base/log.h"
#include "base/time.h"
#include "base/version.h"
#include "core/trial/analysis.h"
#include "core/trial/data_digest.h"
#include "core/trial/evaluation_session.h"
#include "core/trial/event_writer.h"
#include "core/trial/export/export_checkpoint.h"
#include "core/trial/failure.h"
#include "core/trial/model_numbers.h"
#include "core/trial/runtime.h"
#include "core/trial/stop_request.h"
#include "core/trial/trial_runner.h"
#include "nlohmann/json.hpp"
#include "spec/schema/read_json.h"
#include "spec/sweep/figure_checks.h"
#include "spec/trial/outcome.h"

namespace {

constexpr char kUsage[] =
    R"(inlier-trial: runs one attempt of a trial (training or evaluation)

usage: inlier-trial SPEC.json      an AttemptSpec (proto/inlier/v1/attempt.proto) as JSON
       inlier-trial evaluations SPEC.json         evaluates, then continues with the SPEC.json files that
                                                  lines of standard input name; those of one checkpoint
                                                  share what they read
       inlier-trial analyze REQUEST.json          outliers and quantization of a Hugging Face model (AnalysisSpec)
       inlier-trial digest SPEC.json              the digest of the files that an AttemptSpec's spec names
       inlier-trial export REQUEST.json FOLDER [--force] [--weights-only | --compressed-tensors]   the model of an AttemptSpec's
                                                  checkpoint as a folder that transformers loads
       inlier-trial numbers CHECKPOINT DATA_DIR CACHE_DIR KIND [LAYER HEAD]   the numbers of a figure of
                                                  one model (FigureSpec.Kind), as JSON
       inlier-trial --help | --version

Events are JSON lines (TrialEvent): on descriptor 3 where it is open, as under a worker, else on standard output.
Logs go to standard error. A smallest SPEC.json:
  {"kind": "TRAIN_STAGE", "output_dir": "/tmp/trial", "cache_dir": "/tmp/cache",
   "spec": {"model": {"bert": {"preset": "tiny"}}, "data": {"text": {"path": "/tmp/text.txt"}},
            "training": {"steps": 100}}}
and for EVALUATE_STAGE also "checkpoint": "/tmp/trial/model.safetensors".

SIGTERM and SIGINT: a training writes a checkpoint, from which "resume_from" continues; all other work ends at
once; exit 75.

exit codes:
  0   the attempt has a result: SUCCEEDED or DIVERGED
  1   it failed; the last event has the reason
  2   the command line or SPEC.json is wrong
  75  stopped by a signal; a training with a checkpoint
)";

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
using inlier::kExitStopped;

// Ends the process in the middle of work that has nothing to save. Where the outcome is written already, the
// main thread is about to end it.
void EndNow(inlier::EventWriter& events) {
  if (events.OnOutcome(inlier::FailedOutcome(inlier::v1::PREEMPTED, "stopped on request")))
    ::_exit(kExitStopped);
  while (true) ::pause();
}

int PrintVersion() {
  const std::string cuda = inlier::CudaVersion();
  std::printf("inlier-trial %s\nLibTorch %s, %s\n", inlier::BuildId().c_str(), inlier::TorchVersion().c_str(),
              cuda.empty() ? "CUDA not found: trials run on the CPU" : ("CUDA " + cuda).c_str());
  return 0;
}

int PrintUsage() {
  std::fputs(kUsage, stderr);
  return kExitUsage;
}

int Fail(const absl::Status& status, int exit_code = kExitFailed) {
  std::fprintf(stderr, "inlier-trial: %s\n", std::string(status.message()).c_str());
  return exit_code;
}

int ThreadsOf(const auto& spec) { return std::max(1, static_cast<int>(spec.threads())); }

// Reads the next line of standard input. False at its end, or when a request to end comes first.
bool NextPath(const inlier::StopRequest& stop, std::string& path) {
  constexpr int kPollMs = 100;
  path.clear();
  while (!stop.asked()) {
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, kPollMs) <= 0) continue;
    char byte = 0;
    if (::read(STDIN_FILENO, &byte, 1) != 1) return false;
    if (byte == '\n') return !path.empty();
    path += byte;
  }
  return false;
}

// `arguments`: those after "numbers". The answer goes to standard output, as one object.
int PrintModelNumbers(const std::vector<std::string_view>& arguments) {
  if (arguments.size() < 4) return PrintUsage();
  inlier::ModelQuestion question;
  question.checkpoint = arguments[0];
  question.data.data_dir = arguments[1];
  question.data.cache_dir = arguments[2];
  const bool placed = arguments.size() == 6;  // With a layer and a head.
  if (!inlier::v1::FigureSpec::Kind_Parse(absl::AsciiStrToUpper(std::string(arguments[3])), &question.kind) ||
      !inlier::IsOfModel(question.kind) || (!placed && arguments.size() != 4) ||
      (placed && (!absl::SimpleAtoi(std::string(arguments[4]), &question.layer) ||
                  !absl::SimpleAtoi(std::string(arguments[5]), &question.head))))
    return PrintUsage();
  inlier::SetUpRuntime(1);
  const auto numbers = inlier::ReadModelNumbers(question);
  if (!numbers.ok()) return Fail(numbers.status());
  // A token may end within a character.
  std::printf("%s\n",
              numbers->dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  return 0;
}

// The written values go to standard output, as one object.
int Export(int argc, char** argv) {
  inlier::ExportRequest request;
  request.folder = argv[3];
  for (int i = 4; i < argc; ++i) {
    if (std::strcmp(argv[i], "--force") == 0) {
      request.replace = true;
    } else if (std::strcmp(argv[i], "--weights-only") == 0) {
      request.processor = false;
    } else if (std::strcmp(argv[i], "--compressed-tensors") == 0) {
      request.compressed = true;
    } else {
      return PrintUsage();
    }
  }
  const auto attempt = inlier::ReadJson<inlier::v1::AttemptSpec>(argv[2]);
  if (!attempt.ok()) return Fail(attempt.status());
  inlier::SetUpRuntime(ThreadsOf(*attempt));
  request.attempt = *attempt;
  const absl::StatusOr<inlier::Exported> exported = inlier::ExportCheckpoint(request);
  if (!exported.ok()) return Fail(exported.status());
  const nlohmann::ordered_json answer = {{"auto_class", exported->auto_class},
                                         {"own_code", exported->own_code},
                                         {"quantized", exported->quantized}};
  std::printf("%s\n", answer.dump().c_str());
  return 0;
}

// Results go to standard output, an object a line.
int AnalyzeModel(const char* request) {
  const auto spec = inlier::ReadJson<inlier::v1::AnalysisSpec>(request);
  if (!spec.ok()) return Fail(spec.status());
  inlier::SetUpRuntime(ThreadsOf(*spec));
  const absl::Status status = inlier::Analyze(*spec, [](const nlohmann::ordered_json& found) {
    std::printf("%s\n", found.dump().c_str());
    std::fflush(stdout);
  });
  return status.ok() ? 0 : Fail(status);
}

// Reports to the worker how far the files are read, by a line a second.
inlier::DigestProgress ReadingLines() {
  return [last = inlier::MonotonicNow()](std::uint64_t bytes, std::uint64_t bytes_total) mutable {
    const inlier::Timestamp now = inlier::MonotonicNow();
    if (now - last < std::chrono::seconds(1)) return;
    last = now;
    ::dprintf(inlier::EventWriter::kWorkerDescriptor, "reading: %llu of %llu bytes\n",
              static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(bytes_total));
  };
}

// Under a worker the digest goes where events go, after lines that are none.
int PrintDigest(const char* request) {
  const auto attempt = inlier::ReadJson<inlier::v1::AttemptSpec>(request);
  const bool has_worker = inlier::EventWriter::IsWritable(inlier::EventWriter::kWorkerDescriptor);
  const auto digest =
      attempt.ok() ? inlier::DigestOf(*attempt, has_worker ? ReadingLines() : nullptr) : attempt.status();
  if (!digest.ok()) {
    std::fprintf(stderr, "%s\n", std::string(digest.status().message()).c_str());
    return kExitFailed;
  }
  ::dprintf(has_worker ? inlier::EventWriter::kWorkerDescriptor : STDOUT_FILENO, "%s\n", digest->c_str());
  return 0;
}

int ExitCode(const inlier::v1::Outcome& outcome) {
  if (outcome.kind() != inlier::v1::Outcome::FAILED) return 0;
  return outcome.failure() == inlier::v1::PREEMPTED ? kExitStopped : kExitFailed;
}

// Runs the attempt of the file `path` and, where `more`, those of the files that standard input names, as long as they
// have results. Ends at once on a request in between.
int RunAttempts(std::string path, bool more) {
  const bool has_worker = inlier::EventWriter::IsWritable(inlier::EventWriter::kWorkerDescriptor);
  // Under a worker: ends with it. In a user's shell it may outlive the shell (nohup).
  if (has_worker) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_IGN);
  // Kept until the process has ended: the thread that takes signals uses them.
  static inlier::StopRequest stop;
  static auto* const events =
      new inlier::EventWriter(has_worker ? inlier::EventWriter::kWorkerDescriptor : STDOUT_FILENO);
  inlier::EndOnSignals(stop, [] { EndNow(*events); });
  inlier::InitLog("inlier-trial");

  static auto* const session = new inlier::EvaluationSession();
  for (bool first = true;; first = false) {
    const auto attempt = inlier::ReadJson<inlier::v1::AttemptSpec>(path);
    if (!attempt.ok()) return Fail(attempt.status(), kExitUsage);
    if (first) inlier::SetUpRuntime(ThreadsOf(*attempt), {attempt->cpus().begin(), attempt->cpus().end()});
    events->Begin();
    const int exit_code = ExitCode(inlier::RunAttempt(*attempt, *events, stop, *session));
    if (!more || exit_code != 0) return exit_code;
    if (!NextPath(stop, path)) return stop.asked() ? kExitStopped : 0;
  }
}

int Run(int argc, char** argv) {
  if (argc == 2 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0)) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) return PrintVersion();
  if (argc == 3 && std::strcmp(argv[1], "analyze") == 0) return AnalyzeModel(argv[2]);
  if (argc == 3 && std::strcmp(argv[1], "digest") == 0) return PrintDigest(argv[2]);
  if (argc >= 4 && std::strcmp(argv[1], "export") == 0) return Export(argc, argv);
  if (argc > 2 && std::strcmp(argv[1], "numbers") == 0) return PrintModelNumbers({argv + 2, argv + argc});
  const bool evaluations = argc == 3 && std::strcmp(argv[1], "evaluations") == 0;
  if ((argc != 2 && !evaluations) || argv[argc - 1][0] == '-') return PrintUsage();
  return RunAttempts(argv[argc - 1], evaluations);
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = kExitFailed;
  const inlier::v1::Outcome outcome = inlier::CatchFailures([&] {
    exit_code = Run(argc, argv);
    return inlier::Succeeded();
  });
  if (outcome.kind() == inlier::v1::Outcome::FAILED)
    std::fprintf(stderr, "inlier-trial: %s\n", outcome.message().c_str());
  return exit_code;
}
