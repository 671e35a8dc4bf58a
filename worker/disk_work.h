// Work that waits for the disk: done on another thread, awaited on the io_context's thread. And how coroutines are started.
#ifndef INLIER_WORKER_DISK_WORK_H_
#define INLIER_WORKER_DISK_WORK_H_

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <functional>
#include <utility>

#include "absl/status/status.h"

namespace inlier {

// Starts `work`. An exception in it, out of memory or a bug, ends the process, whose attempts are leased again.
inline void StartWork(boost::asio::io_context& io, boost::asio::awaitable<void> work) {
  boost::asio::co_spawn(io, std::move(work), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
}

// Runs `work` on `pool`; the coroutine resumes on its own executor when it is done. The objects that `work`
// refers to must live until then.
inline boost::asio::awaitable<absl::Status> OnDisk(boost::asio::thread_pool& pool,
                                                   std::function<absl::Status()> work) {
  namespace asio = boost::asio;
  const auto initiate = [](auto handler, asio::thread_pool* where, std::function<absl::Status()> what) {
    auto guard = asio::make_work_guard(asio::get_associated_executor(handler));
    asio::post(*where,
               [handler = std::move(handler), guard = std::move(guard), what = std::move(what)]() mutable {
                 absl::Status status = what();
                 const auto executor = guard.get_executor();
                 asio::post(executor, [handler = std::move(handler), status = std::move(status)]() mutable {
                   std::move(handler)(std::move(status));
                 });
               });
  };
  return asio::async_initiate<const asio::use_awaitable_t<>, void(absl::Status)>(
      initiate, asio::use_awaitable, &pool, std::move(work));
}

}  // namespace inlier

#endif  // INLIER_WORKER_DISK_WORK_H_
