// Certificates, authorities and tokens that are renewed while connections are open, with files that `openssl`
// made.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "inlier/v1/worker_service.grpc.pb.h"
#include "rpc/private_file.h"
#include "rpc/renewed_channel.h"
#include "rpc/rpc.h"
#include "rpc/server_tls.h"
#include "tests/support/certificates.h"
#include "tests/support/comes.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// Answers with the token that the call shows, and on a stream for each sync.
class TokenEcho final : public v1::WorkerService::Service {
 public:
  grpc::Status Sync(grpc::ServerContext* context, const v1::WorkerSync*,
                    v1::CoordinatorSync* answer) override {
    const auto token = context->client_metadata().find(kTokenHeader);
    if (token != context->client_metadata().end())
      answer->add_stop()->set_reason(std::string(token->second.data(), token->second.size()));
    return grpc::Status::OK;
  }
  grpc::Status Session(grpc::ServerContext*,
                       grpc::ServerReaderWriter<v1::CoordinatorSync, v1::WorkerSync>* stream) override {
    v1::WorkerSync sync;
    while (stream->Read(&sync)) stream->Write(v1::CoordinatorSync());
    return grpc::Status::OK;
  }
};

class RenewalTest : public testing::Test {
 protected:
  RenewalTest() : old_(old_folder_.path(), "old"), new_(new_folder_.path(), "new") {
    for (const Certificates* authority : {&old_, &new_}) {
      authority->Issue("server");
      authority->Issue("client");
    }
  }

  static void Replace(const fs::path& from, const fs::path& to) {
    const fs::path part = to.string() + ".part";
    fs::copy_file(from, part, fs::copy_options::overwrite_existing);
    fs::permissions(part, fs::perms(0600));
    fs::rename(part, to);
  }
  void UseServerFilesOf(const Certificates& authority) {
    Replace(authority.Pem("server"), server_.path() / "server.pem");
    Replace(authority.Key("server"), server_.path() / "server.key");
  }
  std::string File(const std::string& name) const { return (server_.path() / name).string(); }
  void Start(bool mutual) {
    ServerTls tls{.certificate = File("server.pem"), .key = File("server.key")};
    if (mutual) tls.client_ca = File("clients.pem");
    listening_ = StartServer("127.0.0.1:0", "listen", {&service_}, {.tls = tls}).value();
  }
  // A client of its own that trusts `authority` and, for mutual TLS, has a certificate of `signer`.
  std::unique_ptr<v1::WorkerService::Stub> Client(const Certificates& authority, const std::string& name,
                                                  const Certificates* signer = nullptr) const {
    ClientSecurity security;
    security.tls_ca = authority.Pem(name);
    if (signer != nullptr) {
      security.tls_certificate = signer->Pem("client");
      security.tls_key = signer->Key("client");
    }
    const auto channel = MakeSecureChannel(listening_.address, security);
    EXPECT_TRUE(channel.ok()) << channel.status();
    return v1::WorkerService::NewStub(*channel);
  }
  static bool Works(v1::WorkerService::Stub& stub) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::CoordinatorSync answer;
    return stub.Sync(&context, v1::WorkerSync(), &answer).ok();
  }

  TemporaryFolder old_folder_, new_folder_, server_;
  const Certificates old_, new_;
  TokenEcho service_;
  ListeningServer listening_;
};

TEST_F(RenewalTest, NewConnectionsGetTheRenewedCertificateAndOpenStreamsGoOn) {
  UseServerFilesOf(old_);
  Start(/*mutual=*/false);
  const auto before = Client(old_, "old");
  grpc::ClientContext context;
  const auto stream = before->Session(&context);
  v1::CoordinatorSync answer;
  ASSERT_TRUE(stream->Write(v1::WorkerSync()) && stream->Read(&answer));
  UseServerFilesOf(new_);
  EXPECT_TRUE(Works(*Client(new_, "new")));
  EXPECT_FALSE(Works(*Client(old_, "old")));
  ASSERT_TRUE(stream->Write(v1::WorkerSync()) && stream->Read(&answer));
  // Files that are no good leave those of before in force: a key of another certificate, then no certificate
  // at all.
  Replace(old_.Key("server"), File("server.key"));
  EXPECT_TRUE(Works(*Client(new_, "new")));
  std::ofstream(File("server.pem")) << "nothing";
  EXPECT_TRUE(Works(*Client(new_, "new")));
  UseServerFilesOf(old_);
  EXPECT_TRUE(Works(*Client(old_, "old")));
  ASSERT_TRUE(stream->Write(v1::WorkerSync()) && stream->Read(&answer));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(RenewalTest, ARenewedAuthorityOfCallersIsAskedForNewConnections) {
  UseServerFilesOf(old_);
  Replace(old_.Pem("old"), File("clients.pem"));
  Start(/*mutual=*/true);
  const auto open = Client(old_, "old", &old_);
  EXPECT_TRUE(Works(*open));
  EXPECT_FALSE(Works(*Client(old_, "old", &new_)));
  Replace(new_.Pem("new"), File("clients.pem"));
  EXPECT_TRUE(Works(*Client(old_, "old", &new_)));
  EXPECT_FALSE(Works(*Client(old_, "old", &old_)));
  EXPECT_TRUE(Works(*open));  // Its connection is from before.
}

TEST_F(RenewalTest, ALongLivedClientTakesARenewedTokenAndCertificate) {
  UseServerFilesOf(old_);
  Start(/*mutual=*/false);
  ClientSecurity security;
  security.tls_ca = File("trusted.pem");
  security.token_file = File("token");
  Replace(old_.Pem("old"), File("trusted.pem"));
  const auto write_token = [&](const std::string& token) {
    std::ofstream(File("token")) << token << "\n";
    fs::permissions(File("token"), fs::perms(0600));
  };
  write_token("inlier_first");
  security.token = "inlier_first";
  RenewedChannel connection(listening_.address, security, kRpcMessageBytesMax);
  const auto shown = [&] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::CoordinatorSync answer;
    const auto stub = v1::WorkerService::NewStub(connection.Get());
    return stub->Sync(&context, v1::WorkerSync(), &answer).ok() && answer.stop_size() == 1
               ? answer.stop(0).reason()
               : std::string("none");
  };
  const auto comes_to_show = [&](const std::string& expected) {
    return Comes([&] { return shown() == expected; });
  };
  EXPECT_EQ(shown(), "Bearer inlier_first");
  write_token("inlier_second");
  EXPECT_TRUE(comes_to_show("Bearer inlier_second"));
  // Both sides move to another authority.
  UseServerFilesOf(new_);
  Replace(new_.Pem("new"), File("trusted.pem"));
  write_token("inlier_third");
  EXPECT_TRUE(comes_to_show("Bearer inlier_third"));
  // A file that is no good leaves the last connection in use.
  std::ofstream(File("trusted.pem")) << "nothing";
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  EXPECT_EQ(shown(), "Bearer inlier_third");
}

TEST_F(RenewalTest, SecretsThatOthersMayReadOrWriteAreRefusedWithTheRemedy) {
  UseServerFilesOf(old_);
  const std::string key = File("server.key");
  const auto refusal = [&](bool insecure) {
    return std::string(
        MakeServerCredentials({.certificate = File("server.pem"), .key = key, .insecure = insecure})
            .status()
            .message());
  };
  EXPECT_EQ(refusal(false), "");
  fs::permissions(key, fs::perms(0640));  // A group for servers may read it.
  EXPECT_EQ(refusal(false), "");
  fs::permissions(key, fs::perms(0644));
  EXPECT_THAT(refusal(false), AllOf(HasSubstr("tls_key: " + key + " is readable by every user"),
                                    HasSubstr("chmod o-r " + key)));
  EXPECT_EQ(refusal(true), "");
  fs::permissions(key, fs::perms(0620));
  EXPECT_THAT(refusal(false), HasSubstr("writable by other users"));
  if (::geteuid() == 0) {
    fs::permissions(key, fs::perms(0600));
    ASSERT_EQ(::chown(key.c_str(), 12345, 0), 0);
    EXPECT_THAT(refusal(false),
                AllOf(HasSubstr("belongs to another user (uid 12345)"), HasSubstr("chown 0 " + key)));
  }
  // The same of tokens.
  const std::string tokens = File("tokens");
  ASSERT_TRUE(WriteTokensFile(tokens, {}).ok());
  EXPECT_EQ(fs::status(tokens).permissions(), fs::perms(0600));
  EXPECT_TRUE(ReadTokensFile(tokens).ok());
  fs::permissions(tokens, fs::perms(0644));
  EXPECT_THAT(std::string(ReadTokensFile(tokens).status().message()), HasSubstr("tokens_file: " + tokens));
  EXPECT_TRUE(ReadTokensFile(tokens, /*insecure=*/true).ok());
  std::ofstream(File("token")) << "inlier_x\n";
  fs::permissions(File("token"), fs::perms(0644));
  EXPECT_THAT(std::string(ReadToken(File("token"), "token_file").status().message()),
              HasSubstr("token_file: " + File("token") + " is readable"));
}

TEST_F(RenewalTest, APipeIsRefusedWithTheRemedyAndNobodyWaitsForItsWriter) {
  UseServerFilesOf(old_);
  const std::string pipe = File("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string why =
      ": " + pipe +
      " is a pipe, not a regular file; it is read again when it is renewed: write it to a file "
      "of mode 0600 and name that";
  const auto of_server = [](const ServerTls& tls) {
    return std::string(MakeServerCredentials(tls).status().message());
  };
  EXPECT_EQ(of_server({.certificate = File("server.pem"), .key = pipe}), "tls_key" + why);
  EXPECT_EQ(of_server({.certificate = pipe, .key = File("server.key")}), "tls_certificate" + why);
  EXPECT_EQ(of_server({.certificate = File("server.pem"), .key = File("server.key"), .client_ca = pipe}),
            "tls_client_ca" + why);
  EXPECT_EQ(std::string(ReadTokensFile(pipe).status().message()), "tokens_file" + why);
  const auto of_client = [](const ClientSecurity& security) {
    return std::string(CheckRenewable(security).message());
  };
  ClientSecurity security;
  EXPECT_EQ(of_client(security), "");
  security.tls_key = pipe;
  EXPECT_EQ(of_client(security), "tls_key" + why);
  security.tls_key = File("server.key");
  security.token_file = pipe;
  EXPECT_EQ(of_client(security), "token_file" + why);
  security.token_file = "/dev/zero";
  EXPECT_THAT(of_client(security), HasSubstr("token_file: /dev/zero is a device"));
  // A descriptor of a regular file is one, as a service manager hands it over.
  const int opened = ::open(File("server.key").c_str(), O_RDONLY);
  security.token_file = "/dev/fd/" + std::to_string(opened);
  EXPECT_EQ(of_client(security), "");
  ::close(opened);
  // One that comes in place of a file leaves what was read before in force.
  Start(/*mutual=*/false);
  EXPECT_TRUE(Works(*Client(old_, "old")));
  fs::rename(pipe, File("server.key"));
  EXPECT_TRUE(Works(*Client(old_, "old")));
}

}  // namespace
}  // namespace inlier
