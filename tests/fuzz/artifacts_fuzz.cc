// The stream of artifacts, both ends over real gRPC: any messages into the coordinator's service (chunks
// through its handlers into its folder), and any chunks from a coordinator into a worker's transfer. What
// must hold: what is complete has the digest that it is named by, nothing is written elsewhere, and every
// call ends.
//
// An input is a byte for the end, then records: a byte for the kind, four bytes of length, a
// message.
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "base/check.h"
#include "base/digest.h"
#include "base/files/file.h"
#include "coordinator/process/coordinator.h"
#include "rpc/renewed_channel.h"
#include "rpc/rpc.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/records.h"
#include "worker/artifact_transfer.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

enum Kind : unsigned char { kUpload, kEnd, kStat, kDownload, kCollect, kKinds };

using Record = FuzzRecord<Kind>;

std::string Join(char end, const std::vector<Record>& records) { return end + JoinRecords(records); }

// Only whole files under their own digest, parts, and the store's own; nothing outside the folder.
void CheckFolder(const fs::path& state) {
  const fs::path artifacts = state / "artifacts";
  if (!fs::exists(artifacts)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(artifacts)) {
    INLIER_CHECK(entry.is_regular_file());
    const std::string name = entry.path().filename();
    if (name == "store.id" || name.ends_with(".part")) continue;
    INLIER_CHECK(name == entry.path().stem().string() + ".safetensors");
    INLIER_CHECK(Sha256Hex(*ReadFile(entry.path())) == entry.path().stem().string());
  }
  INLIER_CHECK(!fs::exists(state.parent_path() / "artifacts"));
}

// A refusal has a reason.
void Clear(const grpc::Status& status) {
  INLIER_CHECK(status.ok() || !status.error_message().empty());
  INLIER_CHECK(status.error_code() != grpc::StatusCode::INTERNAL);
}

// One coordinator for all inputs: to start one for each costs more than the input. Its artifacts go after
// each.
class Service {
 public:
  Service() : folder_(MemoryFolder()) {
    v1::CoordinatorConfig config;
    config.set_state_dir(folder_.path().string());
    config.set_listen("127.0.0.1:0");
    config.set_http_listen("127.0.0.1:0");
    coordinator_ = Coordinator::Start(config, [](absl::Status) { std::abort(); }).value();
    stub_ = v1::ArtifactService::NewStub(
        grpc::CreateChannel(coordinator_->grpc_address(), grpc::InsecureChannelCredentials()));
  }

  void Do(const std::vector<Record>& records) {
    for (const Record& record : records) {
      grpc::ClientContext context;
      switch (record.kind) {
        case kUpload: {
          v1::UploadArtifactRequest request;
          if (!request.ParseFromString(record.bytes)) break;
          if (!upload_) {
            upload_context_ = std::make_unique<grpc::ClientContext>();
            upload_ = stub_->Upload(upload_context_.get(), &uploaded_);
          }
          if (!upload_->Write(request)) EndUpload();
          break;
        }
        case kEnd:
          EndUpload();
          break;
        case kStat: {
          v1::StatArtifactRequest request;
          v1::ArtifactStat stat;
          if (request.ParseFromString(record.bytes)) Clear(stub_->Stat(&context, request, &stat));
          break;
        }
        case kDownload: {
          v1::DownloadArtifactRequest request;
          if (!request.ParseFromString(record.bytes)) break;
          auto reader = stub_->Download(&context, request);
          v1::ArtifactChunk chunk;
          std::uint64_t offset = request.offset();
          while (reader->Read(&chunk)) {
            INLIER_CHECK(chunk.offset() == offset && chunk.sha256() == Sha256Hex(chunk.data()));
            offset += chunk.data().size();
          }
          Clear(reader->Finish());
          break;
        }
        case kCollect: {
          v1::CollectRequest request;
          v1::CollectResponse response;
          if (request.ParseFromString(record.bytes)) Clear(stub_->Collect(&context, request, &response));
          break;
        }
        case kKinds:
          break;
      }
    }
    EndUpload();
    CheckFolder(folder_.path());
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "artifacts")) {
      if (entry.path().filename() != "store.id") fs::remove(entry.path());
    }
  }

 private:
  void EndUpload() {
    if (!upload_) return;
    upload_->WritesDone();
    Clear(upload_->Finish());
    upload_.reset();
  }

  TemporaryFolder folder_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<v1::ArtifactService::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> upload_context_;
  v1::UploadArtifactResponse uploaded_;
  std::unique_ptr<grpc::ClientWriter<v1::UploadArtifactRequest>> upload_;
};

// A coordinator that answers downloads from a script: the chunks up to a kEnd for each call, whose first byte
// is the status that ends it.
class Liar final : public v1::ArtifactService::Service {
 public:
  Liar() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    channel_ = std::make_shared<RenewedChannel>("127.0.0.1:" + std::to_string(port), ClientSecurity(),
                                                kRpcMessageBytesMax);
  }
  ~Liar() override { server_->Shutdown(); }

  void SetScript(std::vector<Record> script) {
    const std::lock_guard lock(mutex_);
    script_ = std::move(script);
    at_ = 0;
  }
  const std::shared_ptr<RenewedChannel>& channel() const { return channel_; }

  grpc::Status Download(grpc::ServerContext*, const v1::DownloadArtifactRequest* request,
                        grpc::ServerWriter<v1::ArtifactChunk>* writer) override {
    const std::lock_guard lock(mutex_);
    while (at_ < script_.size()) {
      const Record& record = script_[at_++];
      v1::UploadArtifactRequest message;
      if (record.kind == kEnd) {
        const int code = record.bytes.empty() ? 0 : static_cast<unsigned char>(record.bytes[0]) % 17;
        if (code == 0) return grpc::Status::OK;
        return grpc::Status(static_cast<grpc::StatusCode>(code), "as scripted");
      }
      if (record.kind != kUpload || !message.ParseFromString(record.bytes) || !message.has_chunk()) continue;
      if (record.bytes.size() % 2 == 0) message.mutable_chunk()->set_offset(request->offset());
      if (!writer->Write(message.chunk())) break;
    }
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "the script has ended");
  }

 private:
  std::mutex mutex_;
  std::vector<Record> script_;
  std::size_t at_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<RenewedChannel> channel_;
};

const std::string& Content() {
  static const std::string content = "the artifact of this fuzzer, in two parts";
  return content;
}

void Fetch(const std::vector<Record>& records) {
  static Liar& liar = *new Liar;  // Its threads live as long as the process.
  liar.SetScript(records);
  const TemporaryFolder state(MemoryFolder());
  fs::create_directories(state / "worker/artifacts");
  WorkerMetrics metrics;
  std::mutex mutex;
  std::condition_variable changed;
  ArtifactTransfer transfer({.state_dir = state / "worker",
                             .channel = liar.channel(),
                             .artifacts = v1::WorkerConfig::STREAMED,
                             .backoff = Backoff{std::chrono::microseconds(1), std::chrono::microseconds(1)},
                             .tries_max = 3},
                            metrics, [&] {
                              const std::lock_guard lock(mutex);
                              changed.notify_all();
                            });
  const std::string sha256 = Sha256Hex(Content());
  const ArtifactHandle handle = transfer.Fetch(sha256);
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ProgressOf(handle).done; });
  }
  const ArtifactProgress progress = ProgressOf(handle);
  const bool there = fs::exists(state / ("worker/artifacts/" + sha256 + ".safetensors"));
  INLIER_CHECK(progress.status.ok() == there);
  INLIER_CHECK(progress.status.ok() || !progress.status.message().empty());
  transfer.Stop();
  CheckFolder(state / "worker");
}

v1::UploadArtifactRequest Chunk(std::uint64_t offset, const std::string& data) {
  v1::UploadArtifactRequest message;
  message.mutable_chunk()->set_offset(offset);
  message.mutable_chunk()->set_data(data);
  message.mutable_chunk()->set_sha256(Sha256Hex(data));
  message.mutable_chunk()->set_bytes_total(Content().size());
  return message;
}

std::vector<Record> Upload() {
  v1::UploadArtifactRequest header;
  header.mutable_header()->set_sha256(Sha256Hex(Content()));
  header.mutable_header()->set_bytes(Content().size());
  v1::UploadArtifactRequest rest = header;
  rest.mutable_header()->set_offset(10);
  v1::StatArtifactRequest stat;
  stat.set_sha256(Sha256Hex(Content()));
  v1::DownloadArtifactRequest download;
  download.set_sha256(Sha256Hex(Content()));
  return {Make(kUpload, header),
          Make(kUpload, Chunk(0, Content().substr(0, 10))),
          {kEnd, ""},
          Make(kStat, stat),
          Make(kUpload, rest),
          Make(kUpload, Chunk(10, Content().substr(10))),
          {kEnd, ""},
          Make(kDownload, download),
          Make(kCollect, v1::CollectRequest())};
}

std::vector<Record> Broken() {
  return {Make(kUpload, Chunk(0, Content().substr(0, 10))),
          {kEnd, "\x0e"},
          Make(kUpload, Chunk(10, Content().substr(10))),
          {kEnd, ""}};
}

}  // namespace

void FuzzOne(std::string_view input) {
  if (input.empty()) return;
  const std::vector<Record> records = ParseRecords<Kind>(input.substr(1));
  if (input[0] % 2 == 0) {
    static Service& service = *new Service;
    service.Do(records);
  } else {
    Fetch(records);
  }
}

std::vector<std::string> FuzzSeeds() { return {Join(0, Upload()), Join(1, Broken())}; }

std::string FuzzMutate(std::string input, FuzzRandom& random) {
  if (input.empty()) return FuzzSeeds()[random() % 2];
  const char end = input[0];
  std::vector<Record> records = ParseRecords<Kind>(std::string_view(input).substr(1));
  if (records.empty()) return FuzzSeeds()[random() % 2];
  MutateRecords<Kind>(records, kEnd, random, [&](Record& record) {
    v1::UploadArtifactRequest message;
    if (record.kind != kUpload || !message.ParseFromString(record.bytes)) return false;
    MutateMessage(message, random);
    // Half of them arrive sound.
    if (message.has_chunk() && random() % 2 == 0)
      message.mutable_chunk()->set_sha256(Sha256Hex(message.chunk().data()));
    record.bytes = message.SerializeAsString();
    return true;
  });
  return Join(end, records);
}

}  // namespace inlier
