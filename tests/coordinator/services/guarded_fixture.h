// A coordinator that checks its callers, by tokens or by certificates, and calls by any kind of caller.
#ifndef INLIER_TESTS_COORDINATOR_SERVICES_GUARDED_FIXTURE_H_
#define INLIER_TESTS_COORDINATOR_SERVICES_GUARDED_FIXTURE_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "inlier/v1/artifact_service.pb.h"
#include "rpc/credentials.h"
#include "tests/coordinator/services/fixture.h"
#include "tests/support/certificates.h"

namespace inlier {

// The services of the coordinator's port.
inline const std::vector<const google::protobuf::ServiceDescriptor*>& Services() {
  static const std::vector<const google::protobuf::ServiceDescriptor*> services = {
      v1::SubmitSweepRequest::descriptor()->file()->FindServiceByName("SweepService"),
      v1::WorkerSync::descriptor()->file()->FindServiceByName("WorkerService"),
      v1::DescribeStoreRequest::descriptor()->file()->FindServiceByName("ArtifactService")};
  return services;
}

class GuardedTest : public testing::Test {
 protected:
  GuardedTest() : certificates_(folder_.path(), "authority") {
    std::filesystem::create_directories(folder_.path() / "state");
    config_.set_state_dir((folder_.path() / "state").string());
    config_.set_listen("127.0.0.1:0");
    config_.set_http_listen("127.0.0.1:0");
    config_.set_query_program(INLIER_QUERY_PROGRAM);
  }

  // A token of this role, in the file.
  std::string AddToken(Role role, const std::string& name) {
    const std::string token = NewToken().value();
    entries_.push_back({role, name, Sha256Hex(token)});
    config_.set_tokens_file((folder_.path() / "tokens").string());
    WriteTokens();
    return token;
  }
  void WriteTokens() { EXPECT_TRUE(WriteTokensFile(config_.tokens_file(), entries_).ok()); }
  void UseMutualTls() {
    certificates_.Issue("coordinator");
    config_.set_tls_certificate(certificates_.Pem("coordinator"));
    config_.set_tls_key(certificates_.Key("coordinator"));
    config_.set_tls_client_ca(certificates_.Pem("authority"));
  }
  ClientSecurity Certified(const std::string& name) {
    certificates_.Issue(name);
    ClientSecurity security;
    security.tls_ca = certificates_.Pem("authority");
    security.tls_certificate = certificates_.Pem(name);
    security.tls_key = certificates_.Key(name);
    return security;
  }
  static ClientSecurity WithToken(const std::string& token) {
    ClientSecurity security;
    security.token = token;
    return security;
  }

  void Start() { coordinator_ = StartedCoordinator(config_); }
  // Why it does not start.
  std::string Refusal() {
    const auto started = Coordinator::Start(config_, [](absl::Status) {});
    return started.ok() ? "started" : std::string(started.status().message());
  }

  std::shared_ptr<grpc::Channel> Channel(const ClientSecurity& security) {
    return MakeSecureChannel(coordinator_->grpc_address(), security).value();
  }

  static grpc::Status List(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::ListSweepsResponse response;
    return v1::SweepService::NewStub(channel)->ListSweeps(&context, {}, &response);
  }
  static grpc::Status Submit(const std::shared_ptr<grpc::Channel>& channel,
                             const v1::SweepSpec& sweep = SmallSweep("guarded", 1)) {
    v1::SubmitSweepRequest request;
    *request.mutable_sweep() = sweep;
    v1::SubmitSweepResponse response;
    grpc::ClientContext context;
    return v1::SweepService::NewStub(channel)->SubmitSweep(&context, request, &response);
  }
  static grpc::Status Sync(const std::shared_ptr<grpc::Channel>& channel, HandWorker& worker) {
    worker.fields().set_version(Version());
    v1::CoordinatorSync reply;
    grpc::ClientContext context;
    const grpc::Status status = v1::WorkerService::NewStub(channel)->Sync(&context, worker.Sync(), &reply);
    if (status.ok()) worker.Take(reply);
    return status;
  }

  // Sends `message` to `method`, as a client does that knows nothing of us: OK when there is an answer, of a
  // stream too.
  static grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel,
                              const google::protobuf::MethodDescriptor& method, const std::string& message) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    grpc::CompletionQueue queue;
    void* tag = nullptr;
    bool ok = false;
    auto call = stub.PrepareCall(&context, "/" + method.service()->full_name() + "/" + method.name(), &queue);
    call->StartCall(nullptr);
    queue.Next(&tag, &ok);
    const grpc::Slice bytes(message);
    if (ok) {
      call->WriteLast(grpc::ByteBuffer(&bytes, 1), grpc::WriteOptions(), nullptr);
      queue.Next(&tag, &ok);
    }
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    queue.Next(&tag, &ok);
    const bool answered = ok;
    if (answered) context.TryCancel();
    grpc::Status status;
    call->Finish(&status, nullptr);
    queue.Next(&tag, &ok);
    return answered ? grpc::Status::OK : status;
  }

  TemporaryFolder folder_;
  Certificates certificates_;
  v1::CoordinatorConfig config_;
  std::vector<TokenEntry> entries_;
  std::unique_ptr<Coordinator> coordinator_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_SERVICES_GUARDED_FIXTURE_H_
