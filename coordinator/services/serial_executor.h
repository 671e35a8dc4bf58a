// Runs calls one after the other, in the order in which they arrive, on the thread that runs the io_context:
// the coordinator's thread, which alone touches its state.
//
// Thread safety: any thread.
#ifndef INLIER_COORDINATOR_SERVICES_SERIAL_EXECUTOR_H_
#define INLIER_COORDINATOR_SERVICES_SERIAL_EXECUTOR_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace inlier {

class SerialExecutor {
 public:
  // REQUIRES: at most one thread runs `io`. `io` outlives the executor.
  explicit SerialExecutor(boost::asio::io_context& io) : io_(io) {}

  // Runs `call` later, after every call posted before it.
  template <typename Call>
  void Post(Call call) {
    boost::asio::post(io_, std::move(call));
  }

  // As Post, but waits for `call` and returns its result. REQUIRES: not on the coordinator's thread, and
  // a thread runs `io`.
  template <typename Call>
  auto Run(Call call) {
    INLIER_CHECK(!io_.get_executor().running_in_this_thread());
    std::packaged_task<std::invoke_result_t<Call&>()> work(std::move(call));
    auto result = work.get_future();
    Post(std::move(work));
    return result.get();
  }

 private:
  boost::asio::io_context& io_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_SERIAL_EXECUTOR_H_
