// A standby on a real folder: it shows that it waits, gets the folder when the other coordinator ends, and loses nothing.
#include "coordinator/process/standby.h"

#include <filesystem>
#include <thread>

#include "tests/coordinator/services/fixture.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr auto kPatience = std::chrono::seconds(30);

class StandbyTest : public CoordinatorTest {
 protected:
  // A standby with a thread of its own, until it has the folder or the test ends.
  class Waiting {
   public:
    explicit Waiting(const v1::CoordinatorConfig& config)
        : standby_(io_, config,
                   [this](absl::StatusOr<FileLock> taken) { taken_.set_value(std::move(taken)); }) {
      status_ = standby_.Start();
      thread_ = std::thread([this] { io_.run(); });
    }
    ~Waiting() {
      io_.stop();
      thread_.join();
    }
    const absl::Status& status() const { return status_; }
    const std::string& http() const { return standby_.http_address(); }
    bool HasTaken(std::chrono::milliseconds within) {
      return future_.wait_for(within) == std::future_status::ready;
    }
    absl::StatusOr<FileLock> Take() { return future_.get(); }

   private:
    std::promise<absl::StatusOr<FileLock>> taken_;
    std::future<absl::StatusOr<FileLock>> future_ = taken_.get_future();
    boost::asio::io_context io_;
    Standby standby_;
    absl::Status status_;
    std::thread thread_;
  };
};

TEST_F(StandbyTest, ItShowsThatItWaitsAndTakesNothingWhileTheOtherWorks) {
  Waiting standby(Config());
  ASSERT_TRUE(standby.status().ok()) << standby.status();
  EXPECT_THAT(HttpGet(standby.http(), "/readyz"), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("standby")));
  EXPECT_THAT(HttpGet(standby.http(), "/healthz"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("standby")));
  EXPECT_THAT(HttpGet(standby.http(), "/metrics"),
              AllOf(HasSubstr("\ninlier_standby 1\n"), Not(HasSubstr("inlier_slots"))));
  EXPECT_THAT(HttpGet(coordinator_->http_address(), "/metrics"), HasSubstr("\ninlier_standby 0\n"));
  EXPECT_FALSE(standby.HasTaken(2 * std::chrono::duration_cast<std::chrono::milliseconds>(Standby::kPeriod)));
}

TEST_F(StandbyTest, ItTakesOverOnTheSamePortsWithAllThatWasAcknowledged) {
  const std::string sweep = Submit(SmallSweep("kept", 2)).sweep_id();
  HandWorker worker = MakeWorker("w", 1);
  RunAll(worker);
  v1::CoordinatorConfig config = Config();
  config.set_listen(coordinator_->grpc_address());  // In use until the other one ends.
  config.set_http_listen(coordinator_->http_address());
  Waiting standby(config);
  ASSERT_TRUE(standby.status().ok()) << standby.status();
  EXPECT_EQ(standby.http(), "");
  coordinator_.reset();
  ASSERT_TRUE(standby.HasTaken(kPatience));
  FileLock lock = standby.Take().value();

  // A third one cannot take the folder in between.
  EXPECT_EQ(Coordinator::Start(Config(), [](absl::Status) {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  StartCoordinator(config, Coordinator::Mode::kRun, std::move(lock));
  EXPECT_EQ(coordinator_->grpc_address(), config.listen());
  EXPECT_EQ(GetSweep(sweep).trials().succeeded(), 2u);
}

TEST_F(StandbyTest, AFolderWithoutADatabaseIsWaitedForAndNotMade) {
  const TemporaryFolder disk;
  v1::CoordinatorConfig config = Config();
  config.set_state_dir((disk.path() / "state").string());
  Waiting standby(config);
  ASSERT_TRUE(standby.status().ok()) << standby.status();
  EXPECT_FALSE(standby.HasTaken(2 * std::chrono::duration_cast<std::chrono::milliseconds>(Standby::kPeriod)));
  EXPECT_FALSE(std::filesystem::exists(disk.path() / "state"));

  // The disk is mounted.
  coordinator_.reset();
  std::filesystem::rename(folder_.path(), disk.path() / "state");
  EXPECT_TRUE(standby.HasTaken(kPatience));
  EXPECT_TRUE(standby.Take().ok());
}

TEST_F(StandbyTest, AWrongConfigurationIsFoundBeforeATakeover) {
  EXPECT_TRUE(Coordinator::Check(Config()).ok());
  v1::CoordinatorConfig config = Config();
  config.set_listen("0.0.0.0:0");
  absl::Status status = Coordinator::Check(config);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("listen")));
  config = Config();
  config.mutable_s3()->set_endpoint("https://s3.example.org");
  config.mutable_s3()->set_bucket("models");
  config.mutable_s3()->set_region("r");
  config.mutable_s3()->set_credentials_file("/nowhere/credentials");
  EXPECT_THAT(std::string(Coordinator::Check(config).message()), HasSubstr("/nowhere/credentials"));
  config = Config();
  config.set_tls_certificate("/nowhere/certificate.pem");
  config.set_tls_key("/nowhere/key.pem");
  EXPECT_THAT(std::string(Coordinator::Check(config).message()), HasSubstr("tls_certificate"));
  config = Config();
  config.set_http_listen("nowhere");
  Waiting standby(config);
  EXPECT_EQ(standby.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace inlier
