// The real daemon with tokens and mutual TLS, and every kind of caller that it must refuse.
#include "coordinator/services/access.h"

#include <chrono>
#include <fstream>

#include "base/files/file_lock.h"
#include "rpc/endpoint_file.h"
#include "tests/coordinator/services/guarded_fixture.h"
#include "tests/support/plain_channel.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class AccessTest : public GuardedTest {
 protected:
  grpc::Status List(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::ListSweepsResponse response;
    return v1::SweepService::NewStub(channel)->ListSweeps(&context, {}, &response);
  }
  grpc::Status Submit(const std::shared_ptr<grpc::Channel>& channel) {
    v1::SubmitSweepRequest request;
    *request.mutable_sweep() = SmallSweep("guarded", 1);
    v1::SubmitSweepResponse response;
    grpc::ClientContext context;
    return v1::SweepService::NewStub(channel)->SubmitSweep(&context, request, &response);
  }
  grpc::Status Sync(const std::shared_ptr<grpc::Channel>& channel, const std::string& incarnation) {
    HandWorker worker(incarnation, 1);
    worker.fields().set_version(Version());
    v1::CoordinatorSync reply;
    grpc::ClientContext context;
    return v1::WorkerService::NewStub(channel)->Sync(&context, worker.Sync(), &reply);
  }
};

// The port that an endpoint file names may be another coordinator's now, and the folder a copy.
TEST_F(AccessTest, ACallForAnotherDatabaseIsRefusedBeforeItChangesAnything) {
  Start();
  const auto endpoint = ReadEndpointFile(config_.state_dir());
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  EXPECT_EQ(endpoint->lock_inode(), InodeOf(StateLockPath(config_.state_dir())));
  ClientSecurity security;
  security.database_id = "another";
  const grpc::Status refused = Submit(Channel(security));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.error_message(), HasSubstr("has the database of another state folder"));
  security.database_id = endpoint->database_id();
  EXPECT_TRUE(Submit(Channel(security)).ok());
}

TEST_F(AccessTest, EveryRpcIsRefusedWithoutATokenAndWithAWrongOne) {
  AddToken(Role::kSubmit, "alice");
  Start();
  const auto stranger = Channel({});
  const auto forger = Channel(WithToken("inlier_" + std::string(64, '0')));
  for (const auto* service : Services()) {
    for (int i = 0; i < service->method_count(); ++i) {
      const google::protobuf::MethodDescriptor& method = *service->method(i);
      const grpc::Status without = CallRaw(stranger, method, "");
      EXPECT_EQ(without.error_code(), grpc::StatusCode::UNAUTHENTICATED)
          << method.full_name() << " answered " << without.error_message()
          << "; every method enters through the Door, which admits its calls";
      EXPECT_THAT(without.error_message(), HasSubstr("--token-file"));
      const grpc::Status wrong = CallRaw(forger, method, "");
      EXPECT_EQ(wrong.error_code(), grpc::StatusCode::UNAUTHENTICATED) << method.full_name();
      EXPECT_THAT(wrong.error_message(),
                  AllOf(HasSubstr("does not know the token"), Not(HasSubstr("000000"))));
    }
  }
}

TEST_F(AccessTest, EachRoleMakesItsOwnCallsAndARefusalNamesTheMissingRole) {
  const std::string read = AddToken(Role::kRead, "reader"), submit = AddToken(Role::kSubmit, "alice"),
                    work = AddToken(Role::kWork, "worker-1");
  Start();
  EXPECT_TRUE(List(Channel(WithToken(read))).ok());
  EXPECT_TRUE(List(Channel(WithToken(submit))).ok());  // Submit includes read.
  EXPECT_TRUE(Submit(Channel(WithToken(submit))).ok());
  EXPECT_TRUE(Sync(Channel(WithToken(work)), "w").ok());
  const grpc::Status reader_submits = Submit(Channel(WithToken(read)));
  EXPECT_EQ(reader_submits.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(reader_submits.error_message(),
            "SubmitSweep needs the role submit, and the token of reader has the role read; use a token with "
            "that role "
            "(`inlier token add --role submit`)");
  EXPECT_EQ(List(Channel(WithToken(work))).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Sync(Channel(WithToken(submit)), "w").error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(AccessTest, AnotherWorkersCredentialsCannotSpeakForAnIncarnation) {
  const std::string one = AddToken(Role::kWork, "worker-1"), two = AddToken(Role::kWork, "worker-2"),
                    alice = AddToken(Role::kSubmit, "alice");
  Start();
  ASSERT_TRUE(Submit(Channel(WithToken(alice))).ok());
  HandWorker worker("incarnation-1", 1);
  worker.fields().set_version(Version());
  const auto stub = v1::WorkerService::NewStub(Channel(WithToken(one)));
  v1::CoordinatorSync reply;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(stub->Sync(&context, worker.Sync(), &reply).ok());
  }
  ASSERT_EQ(reply.desired_size(), 1);
  worker.Take(reply);
  // The other worker knows incarnation and token, and is still refused on both transports.
  HandWorker thief("incarnation-1", 1);
  thief.fields().set_version(Version());
  thief.Take(reply);
  thief.Finish(reply.desired(0).token());
  const auto other = v1::WorkerService::NewStub(Channel(WithToken(two)));
  v1::CoordinatorSync stolen;
  grpc::ClientContext unary_context;
  const grpc::Status unary = other->Sync(&unary_context, thief.Sync(), &stolen);
  EXPECT_EQ(unary.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(unary.error_message(), HasSubstr("does not belong to worker-2"));
  grpc::ClientContext stream_context;
  auto session = other->Session(&stream_context);
  session->Write(thief.Sync());
  EXPECT_FALSE(session->Read(&stolen));
  EXPECT_EQ(session->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  // The stage still runs, and its own worker ends it.
  worker.Finish(reply.desired(0).token());
  grpc::ClientContext context;
  ASSERT_TRUE(stub->Sync(&context, worker.Sync(), &reply).ok());
  EXPECT_EQ(reply.acknowledged_sequence(), 2u);
}

TEST_F(AccessTest, RemovedTokenEndsAnOpenSessionAndAnAddedOneIsTaken) {
  const std::string work = AddToken(Role::kWork, "worker-1");
  Start();
  HandWorker worker("w", 1);
  worker.fields().set_version(Version());
  const auto channel = Channel(WithToken(work));
  const auto stub = v1::WorkerService::NewStub(channel);
  grpc::ClientContext context;
  auto session = stub->Session(&context);
  v1::CoordinatorSync reply;
  ASSERT_TRUE(session->Write(worker.Sync()));
  ASSERT_TRUE(session->Read(&reply));
  entries_.clear();
  const std::string read = AddToken(Role::kRead, "reader");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (session->Write(worker.Sync()) && session->Read(&reply))
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the session continues without its token";
  EXPECT_EQ(session->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(List(Channel(WithToken(read))).ok());
}

TEST_F(AccessTest, CallerOfAnotherVersionIsRefusedWithBothVersions) {
  Start();
  for (const std::string version : {"99.0.0", "no version"}) {
    grpc::ClientContext context;
    context.AddMetadata(kVersionHeader, version);
    v1::ListSweepsResponse response;
    const auto stub = v1::SweepService::NewStub(PlainChannel(coordinator_->grpc_address()));
    const grpc::Status status = stub->ListSweeps(&context, {}, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(),
                HasSubstr("the caller is inlier " + version + " and this coordinator inlier " + Version()));
  }
  // A patch of the same minor release.
  grpc::ClientContext context;
  context.AddMetadata(kVersionHeader, Version().substr(0, Version().rfind('.')) + ".987");
  v1::ListSweepsResponse response;
  const auto stub = v1::SweepService::NewStub(PlainChannel(coordinator_->grpc_address()));
  EXPECT_TRUE(stub->ListSweeps(&context, {}, &response).ok());
  EXPECT_TRUE(List(Channel({})).ok());  // Sends its version, ours.
  EXPECT_TRUE(
      List(PlainChannel(coordinator_->grpc_address())).ok());  // Sends none: a client that is not ours.
}

TEST_F(AccessTest, TooManyCallsASecondAreRefusedWithTheTimeToWait) {
  config_.set_requests_per_second_max(2);
  Start();
  const auto channel = Channel({});
  const auto stub = v1::SweepService::NewStub(channel);
  for (int i = 0; i < 1000; ++i) {
    grpc::ClientContext context;
    v1::ListSweepsResponse response;
    const grpc::Status status = stub->ListSweeps(&context, {}, &response);
    if (status.ok()) continue;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(),
                AllOf(HasSubstr("more than 2 calls a second"), HasSubstr("try again in")));
    EXPECT_EQ(context.GetServerTrailingMetadata().count("inlier-retry-after-ms"), 1u);
    return;
  }
  FAIL() << "a thousand calls in a row were all taken";
}

TEST_F(AccessTest, MessageAboveTheLimitIsRefusedWithBothSizes) {
  config_.set_message_bytes_max(65536);
  Start();
  v1::QueryRequest request;
  request.set_sql("SELECT '" + std::string(100000, 'x') + "'");
  v1::QueryResponse response;
  grpc::ClientContext context;
  const grpc::Status status = v1::SweepService::NewStub(Channel({}))->Query(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("65536"));
}

TEST_F(AccessTest, MutualTlsAdmitsOnlyCertificatesOfTheAuthority) {
  UseMutualTls();
  Start();
  EXPECT_TRUE(List(Channel(Certified("alice"))).ok());
  EXPECT_TRUE(Submit(Channel(Certified("alice"))).ok());
  // In plain text; with TLS and no certificate; with one of another authority.
  EXPECT_EQ(List(Channel({})).error_code(), grpc::StatusCode::UNAVAILABLE);
  ClientSecurity bare;
  bare.tls_ca = certificates_.Pem("authority");
  EXPECT_EQ(List(Channel(bare)).error_code(), grpc::StatusCode::UNAVAILABLE);
  const TemporaryFolder elsewhere;
  const Certificates foreign(elsewhere.path(), "foreigner");
  foreign.Issue("mallory");
  ClientSecurity other = bare;
  other.tls_certificate = foreign.Pem("mallory");
  other.tls_key = foreign.Key("mallory");
  EXPECT_EQ(List(Channel(other)).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(AccessTest, ExpiredCertificateIsRefusedByTheClientWithItsDateAndByTheServerAnyway) {
  UseMutualTls();
  Start();
  certificates_.Issue("late", -1);
  ClientSecurity security;
  security.tls_ca = certificates_.Pem("authority");
  security.tls_certificate = certificates_.Pem("late");
  security.tls_key = certificates_.Key("late");
  const auto channel = MakeSecureChannel(coordinator_->grpc_address(), security);
  ASSERT_FALSE(channel.ok());
  EXPECT_THAT(std::string(channel.status().message()),
              AllOf(HasSubstr("tls_certificate: " + security.tls_certificate + " expired on "),
                    HasSubstr("have a new one issued")));
  // A client that does not look shows it to the server.
  const auto read = [](const std::string& file) {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  grpc::SslCredentialsOptions options{read(security.tls_ca), read(security.tls_key),
                                      read(security.tls_certificate)};
  const auto careless = grpc::CreateChannel(coordinator_->grpc_address(), grpc::SslCredentials(options));
  EXPECT_EQ(List(careless).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(AccessTest, WithMutualTlsAWorkersCertificateCannotSpeakForAnother) {
  UseMutualTls();
  Start();
  EXPECT_TRUE(Sync(Channel(Certified("worker-1")), "w").ok());
  const grpc::Status other = Sync(Channel(Certified("worker-2")), "w");
  EXPECT_EQ(other.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(other.error_message(), HasSubstr("does not belong to worker-2"));
}

TEST_F(AccessTest, OtherMachinesAreServedOnlyWithTlsAndACheckOfTheCaller) {
  config_.set_listen("0.0.0.0:0");
  EXPECT_THAT(
      Refusal(),
      AllOf(HasSubstr("listen: 0.0.0.0:0 can be reached from other machines, and there is neither TLS "
                      "nor a check of callers"),
            HasSubstr("insecure: true")));
  AddToken(Role::kRead, "reader");
  EXPECT_THAT(Refusal(), HasSubstr("no TLS, so tokens could be read on the network"));
  config_.clear_tokens_file();
  UseMutualTls();
  config_.clear_tls_client_ca();
  EXPECT_THAT(Refusal(), HasSubstr("no check of callers"));
  config_.set_tls_client_ca(certificates_.Pem("authority"));
  EXPECT_EQ(Refusal(), "started");
}

TEST_F(AccessTest, HttpForOtherMachinesNeedsTheSame) {
  config_.set_http_listen("0.0.0.0:0");
  EXPECT_THAT(Refusal(), HasSubstr("http_listen: 0.0.0.0:0 can be reached"));
  config_.set_insecure(true);
  EXPECT_EQ(Refusal(), "started");
}

TEST_F(AccessTest, RefusedStartLeavesNoDatabaseBehind) {
  config_.set_listen("0.0.0.0:0");
  EXPECT_NE(Refusal(), "started");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "state" / "inlier.db"));
}

TEST_F(AccessTest, TlsFilesThatAreNoGoodAreNamedWithTheRemedy) {
  UseMutualTls();
  const v1::CoordinatorConfig good = config_;
  config_.set_tls_certificate("/no/such.pem");
  EXPECT_THAT(Refusal(),
              AllOf(HasSubstr("tls_certificate: cannot read /no/such.pem"), HasSubstr("name a PEM file")));
  config_ = good;
  config_.clear_tls_key();
  EXPECT_THAT(Refusal(), HasSubstr("tls_certificate is set without tls_key"));
  config_ = good;
  config_.set_tls_key(certificates_.Key("authority"));
  EXPECT_THAT(Refusal(), HasSubstr("is not the key of " + certificates_.Pem("coordinator")));
  config_ = good;
  config_.set_tls_certificate(certificates_.Key("coordinator"));
  EXPECT_THAT(Refusal(), HasSubstr("holds no certificate in PEM form"));
  config_ = good;
  certificates_.Issue("old", -1);
  config_.set_tls_certificate(certificates_.Pem("old"));
  config_.set_tls_key(certificates_.Key("old"));
  EXPECT_THAT(Refusal(), HasSubstr(certificates_.Pem("old") + " expired on "));
}

TEST_F(AccessTest, TokensFileThatIsNoGoodIsNamedWithItsLine) {
  AddToken(Role::kRead, "reader");
  std::ofstream(config_.tokens_file(), std::ios::app)
      << "# fine\n\nboss bob " << std::string(64, 'a') << "\n";
  EXPECT_THAT(Refusal(), HasSubstr("tokens:5: 'boss' is not a role; expected read, submit, work or admin"));
  std::filesystem::permissions(config_.tokens_file(), std::filesystem::perms(0666));
  EXPECT_THAT(Refusal(), HasSubstr("is writable by other users"));
  std::filesystem::remove(config_.tokens_file());
  EXPECT_THAT(Refusal(), HasSubstr("inlier token add"));
}

TEST(CredentialsTest, TokensAreRandomAndTheirFileHoldsNone) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "tokens").string();
  const std::string one = *NewToken(), two = *NewToken();
  EXPECT_NE(one, two);
  EXPECT_EQ(one.size(), 7u + 64u);
  ASSERT_TRUE(WriteTokensFile(file, {{Role::kWork, "w", Sha256Hex(one)}}).ok());
  std::ifstream in(file);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  EXPECT_THAT(text, AllOf(HasSubstr("work w " + Sha256Hex(one)), Not(HasSubstr(one.substr(7)))));
  EXPECT_FALSE(WriteTokensFile(file, {{Role::kWork, "two words", Sha256Hex(two)}}).ok());
}

TEST(CredentialsTest, TokenThatNoHeaderCanHoldIsRefusedWithoutBeingShown) {
  ClientSecurity security;
  security.token = "inlier_x\nforged: header";
  const absl::Status status = MakeChannelCredentials(security, "127.0.0.1:7420").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("forged")));
}

TEST(CredentialsTest, TokenGoesInPlainTextToThisMachineOnly) {
  ClientSecurity security;
  security.token = "inlier_x";
  EXPECT_TRUE(MakeChannelCredentials(security, "127.0.0.1:7420").ok());
  EXPECT_TRUE(MakeChannelCredentials(security, "[::1]:7420").ok());
  const absl::Status status = MakeChannelCredentials(security, "192.0.2.1:7420").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("plain text"), Not(HasSubstr("inlier_x"))));
  security.insecure = true;
  EXPECT_TRUE(MakeChannelCredentials(security, "192.0.2.1:7420").ok());
}

}  // namespace
}  // namespace inlier
