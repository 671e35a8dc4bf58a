// Digests of data that the coordinator asks for: `inlier-trial digest` computes them, one at a time, next to the
// attempts and outside of their slots.
//
// Level-triggered, like attempts: every answer of the coordinator lists all checks that it wants. Those are done once
// each, and their answers go with every sync until they are not wanted any more; others are abandoned. While a large
// file is read, the answer has in place of the digest how far that is, so that the coordinator does not time out.
//
// Thread safety: none; lives on the io_context's thread.
#ifndef INLIER_WORKER_DATA_CHECKER_H_
#define INLIER_WORKER_DATA_CHECKER_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "inlier/v1/worker_service.pb.h"
#include "worker/attempt_board.h"
#include "worker/processes/trial_process.h"
#include "worker/start_trouble.h"
#include "worker/supervisor.h"

namespace inlier {

class DataChecker {
 public:
  // All of it outlives the checker. `request_sync` is called when an answer is on the board.
  DataChecker(boost::asio::io_context& io, const AttemptSettings& settings, AttemptBoard& board,
              StartTrouble& start_trouble, std::function<void()> request_sync);
  // Kills the child that runs.
  ~DataChecker();
  DataChecker(const DataChecker&) = delete;
  DataChecker& operator=(const DataChecker&) = delete;

  void Want(const std::vector<v1::DataCheck>& checks);
  void Stop() { Want({}); }

 private:
  struct Job;

  void Next();
  boost::asio::awaitable<void> Run(std::shared_ptr<Job> job);
  void OnReading(std::uint64_t token, const std::string& how_far);
  void OnAnswer(const v1::DataChecked& answer);

  boost::asio::io_context& io_;
  const AttemptSettings& settings_;
  AttemptBoard& board_;
  StartTrouble& start_trouble_;
  std::function<void()> request_sync_;
  std::map<std::uint64_t, v1::DataCheck> wanted_;  // By token.
  std::map<std::uint64_t, v1::DataChecked> answers_;
  std::shared_ptr<Job> job_;  // The one that runs; null: none.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace inlier

#endif  // INLIER_WORKER_DATA_CHECKER_H_
