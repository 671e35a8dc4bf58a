// The real daemon with tokens and mutual TLS, and every kind of caller that it must refuse.
#include "coordinator/services/access.h"

#include <chrono>
#include <fstream>

#include "base/files/file_lock.h"
#include "rpc/endpoint_file.h"
#include "tests/coordinator/services/guarded_fixture.h"
#include "tests/support/plain_channel.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class AccessTest : public GuardedTest {
 protected:
  static grpc::Status SyncOf(const std::shared_ptr<grpc::Channel>& channel, const std::string& incarnation) {
    HandWorker worker(incarnation, 1);
    return Sync(channel, worker);
  }
};

// The port that an endpoint file names may be another coordinator's now, and the folder a copy.
TEST_F(AccessTest, ACallForAnotherDatabaseIsRefusedBeforeItChangesAnything) {
  Start();
  const auto endpoint = ReadEndpointFile(config_.state_dir()).value();
  EXPECT_EQ(endpoint.lock_inode(), InodeOf(StateLockPath(config_.state_dir())));
  ClientSecurity security;
  security.database_id = "another";
  EXPECT_THAT(Submit(Channel(security)), FailsWith(grpc::StatusCode::UNAVAILABLE,
                                                   HasSubstr("has the database of another state folder")));
  security.database_id = endpoint.database_id();
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
      EXPECT_THAT(CallRaw(forger, method, ""),
                  FailsWith(grpc::StatusCode::UNAUTHENTICATED,
                            AllOf(HasSubstr("does not know the token"), Not(HasSubstr("000000")))))
          << method.full_name();
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
  EXPECT_TRUE(SyncOf(Channel(WithToken(work)), "w").ok());
  const grpc::Status reader_submits = Submit(Channel(WithToken(read)));
  EXPECT_EQ(reader_submits.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(reader_submits.error_message(),
            "this needs the role submit, and the token of reader has the role read; use a token with "
            "that role "
            "(`inlier token add --role submit`)");
  EXPECT_EQ(List(Channel(WithToken(work))).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(SyncOf(Channel(WithToken(submit)), "w").error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(AccessTest, AnotherWorkersCredentialsCannotSpeakForAnIncarnation) {
  const std::string one = AddToken(Role::kWork, "worker-1"), two = AddToken(Role::kWork, "worker-2"),
                    alice = AddToken(Role::kSubmit, "alice");
  Start();
  ASSERT_TRUE(Submit(Channel(WithToken(alice))).ok());
  HandWorker worker("incarnation-1", 1);
  ASSERT_TRUE(Sync(Channel(WithToken(one)), worker).ok());
  const Token token = OnlyToken(worker);
  // The other worker knows incarnation and token, and is still refused on both transports.
  HandWorker thief = worker;
  thief.Finish(token);
  EXPECT_THAT(Sync(Channel(WithToken(two)), thief),
              FailsWith(grpc::StatusCode::PERMISSION_DENIED, HasSubstr("does not belong to worker-2")));
  grpc::ClientContext context;
  const auto other = v1::WorkerService::NewStub(Channel(WithToken(two)));
  auto session = other->Session(&context);
  session->Write(thief.Sync());
  v1::CoordinatorSync stolen;
  EXPECT_FALSE(session->Read(&stolen));
  EXPECT_EQ(session->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  // The stage still runs, and its own worker ends it.
  worker.Finish(token);
  ASSERT_TRUE(Sync(Channel(WithToken(one)), worker).ok());
  EXPECT_TRUE(worker.outbox().empty());
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
  const auto plain = PlainChannel(coordinator_->grpc_address());
  const auto list = [&plain](const std::string& version) {
    grpc::ClientContext context;
    context.AddMetadata(kVersionHeader, version);
    v1::ListSweepsResponse response;
    return v1::SweepService::NewStub(plain)->ListSweeps(&context, {}, &response);
  };
  for (const std::string version : {"99.0.0", "no version"}) {
    EXPECT_THAT(list(version), FailsWith(grpc::StatusCode::FAILED_PRECONDITION,
                                         HasSubstr("the caller is inlier " + version +
                                                   " and this coordinator inlier " + Version())));
  }
  // A patch of the same minor release.
  EXPECT_TRUE(list(Version().substr(0, Version().rfind('.')) + ".987").ok());
  EXPECT_TRUE(List(Channel({})).ok());  // Sends its version, ours.
  EXPECT_TRUE(List(plain).ok());        // Sends none: a client that is not ours.
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
    EXPECT_THAT(status, FailsWith(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                  AllOf(HasSubstr("more than 2 calls a second"), HasSubstr("try again in"))));
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
  EXPECT_THAT(v1::SweepService::NewStub(Channel({}))->Query(&context, request, &response),
              FailsWith(grpc::StatusCode::RESOURCE_EXHAUSTED, HasSubstr("65536")));
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
  EXPECT_TRUE(SyncOf(Channel(Certified("worker-1")), "w").ok());
  EXPECT_THAT(SyncOf(Channel(Certified("worker-2")), "w"),
              FailsWith(grpc::StatusCode::PERMISSION_DENIED, HasSubstr("does not belong to worker-2")));
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
  EXPECT_THAT(MakeChannelCredentials(security, "127.0.0.1:7420"),
              StatusIs(absl::StatusCode::kInvalidArgument, Not(HasSubstr("forged"))));
}

TEST(CredentialsTest, TokenGoesInPlainTextToThisMachineOnly) {
  ClientSecurity security;
  security.token = "inlier_x";
  EXPECT_TRUE(MakeChannelCredentials(security, "127.0.0.1:7420").ok());
  EXPECT_TRUE(MakeChannelCredentials(security, "[::1]:7420").ok());
  EXPECT_THAT(MakeChannelCredentials(security, "192.0.2.1:7420"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("plain text"), Not(HasSubstr("inlier_x")))));
  security.insecure = true;
  EXPECT_TRUE(MakeChannelCredentials(security, "192.0.2.1:7420").ok());
}

}  // namespace
}  // namespace inlier
