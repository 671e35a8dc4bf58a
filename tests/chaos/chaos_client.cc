// chaos_client ADDRESS NAME HISTORY PROGRAM PERCENT: a user's script, on a network and a machine that fail.
//
// Submits small sweeps, PERCENT of them of the program in the folder PROGRAM, each under its own request id, repeated until it is acknowledged; checks them, cancels
// and retries some. Every intent is written to HISTORY before the call and every answer after it, so that the
// file has all that this client was promised, also when it is killed. Started again, it continues at the end of
// the file. SIGTERM: it waits until its submissions are acknowledged, then ends with 0. Lines:
//   submit REQUEST                 acknowledged REQUEST SWEEP TRIALS
//   state SWEEP STATE              trial TRIAL SWEEP STATE (only ended ones)
//   cancel SWEEP                   retry SWEEP
//   broken TEXT                    a broken promise
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>

#include "inlier/v1/sweep_service.grpc.pb.h"
#include "rpc/rpc.h"
#include "spec/program/find_program.h"
#include "tests/support/plain_channel.h"

namespace inlier {
namespace {

constexpr auto kCallDeadline = std::chrono::milliseconds(1500);
constexpr auto kRetryDelay = std::chrono::milliseconds(60);
constexpr size_t kOpenSweepsMax = 3;

volatile std::sig_atomic_t ending = 0;

struct Sweep {
  std::string id;
  int checks = 0;
};

v1::Axis NumberAxis(const std::string& field, const std::vector<double>& values) {
  v1::Axis axis;
  axis.set_field(field);
  for (const double value : values) axis.add_values()->set_number_value(value);
  return axis;
}

void SetModel(std::mt19937_64& random, v1::TrialSpec& base) {
  base.mutable_model()->mutable_bert()->set_preset("tiny");
  base.mutable_data()->mutable_text()->set_corpus("kjv");
  // Most end in a fraction of a second; some outlive a restart or a pause and are resumed or adopted.
  const std::uint64_t steps = random() % 4 == 0 ? 60 + random() % 100 : 5 + random() % 30;
  base.mutable_training()->set_steps(static_cast<std::uint32_t>(steps));
  base.mutable_training()->set_checkpoint_every(8);
}

// Its trials take two seconds and more, so that most are interrupted.
void SetProgram(std::mt19937_64& random, v1::TrialSpec& base) {
  (*base.mutable_program()->mutable_parameters()->mutable_fields())["until"].set_number_value(
      static_cast<double>(100 + random() % 60));
}

// The sweep is a function of the request id alone, so that a repeated request is equal. There are few different
// trainings, so sweeps share stages. `programs`: of 100 sweeps so many are of the program.
v1::SweepSpec SpecOf(const std::string& request, const v1::ProgramUse& program, std::uint64_t programs) {
  std::mt19937_64 random(std::hash<std::string>()(request));
  v1::SweepSpec sweep;
  sweep.set_name("chaos-" + request);
  const bool of_program = random() % 100 < programs;
  if (of_program) *sweep.mutable_program() = program;
  (of_program ? SetProgram : SetModel)(random, *sweep.mutable_base());
  std::vector<double> seeds;
  const double first = static_cast<double>(random() % 5000);
  for (int i = 0; i < 1 + static_cast<int>(random() % 3); ++i) seeds.push_back(first + i);
  *sweep.add_axes() = NumberAxis("seed", seeds);
  *sweep.add_axes() = NumberAxis(of_program ? "bits" : "quantization.weights.bits",
                                 random() % 2 == 0 ? std::vector<double>{8} : std::vector<double>{8, 4});
  sweep.mutable_retry()->set_max_crashes(30);
  sweep.mutable_retry()->set_max_losses(200);
  return sweep;
}

class Client {
 public:
  Client(const std::string& address, std::string name, const std::string& history, v1::ProgramUse program,
         std::uint64_t programs)
      : name_(std::move(name)),
        program_(std::move(program)),
        programs_(programs),
        stub_(v1::SweepService::NewStub(PlainChannel(address))) {
    Replay(history);
    fd_ = ::open(history.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }

  int Run() {
    while (ending == 0 || !unanswered_.empty()) {
      if (!unanswered_.empty()) {
        Submit(unanswered_.front());
        unanswered_.pop_front();
      } else if (open_.size() < kOpenSweepsMax) {
        unanswered_.push_back(name_ + "-" + std::to_string(++count_));
        Record("submit " + unanswered_.back());
      } else {
        CheckOne();
      }
    }
    return 0;
  }

 private:
  void Replay(const std::string& history) {
    std::ifstream in(history);
    std::map<std::string, bool> known;
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string verb, what, id;
      words >> verb >> what >> id;
      if (verb == "submit") known[what] = false, ++count_;
      if (verb == "acknowledged") known[what] = true;
    }
    for (const auto& [request, acknowledged] : known) {
      if (!acknowledged) unanswered_.push_back(request);
    }
  }

  void Record(const std::string& line) {
    const std::string text = line + "\n";
    if (::write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::_Exit(3);
  }

  // Repeats the call until it is answered or refused. A permanent refusal is a broken promise.
  template <typename Request, typename Response, typename Method>
  bool Call(Method method, const Request& request, Response* response, int tries_max) {
    for (int tries = 0; tries_max == 0 || tries < tries_max; ++tries) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
      const grpc::Status status = (*stub_.*method)(&context, request, response);
      if (status.ok()) return true;
      const grpc::StatusCode code = status.error_code();
      const bool may_pass = code == grpc::UNAVAILABLE || code == grpc::DEADLINE_EXCEEDED ||
                            code == grpc::RESOURCE_EXHAUSTED || code == grpc::CANCELLED;
      if (!may_pass) {
        Record("broken " + std::to_string(code) + " " + status.error_message());
        return false;
      }
      std::this_thread::sleep_for(kRetryDelay);
    }
    return false;
  }

  void Submit(const std::string& request_id) {
    v1::SubmitSweepRequest request;
    request.set_request_id(request_id);
    *request.mutable_sweep() = SpecOf(request_id, program_, programs_);
    v1::SubmitSweepResponse response;
    if (!Call(&v1::SweepService::Stub::SubmitSweep, request, &response, 0)) return;
    Record("acknowledged " + request_id + " " + response.sweep_id() + " " +
           std::to_string(response.trials()));
    open_.push_back({response.sweep_id(), 0});
    if (random_() % 3 == 0) {
      v1::SubmitSweepResponse again;
      if (Call(&v1::SweepService::Stub::SubmitSweep, request, &again, 5) &&
          again.sweep_id() != response.sweep_id())
        Record("broken " + request_id + " is " + response.sweep_id() + " and " + again.sweep_id());
    }
  }

  void CheckOne() {
    Sweep sweep = open_.front();
    open_.pop_front();
    v1::GetSweepRequest request;
    request.set_sweep(sweep.id);
    v1::SweepStatus status;
    if (Call(&v1::SweepService::Stub::GetSweep, request, &status, 5)) {
      if (status.state() != v1::ACTIVE) {
        Record("state " + sweep.id + " " + v1::SweepState_Name(status.state()));
        return RecordTrials(sweep.id);
      }
      if (random_() % 400 == 0) return CancelAndMaybeRetry(sweep.id);
    }
    if (++sweep.checks < 300) open_.push_back(sweep);  // Otherwise it is not checked any more.
    std::this_thread::sleep_for(kRetryDelay);
  }

  void RecordTrials(const std::string& id) {
    v1::ListTrialsRequest request;
    request.set_sweep(id);
    v1::ListTrialsResponse response;
    if (!Call(&v1::SweepService::Stub::ListTrials, request, &response, 5)) return;
    for (const v1::TrialStatus& trial : response.trials()) {
      if (trial.state() != v1::PENDING && trial.state() != v1::RUNNING)
        Record("trial " + trial.trial_id() + " " + id + " " + v1::TrialState_Name(trial.state()));
    }
  }

  void CancelAndMaybeRetry(const std::string& id) {
    Record("cancel " + id);
    v1::CancelRequest cancel;
    cancel.set_sweep(id);
    v1::CancelResponse cancelled;
    Call(&v1::SweepService::Stub::Cancel, cancel, &cancelled, 20);
    if (random_() % 2 == 0) return;
    Record("retry " + id);
    v1::RetryRequest retry;
    retry.set_sweep(id);
    v1::RetryResponse retried;
    if (Call(&v1::SweepService::Stub::Retry, retry, &retried, 20)) open_.push_back({id, 0});
  }

  const std::string name_;
  const v1::ProgramUse program_;
  const std::uint64_t programs_;
  const std::unique_ptr<v1::SweepService::Stub> stub_;
  int fd_ = -1;
  std::mt19937_64 random_{std::random_device()()};
  std::uint64_t count_ = 0;
  std::deque<std::string> unanswered_;
  std::deque<Sweep> open_;
};

int Main(int argc, char** argv) {
  const auto program = argc == 6 ? UseOfProgram(argv[4]) : absl::InvalidArgumentError("too few words");
  if (!program.ok()) {
    std::fprintf(stderr, "usage: chaos_client ADDRESS NAME HISTORY PROGRAM PERCENT: %s\n",
                 std::string(program.status().message()).c_str());
    return 2;
  }
  struct sigaction action = {};
  action.sa_handler = [](int) { ending = 1; };
  ::sigaction(SIGTERM, &action, nullptr);
  return Client(argv[1], argv[2], argv[3], *program, std::strtoull(argv[5], nullptr, 10)).Run();
}

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) { return inlier::Main(argc, argv); }
