// A whole worker but for its main(): agent, outbox and metrics over a temporary state folder, with fake_trial
// as its children and a fake coordinator to talk to. The io_context runs on a thread of the rig, which
// spawns the children.
#ifndef INLIER_TESTS_WORKER_WORKER_RIG_H_
#define INLIER_TESTS_WORKER_WORKER_RIG_H_

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "tests/support/temporary_folder.h"
#include "tests/worker/fake_coordinator.h"
#include "worker/agent.h"

namespace inlier {

struct RigSettings {
  std::uint32_t slots = 1;
  std::uint32_t slots_elsewhere = 0;  // Further ones, on a machine that `env` reaches: this one.
  std::string incarnation = "rig";
  std::size_t outbox_events_max = 100000;
  std::size_t line_bytes_max = 65536;
  Duration stop_grace = std::chrono::seconds(20);
  Duration killed_wait = Duration::zero();
  Duration artifact_wait = std::chrono::milliseconds(100);
  Duration hold = std::chrono::hours(1);
  std::string trial_program = INLIER_FAKE_TRIAL;
};

class WorkerRig {
 public:
  WorkerRig(const std::filesystem::path& state_dir, const std::string& coordinator,
            RigSettings settings = {});
  ~WorkerRig();  // Aborts when it still runs.

  // Writes the behaviour of the children that start from now on.
  void SetBehaviour(const std::string& behaviour);

  void Drain();
  void Abort();
  // The status with which the agent ended; DeadlineExceeded where it runs for another minute.
  absl::Status WaitForEnd();
  std::string MetricsText();
  // Waits until /metrics has `line`, at most a minute; whether it does.
  bool WaitForMetric(const std::string& line);
  const std::filesystem::path& state_dir() const { return state_dir_; }
  Outbox& outbox() { return *outbox_; }
  Agent& agent() { return *agent_; }

 private:
  template <typename Work>
  void OnThread(Work work);

  std::filesystem::path state_dir_;
  std::unique_ptr<Outbox> outbox_;
  WorkerMetrics metrics_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{io_.get_executor()};
  std::unique_ptr<Agent> agent_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<absl::Status> ended_;
  std::thread thread_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_WORKER_WORKER_RIG_H_
