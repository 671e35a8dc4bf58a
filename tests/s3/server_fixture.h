// A real S3-compatible server for the tests of a program, started once; tests/support/s3_server.py runs it.
#ifndef INLIER_TESTS_S3_SERVER_FIXTURE_H_
#define INLIER_TESTS_S3_SERVER_FIXTURE_H_

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/check.h"
#include "s3/client.h"
#include "tests/support/temporary_folder.h"

namespace inlier {

class S3ServerProcess {
 public:
  S3ServerProcess() {
    std::array<int, 2> in{}, out{};
    INLIER_CHECK(::pipe(in.data()) == 0 && ::pipe(out.data()) == 0);
    const std::string folder = folder_ / "server";
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      for (const int fd : {in[0], in[1], out[0], out[1]}) ::close(fd);
      ::execlp("python3", "python3", "-B", INLIER_S3_SERVER_SCRIPT, folder.c_str(),
               static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    input_ = in[1];
    for (char c = 0; ::read(out[0], &c, 1) == 1 && c != '\n';) endpoint_ += c;
    ::close(out[0]);
    // The keys of s3_server.py.
    ::setenv("AWS_ACCESS_KEY_ID", "test-access", 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", "test-secret-of-no-value", 1);
  }
  ~S3ServerProcess() {
    ::close(input_);
    ::waitpid(pid_, nullptr, 0);
  }
  S3ServerProcess(const S3ServerProcess&) = delete;
  S3ServerProcess& operator=(const S3ServerProcess&) = delete;

  // Empty when it did not start.
  const std::string& endpoint() const { return endpoint_; }

  // A part of the one bucket of its own, for the test that runs.
  v1::S3Config Config() const {
    v1::S3Config config;
    config.set_endpoint(endpoint_);
    config.set_bucket("checkpoints");
    config.set_prefix(testing::UnitTest::GetInstance()->current_test_info()->name());
    config.set_part_mib(5);
    return config;
  }

 private:
  TemporaryFolder folder_;
  pid_t pid_ = -1;
  int input_ = -1;  // It ends when this is closed.
  std::string endpoint_;
};

class S3ServerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = std::make_unique<S3ServerProcess>(); }
  static void TearDownTestSuite() { server_.reset(); }
  void SetUp() override {
    ASSERT_NE(server_->endpoint(), "") << "the S3 server did not start";
    client_ = *S3Client::Make(server_->Config(), /*insecure=*/false);
  }

  inline static std::unique_ptr<S3ServerProcess> server_;
  TemporaryFolder folder_;
  std::unique_ptr<S3Client> client_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_S3_SERVER_FIXTURE_H_
