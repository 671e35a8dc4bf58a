// Calls run one at a time, in their order, on the thread of the io_context.
#include "coordinator/services/serial_executor.h"

#include <boost/asio/executor_work_guard.hpp>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SerialExecutorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    thread_ = std::thread([this] { io_.run(); });
  }
  void TearDown() override {
    work_.reset();
    thread_.join();
  }

  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
  SerialExecutor executor_{io_};
  std::thread thread_;
};

TEST_F(SerialExecutorTest, PostedCallsRunLaterInTheirOrder) {
  boost::asio::io_context io;
  SerialExecutor executor(io);
  std::vector<int> ran;
  executor.Post([&] {
    executor.Post([&] { ran.push_back(3); });
    ran.push_back(1);
  });
  executor.Post([&] { ran.push_back(2); });
  EXPECT_THAT(ran, IsEmpty());
  io.run();
  EXPECT_THAT(ran, ElementsAre(1, 2, 3));
}

TEST_F(SerialExecutorTest, RunReturnsTheResultFromTheCoordinatorsThread) {
  const std::thread::id thread = executor_.Run([] { return std::this_thread::get_id(); });
  EXPECT_EQ(thread, thread_.get_id());
  EXPECT_EQ(executor_.Run([] { return std::string("seven"); }), "seven");
}

TEST_F(SerialExecutorTest, NoTwoCallsRunAtOnceAndNoneIsLost) {
  constexpr int kCalls = 20'000;
  int inside = 0, ran = 0, together = 0;  // Guarded by the executor alone.
  const auto call = [&] {
    if (++inside != 1) ++together;
    ++ran;
    --inside;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < kCalls; ++k) {
        if (i == 0 && k % 100 == 0) {
          executor_.Run(call);
        } else {
          executor_.Post(call);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  executor_.Run([] {});
  EXPECT_EQ(ran, 3 * kCalls);
  EXPECT_EQ(together, 0);
}

}  // namespace
}  // namespace inlier
