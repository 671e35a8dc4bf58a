// The cost of mutual TLS: syncs a second over loopback, by sessions and by single calls, plain and encrypted
// in turn. Run by hand: tls_bench [seconds a measurement].
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/coordinator/services/fixture.h"
#include "tests/support/certificates.h"

namespace inlier {
namespace {

constexpr int kWorkers = 8;

class Bench {
 public:
  Bench(bool secure, double seconds) : seconds_(seconds), certificates_(folder_.path(), "authority") {
    std::filesystem::create_directories(folder_.path() / "state");
    config_.set_state_dir((folder_.path() / "state").string());
    config_.set_listen("127.0.0.1:0");
    config_.set_http_listen("127.0.0.1:0");
    config_.set_requests_per_second_max(1'000'000'000);
    if (!secure) return;
    certificates_.Issue("coordinator");
    certificates_.Issue("worker");
    config_.set_tls_certificate(certificates_.Pem("coordinator"));
    config_.set_tls_key(certificates_.Key("coordinator"));
    config_.set_tls_client_ca(certificates_.Pem("authority"));
    security_.tls_ca = certificates_.Pem("authority");
    security_.tls_certificate = certificates_.Pem("worker");
    security_.tls_key = certificates_.Key("worker");
  }

  // Syncs a second of kWorkers at once, each waiting for its answer.
  double Run(bool unary) {
    auto coordinator = Coordinator::Start(config_, [](absl::Status) { std::abort(); });
    if (!coordinator.ok()) {
      std::fprintf(stderr, "%s\n", coordinator.status().ToString().c_str());
      std::exit(1);
    }
    std::atomic<bool> stop = false;
    std::atomic<std::uint64_t> answered = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kWorkers; ++i) {
      threads.emplace_back([&, i] {
        const auto stub =
            v1::WorkerService::NewStub(*MakeSecureChannel((*coordinator)->grpc_address(), security_));
        HandWorker worker("w-" + std::to_string(i), 1);
        worker.fields().set_version(Version());
        v1::CoordinatorSync reply;
        grpc::ClientContext context;
        auto session = unary ? nullptr : stub->Session(&context);
        while (!stop) {
          grpc::ClientContext single;
          const bool ok = unary ? stub->Sync(&single, worker.Sync(), &reply).ok()
                                : session->Write(worker.Sync()) && session->Read(&reply);
          if (!ok) std::abort();
          ++answered;
        }
        if (session != nullptr) context.TryCancel();
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // Connections are made.
    const std::uint64_t before = answered;
    const Timestamp started = MonotonicNow();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
    const double rate = static_cast<double>(answered - before) / ToSeconds(MonotonicNow() - started);
    stop = true;
    for (std::thread& thread : threads) thread.join();
    return rate;
  }

 private:
  const double seconds_;
  TemporaryFolder folder_;
  Certificates certificates_;
  v1::CoordinatorConfig config_;
  ClientSecurity security_;
};

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  inlier::Bench plain(false, seconds), secure(true, seconds);
  for (const bool unary : {false, true}) {
    double sums[2] = {0, 0};
    for (int round = 0; round < 3; ++round) {
      sums[0] += plain.Run(unary);
      sums[1] += secure.Run(unary);
    }
    std::printf("%s: plain %.0f/s, mutual TLS %.0f/s, ratio %.2f\n", unary ? "single calls" : "sessions",
                sums[0] / 3, sums[1] / 3, sums[1] / sums[0]);
  }
  return 0;
}
