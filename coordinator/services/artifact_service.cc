#include "coordinator/services/artifact_service.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/status.h"
#include "coordinator/artifacts/artifact_collector.h"

namespace inlier {

// A call. Exactly one of a read, a write and a piece of file work is under way at any time, so Finish is called
// once, and the object lives until OnDone.
template <typename Reactor>
class ArtifactService::Transfer : public Reactor {
 public:
  Transfer(ArtifactService& service, const char* method) : service_(service), method_(method) {}

  void OnDone() final {
    --service_.transfers_;
    delete this;
  }

 protected:
  // Called once, first. False: it has ended.
  bool Begin(const absl::Status& admitted) {
    const bool has_room = service_.transfers_.fetch_add(1) < kTransfersMax;
    if (admitted.ok() && has_room) return true;
    End(admitted.ok() ? absl::ResourceExhaustedError(
                            absl::StrCat("there are ", kTransfersMax,
                                         " transfers of artifacts already, the maximum; try again later"))
                      : admitted);
    return false;
  }

  void End(const absl::Status& result) {
    const grpc::Status status = ToGrpcStatus(result);
    service_.calls_.Observe(method_, status, started_);
    this->Finish(status);
  }

  ArtifactService& service_;

 private:
  const char* const method_;
  const Timestamp started_ = MonotonicNow();
};

class ArtifactService::UploadCall final
    : public Transfer<grpc::ServerReadReactor<v1::UploadArtifactRequest>> {
 public:
  UploadCall(ArtifactService& service, v1::UploadArtifactResponse& response, const absl::Status& admitted)
      : Transfer(service, "Upload"), response_(response) {
    if (Begin(admitted)) StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    boost::asio::post(service_.pool_, [this, ok] {
      const absl::Status status = ok ? Take() : Complete();
      if (ok && status.ok()) {
        StartRead(&request_);
      } else {
        upload_.reset();  // When the client receives the status, it must be able to start again at once.
        End(status);
      }
    });
  }

 private:
  absl::Status Take() {
    if (request_.has_header()) {
      if (upload_ != nullptr) return absl::InvalidArgumentError("header: comes once, first");
      const v1::UploadHeader& header = request_.header();
      ASSIGN_OR_RETURN(upload_,
                       service_.store_.BeginUpload(header.sha256(), header.bytes(), header.offset()));
      name_ = header.sha256();
      return absl::OkStatus();
    }
    if (upload_ == nullptr) return absl::InvalidArgumentError("an upload begins with a header");
    const v1::ArtifactChunk& chunk = request_.chunk();
    if (chunk.data().empty() || chunk.data().size() > kChunkBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("chunk.data: ", chunk.data().size(), " bytes; a chunk has 1 to ", kChunkBytesMax));
    }
    if (Sha256Hex(chunk.data()) != chunk.sha256()) {
      return absl::AbortedError(absl::StrCat("the chunk at ", chunk.offset(),
                                             " was damaged in transfer: its SHA-256 does not match"));
    }
    RETURN_IF_ERROR(upload_->Write(chunk.offset(), chunk.data()));
    if (!upload_->already_complete()) {
      taken_ += chunk.data().size();
      service_.metrics_.ObserveArtifactBytes("received", chunk.data().size());
    }
    return absl::OkStatus();
  }

  absl::Status Complete() {
    if (upload_ == nullptr) return absl::InvalidArgumentError("an upload begins with a header");
    RETURN_IF_ERROR(upload_->Complete());
    response_.set_bytes_taken(taken_);
    if (!upload_->already_complete()) spdlog::info("artifact_received sha256={} bytes={}", name_, taken_);
    return absl::OkStatus();
  }

  v1::UploadArtifactResponse& response_;
  v1::UploadArtifactRequest request_;
  std::string name_;
  std::unique_ptr<ArtifactStore::Upload> upload_;
  std::uint64_t taken_ = 0;
};

class ArtifactService::DownloadCall final : public Transfer<grpc::ServerWriteReactor<v1::ArtifactChunk>> {
 public:
  DownloadCall(ArtifactService& service, const v1::DownloadArtifactRequest& request,
               const absl::Status& admitted)
      : Transfer(service, "Download") {
    if (!Begin(admitted)) return;
    boost::asio::post(service_.pool_, [this, &request] {
      absl::StatusOr<std::unique_ptr<ArtifactStore::Download>> download =
          service_.store_.BeginDownload(request.sha256(), request.offset());
      if (!download.ok()) return End(download.status());
      download_ = *std::move(download);
      Next();
    });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return End(absl::CancelledError("the worker has gone"));
    service_.metrics_.ObserveArtifactBytes("sent", chunk_.data().size());
    boost::asio::post(service_.pool_, [this] { Next(); });
  }

 private:
  void Next() {
    const std::uint64_t offset = download_->offset();
    absl::StatusOr<std::string> bytes = download_->Read(kChunkBytesMax);
    if (!bytes.ok() || bytes->empty()) return End(bytes.status());
    chunk_.set_offset(offset);
    chunk_.set_bytes_total(download_->bytes());
    chunk_.set_sha256(Sha256Hex(*bytes));
    chunk_.set_data(*std::move(bytes));
    StartWrite(&chunk_);
  }

  std::unique_ptr<ArtifactStore::Download> download_;
  v1::ArtifactChunk chunk_;
};

grpc::ServerUnaryReactor* ArtifactService::DescribeStore(Context* context, const v1::DescribeStoreRequest*,
                                                         v1::StoreDescription* response) {
  return calls_.OnCaller(context, "DescribeStore", response, [this](Reply<v1::StoreDescription> reply) {
    v1::StoreDescription description;
    description.set_store_id(store_.id());
    reply(std::move(description));
  });
}

grpc::ServerUnaryReactor* ArtifactService::Stat(Context* context, const v1::StatArtifactRequest* request,
                                                v1::ArtifactStat* response) {
  return calls_.OnPool(
      calls_.reads(), context, "Stat", response, [this, request]() -> absl::StatusOr<v1::ArtifactStat> {
    ASSIGN_OR_RETURN(const ArtifactStore::Found found, store_.Stat(request->sha256()));
    v1::ArtifactStat stat;
    stat.set_complete(found.complete);
    stat.set_bytes(found.bytes);
    stat.set_received(found.received);
    return stat;
  });
}

grpc::ServerUnaryReactor* ArtifactService::Collect(Context* context, const v1::CollectRequest* request,
                                                   v1::CollectResponse* response) {
  const auto collect = [this, request]() -> absl::StatusOr<v1::CollectResponse> {
    const std::unique_lock one(collecting_, std::try_to_lock);
    if (!one) return absl::UnavailableError("another collection is under way; try again when it is done");
    return CollectArtifacts(state_dir_, store_, reader_, *request, WallNow());
  };
  return calls_.OnAdmitted(
      context, "Collect", response,
      [this, request, collect](const Caller& caller, Reply<v1::CollectResponse> reply) {
        // It changes files alone: its row of the audit follows it.
        const auto answer = [this, request, reply, row = Audit::RowOf(caller, "Collect", request)](
                                const absl::StatusOr<v1::CollectResponse>& result) {
          calls_.loop().Post([this, request, reply, row, result] {
            calls_.DecideAudited(
                row, *request, [&](Orchestrator&, Moment, Effects&) { return result; }, reply);
          });
        };
        calls_.reads().Run([collect, answer] { answer(collect()); }, answer);
      });
}

grpc::ServerReadReactor<v1::UploadArtifactRequest>* ArtifactService::Upload(
    Context* context, v1::UploadArtifactResponse* response) {
  return new UploadCall(*this, *response, calls_.access().Admit(*context, "Upload").status());
}

grpc::ServerWriteReactor<v1::ArtifactChunk>* ArtifactService::Download(
    Context* context, const v1::DownloadArtifactRequest* request) {
  return new DownloadCall(*this, *request, calls_.access().Admit(*context, "Download").status());
}

}  // namespace inlier
