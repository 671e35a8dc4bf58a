// fake_trial: replaces inlier-trial in tests that need a child but no training. It reads spec.json as
// inlier-trial does, and writes the same events on descriptor 3.
// `evaluations SPEC.json` continues with the specs that are named on its input, as there.
//
// A good trial by default: TRAIN runs `training.steps` steps (default 10) at FAKE_STEP_MS milliseconds each
// (default 0), reports progress and a curve, saves a checkpoint every `training.checkpoint_every` steps,
// resumes from `resume_from`, ends with a final checkpoint (of FAKE_MODEL_BYTES bytes when that is set);
// EVALUATE needs its checkpoint file and reports final measurements. The numbers depend on the spec alone.
// SIGTERM: checkpoint, PREEMPTED, exit 75. Of a gang rank 0 does so; the others report their outcome alone, and write no
// checkpoint. They do not wait for each other.
//
// Misbehaviour is chosen by FAKE_TRIAL in the environment, or by a file `fake_trial.behaviour` in the data
// folder of the spec:
//   fail          FAILED/CRASHED with a message, exit 1
//   invalid       FAILED/INVALID_SPEC, exit 1
//   diverge       DIVERGED
//   hang          emits the log line "hanging" and never ends (SIGTERM ends it as usual)
//   hang_evaluate the same in evaluate stages; trains as usual
//   stubborn      hang, and ignores SIGTERM from before the log line
//   rank_0_stubborn  of a gang: rank 0 as stubborn, the others hang
//   gate          hangs until there is a file `fake_trial.go` in the data folder, then succeeds
//   flood         200,000 points of a curve, then succeeds
//   chatter       100,000 lines on stderr and 2,000 as events, then succeeds
//   garbage       prints garbage on descriptor 3, exits 3
//   mixed         garbage between events, then succeeds
//   endless       a line of 8 MiB without an end on descriptor 3, then succeeds
//   silent        exits 0 without an outcome
//   crash         writes to stderr and dies by SIGSEGV
//   bad_alloc     dies as C++ does without memory
//   grandchild    leaves a grandchild of its group behind, its pid in the worker's file grandchild.pid, and succeeds
//   escape        leaves a grandchild in a session of its own that keeps every descriptor open, and succeeds
//   no_checkpoint succeeds without a final checkpoint
//   wrong_digest  reports a digest that is not the checkpoint's
//   rank_1_dies   of a gang: rank 1 dies by SIGSEGV, all others hang and ignore SIGTERM
// A file `fake_trial.data` in the data folder is its data: the attempts and `fake_trial digest SPEC.json` report its
// digest. Without the file attempts report none, and `digest` has only zeros; an empty one cannot be read. As long as
// there is a file `fake_trial.reading`, `digest` has read so far as it reports.
//
//   environment   reports OMP_NUM_THREADS and the number of CPUs as measurements, then succeeds
//
// FAKE_TRIAL_EVIDENCE names a file to which it adds a line at its start, each step and its end:
// "begin|at|end TOKEN STAGE PID WORKER_PID MONOTONIC_NANOSECONDS", and one for each model or checkpoint that it reads,
// with the file's SHA-256 in place of PID: "read TOKEN STAGE SHA256 …". The file records what really ran and when,
// independently of the services.
#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include "base/digest.h"
#include "base/files/file.h"
#include "base/time.h"
#include "base/version.h"
#include "inlier/v1/attempt.pb.h"
#include "spec/trial/outcome.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t stop_requested = 0;
bool reports_all = true;  // It is rank 0, or trains alone.

// Of its data; empty: there are none.
std::string DataDigest(const v1::AttemptSpec& spec) {
  const absl::StatusOr<std::string> data = ReadFile(fs::path(spec.data_dir()) / "fake_trial.data");
  return data.ok() && !data->empty() ? Sha256Hex(*data) : "";
}

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written <= 0) std::_Exit(9);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

// One write for a line, so that lines of several children never mix.
void WriteEvidence(const char* what, const v1::AttemptSpec& spec,
                   const std::string& about = std::to_string(::getpid())) {
  static const char* const file = std::getenv("FAKE_TRIAL_EVIDENCE");
  if (file == nullptr) return;
  static const int fd = ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  WriteAll(fd, std::string(what) + " " + std::to_string(spec.token()) + " " + spec.stage_id() + " " + about +
                   " " + std::to_string(::getppid()) + " " +
                   std::to_string(now.tv_sec * 1'000'000'000 + now.tv_nsec) + "\n");
}

// "read TOKEN STAGE SHA256 WORKER_PID MONOTONIC_NANOSECONDS": of a model or a checkpoint.
void WriteRead(const v1::AttemptSpec& spec, const std::string& content) {
  WriteEvidence("read", spec, Sha256Hex(content));
}

void Emit(v1::TrialEvent event) {
  if (!reports_all && !event.has_outcome()) return;
  event.set_time_unix_ms(WallNow().unix_ms);
  std::string line;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  if (!google::protobuf::util::MessageToJsonString(event, &line, options).ok()) std::_Exit(9);
  WriteAll(3, line + "\n");
}

void EmitMeasurement(const std::string& name, std::uint64_t step, double value, bool final) {
  v1::TrialEvent event;
  event.mutable_measurement()->set_name(name);
  event.mutable_measurement()->set_step(step);
  event.mutable_measurement()->set_value(value);
  event.mutable_measurement()->set_final(final);
  Emit(event);
}

int EmitOutcome(v1::Outcome::Kind kind, v1::FailureClass failure = v1::CRASHED,
                const std::string& message = "") {
  v1::TrialEvent event;
  event.mutable_outcome()->set_kind(kind);
  if (kind == v1::Outcome::FAILED) event.mutable_outcome()->set_failure(failure);
  if (!message.empty()) event.mutable_outcome()->set_message(message);
  Emit(event);
  if (kind != v1::Outcome::FAILED) return 0;
  return failure == v1::PREEMPTED ? kExitStopped : 1;
}

void EmitCheckpoint(const v1::AttemptSpec& spec, std::uint64_t step, bool final, bool wrong_digest) {
  if (!reports_all) return;
  // The "trained" weights: a function of the spec and the steps done.
  std::string content =
      "fake checkpoint\n" + spec.spec().ShortDebugString() + "\nstep " + std::to_string(step) + "\n";
  if (const char* bytes = std::getenv("FAKE_MODEL_BYTES"); bytes != nullptr && final) {
    while (content.size() < std::strtoull(bytes, nullptr, 10))
      content += Sha256Hex(content.substr(0, 64)) + content.substr(0, 4096);
    content.resize(std::strtoull(bytes, nullptr, 10));
  }
  const std::string name =
      final ? "model.safetensors" : "checkpoint-" + std::to_string(step) + ".safetensors";
  if (!WriteFileAtomically(fs::path(spec.output_dir()) / name, content).ok()) std::_Exit(9);
  v1::TrialEvent event;
  v1::CheckpointSaved& saved = *event.mutable_checkpoint();
  saved.set_step(step);
  saved.set_path(name);
  saved.set_sha256(wrong_digest ? std::string(64, '0') : Sha256Hex(content));
  saved.set_bytes(content.size());
  saved.set_final(final);
  Emit(event);
}

[[noreturn]] void SleepUntilKilled() {
  for (;;) ::pause();
}

void LeaveGrandchild(const v1::AttemptSpec& spec, bool escape) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGTERM, SIG_IGN);
    if (escape) ::setsid();
    SleepUntilKilled();
  }
  // In the worker's folder: the attempt's own may be removed as soon as its outcome is stored.
  const fs::path attempts = fs::path(spec.output_dir()).parent_path().parent_path();
  std::ofstream(attempts.parent_path() / "grandchild.pid") << pid;
}

int Train(const v1::AttemptSpec& spec, const std::string& behaviour) {
  const v1::TrainingSpec& training = spec.spec().training();
  const std::uint64_t steps = training.steps() > 0 ? training.steps() : 10;
  const char* pace = std::getenv("FAKE_STEP_MS");
  const auto step_time = std::chrono::milliseconds(pace == nullptr ? 0 : std::atoi(pace));
  std::uint64_t first = 0;
  if (spec.has_resume_from()) {
    const absl::StatusOr<std::string> content = ReadFile(spec.resume_from());
    const size_t at = content.ok() ? content->rfind("step ") : std::string::npos;
    if (at == std::string::npos)
      return EmitOutcome(v1::Outcome::FAILED, v1::INVALID_SPEC, "cannot read " + spec.resume_from());
    first = std::strtoull(content->c_str() + at + 5, nullptr, 10);
    WriteRead(spec, *content);
  }
  v1::TrialEvent started;
  started.mutable_started()->set_pid(::getpid());
  started.mutable_started()->set_build(BuildId());
  started.mutable_started()->set_torch_version("none");
  started.mutable_started()->set_device("cpu");
  started.mutable_started()->set_threads(spec.threads());
  started.mutable_started()->set_resumed_step(static_cast<std::uint32_t>(first));
  if (const std::string digest = DataDigest(spec); !digest.empty())
    started.mutable_started()->set_dataset_digest(digest);
  Emit(started);
  const std::uint64_t every = training.has_checkpoint_every() ? training.checkpoint_every() : 0;
  for (std::uint64_t step = first + 1; step <= steps; ++step) {
    if (step_time.count() > 0) std::this_thread::sleep_for(step_time);
    WriteEvidence("at", spec);
    const double loss = 7.0 / static_cast<double>(step);
    v1::TrialEvent event;
    event.mutable_progress()->set_phase("train");
    event.mutable_progress()->set_step(step);
    event.mutable_progress()->set_steps_total(steps);
    event.mutable_progress()->set_loss(loss);
    Emit(event);
    EmitMeasurement("train_loss", step, loss, false);
    const bool stopping = stop_requested != 0;
    if (step < steps && (stopping || (every > 0 && step % every == 0)))
      EmitCheckpoint(spec, step, false, false);
    if (stopping && step < steps)
      return EmitOutcome(v1::Outcome::FAILED, v1::PREEMPTED, "stopped by a signal");
  }
  if (behaviour != "no_checkpoint") EmitCheckpoint(spec, steps, true, behaviour == "wrong_digest");
  EmitMeasurement("train_loss", steps, 7.0 / static_cast<double>(steps), true);
  return EmitOutcome(v1::Outcome::SUCCEEDED);
}

int PrintDigest(const v1::AttemptSpec& spec) {
  const std::string digest = DataDigest(spec);
  if (digest.empty() && fs::exists(fs::path(spec.data_dir()) / "fake_trial.data")) {
    std::fprintf(stderr, "the data are empty\n");
    return 1;
  }
  const fs::path reading = fs::path(spec.data_dir()) / "fake_trial.reading";
  if (const absl::StatusOr<std::string> how_far = ReadFile(reading); how_far.ok()) {
    WriteAll(3, "reading: " + *how_far + "\n");
    while (fs::exists(reading)) ::usleep(10'000);
  }
  WriteAll(3, (digest.empty() ? std::string(64, '0') : digest) + "\n");
  return 0;
}

int Evaluate(const v1::AttemptSpec& spec) {
  const absl::StatusOr<std::string> checkpoint = ReadFile(spec.checkpoint());
  if (!checkpoint.ok())
    return EmitOutcome(v1::Outcome::FAILED, v1::INVALID_SPEC, std::string(checkpoint.status().message()));
  WriteRead(spec, *checkpoint);
  v1::TrialEvent started;
  started.mutable_started()->set_pid(::getpid());
  started.mutable_started()->set_build(BuildId());
  if (const std::string digest = DataDigest(spec); !digest.empty())
    started.mutable_started()->set_dataset_digest(digest);
  Emit(started);
  // A number in [10, 20) that depends on the model and the spec alone.
  const std::string digest = Sha256Hex(*checkpoint + spec.spec().ShortDebugString());
  const double value = 10.0 + static_cast<double>(std::strtoull(digest.substr(0, 8).c_str(), nullptr, 16)) /
                                  4294967296.0 * 10.0;
  EmitMeasurement("loss", 0, std::log(value), true);
  EmitMeasurement("perplexity", 0, value, true);
  EmitMeasurement("max_inf_norm", 0, value * 2, true);
  EmitMeasurement("avg_kurtosis", 0, value * 3, true);
  return EmitOutcome(v1::Outcome::SUCCEEDED);
}

int Behave(const std::string& behaviour, const v1::AttemptSpec& spec) {
  if (behaviour == "fail") {
    std::fprintf(stderr, "about to fail\n");
    return EmitOutcome(v1::Outcome::FAILED, v1::CRASHED, "failed as the test asked");
  }
  if (behaviour == "invalid") return EmitOutcome(v1::Outcome::FAILED, v1::INVALID_SPEC, "no such corpus");
  if (behaviour == "diverge")
    return EmitOutcome(v1::Outcome::DIVERGED, v1::CRASHED, "the loss is not finite at step 3");
  if (behaviour == "hang" || behaviour == "stubborn" || behaviour == "rank_0_stubborn" ||
      behaviour == "gate" || (behaviour == "hang_evaluate" && spec.kind() == v1::EVALUATE_STAGE)) {
    if (behaviour == "stubborn" || (behaviour == "rank_0_stubborn" && reports_all))
      ::signal(SIGTERM, SIG_IGN);
    v1::TrialEvent event;
    event.mutable_log()->set_text("hanging");
    Emit(event);
    const fs::path go = fs::path(spec.data_dir()) / "fake_trial.go";
    const auto gate_is_open = [&] { return behaviour == "gate" && fs::exists(go); };
    while (stop_requested == 0 && !gate_is_open()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (stop_requested == 0) return Train(spec, behaviour);
    return EmitOutcome(v1::Outcome::FAILED, v1::PREEMPTED, "stopped by a signal");
  }
  if (behaviour == "flood") {
    for (std::uint64_t i = 1; i <= 200000; ++i) EmitMeasurement("train_loss", i, 1.0, false);
  }
  if (behaviour == "chatter") {
    for (int i = 1; i <= 100000; ++i) std::fprintf(stderr, "line %d of a trial that talks too much\n", i);
    v1::TrialEvent line;
    line.mutable_log()->set_text("an event of a trial that talks too much");
    for (int i = 1; i <= 2000; ++i) Emit(line);
  }
  if (behaviour == "garbage") {
    WriteAll(3, "Segmentation violation at \x01\xff 0xdead\nmore of it\nand more\nand yet more\n");
    std::fprintf(stderr, "this is not the program you are looking for\n");
    return 3;
  }
  if (behaviour == "mixed")
    WriteAll(3, "{\"measurement\": {\"name\": \n\n{}\n{\"progress\": {\"step\": 1}} trailing\n");
  if (behaviour == "endless") {
    const std::string piece(1 << 16, 'x');
    for (int i = 0; i < 128; ++i) WriteAll(3, piece);
    WriteAll(3, "\n");
  }
  if (behaviour == "rank_1_dies") {
    ::signal(SIGTERM, SIG_IGN);
    if (spec.gang().rank() != 1) SleepUntilKilled();
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    std::fprintf(stderr, "last words of rank 1\n");
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
  }
  if (behaviour == "silent") return 0;
  if (behaviour == "crash" || behaviour == "bad_alloc") {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    if (behaviour == "bad_alloc") {
      std::fprintf(
          stderr,
          "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n");
      ::signal(SIGABRT, SIG_DFL);
      std::abort();
    }
    std::fprintf(stderr, "first line\nlast words\n");
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
  }
  if (behaviour == "grandchild" || behaviour == "escape") LeaveGrandchild(spec, behaviour == "escape");
  if (behaviour == "environment") {
    const char* threads = std::getenv("OMP_NUM_THREADS");
    EmitMeasurement("train_loss", 1, threads == nullptr ? -1 : std::atof(threads), false);
    EmitMeasurement("train_loss", 2, spec.cpus_size(), false);
    EmitMeasurement("train_loss", 3, ::getpgid(0) == ::getpid() ? 1 : 0, false);
    EmitMeasurement(
        "train_loss", 4,
        static_cast<double>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator())),
        false);
    EmitMeasurement("train_loss", 5, fs::equivalent(fs::current_path(), spec.output_dir()) ? 1 : 0, false);
  }
  return spec.kind() == v1::EVALUATE_STAGE ? Evaluate(spec) : Train(spec, behaviour);
}

// Ends the program where it cannot be read.
v1::AttemptSpec ReadSpec(const std::string& path) {
  const absl::StatusOr<std::string> json = ReadFile(path);
  v1::AttemptSpec spec;
  if (!json.ok() || !google::protobuf::util::JsonStringToMessage(*json, &spec).ok()) {
    std::fprintf(stderr, "fake_trial: cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return spec;
}

int RunAttempt(const v1::AttemptSpec& spec) {
  std::string behaviour;
  if (const char* given = std::getenv("FAKE_TRIAL")) behaviour = given;
  std::ifstream(fs::path(spec.data_dir()) / "fake_trial.behaviour") >> behaviour;
  reports_all = spec.gang().rank() == 0;
  WriteEvidence("begin", spec);
  const int status = Behave(behaviour, spec);
  WriteEvidence("end", spec);
  return status;
}

int Main(int argc, char** argv) {
  const std::string verb = argc >= 2 ? argv[1] : "";
  if (argc == 2 && verb == "--version") {
    std::printf("inlier-trial %s\nfake_trial, CUDA not found: trials run on the CPU\n", BuildId().c_str());
    return 0;
  }
  const bool digest = argc == 3 && verb == "digest";
  const bool evaluations = argc == 3 && verb == "evaluations";
  if (argc != 2 && !digest && !evaluations) {
    std::fprintf(stderr, "usage: fake_trial [digest | evaluations] SPEC.json\n");
    return 2;
  }
  struct sigaction action = {};
  action.sa_handler = [](int) { stop_requested = 1; };
  ::sigaction(SIGTERM, &action, nullptr);
  if (digest) return PrintDigest(ReadSpec(argv[2]));
  int status = RunAttempt(ReadSpec(argv[argc - 1]));
  for (std::string path; evaluations && status == 0 && std::getline(std::cin, path);)
    status = RunAttempt(ReadSpec(path));
  return evaluations && status == 0 && stop_requested != 0 ? kExitStopped : status;
}

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) { return inlier::Main(argc, argv); }
