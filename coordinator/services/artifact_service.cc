#include "coordinator/services/artifact_service.h"

#include <boost/asio/post.hpp>
#include <future>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/status.h"
#include "coordinator/artifacts/artifact_collector.h"
#include "coordinator/artifacts/model_rules.h"
#include "s3/prefix_owner.h"

namespace inlier {
namespace {

// A collection waits so long for what it frees to be stored: its thread serves others, too.
constexpr auto kFreedWithin = std::chrono::minutes(1);

}  // namespace

// A call. Exactly one of a read, a write and a piece of file work is under way at any time, so Finish is
// called once, and the object lives until its last reaction.
class ArtifactService::Transfer : public CallStream {
 public:
  // `places` counts the open transfers of its kind.
  Transfer(ArtifactService& service, AdmittedCall call, std::atomic<int>& places)
      : CallStream(std::move(call)), service_(service), places_(places) {}

 protected:
  // Called once, first. False: the call has ended.
  bool Begin() {
    if (places_.fetch_add(1) < kTransfersMax ||
        bounds().EndLongestSilence(method(), MonotonicNow(), kSilentTransfer))
      return true;
    End(absl::ResourceExhaustedError(absl::StrCat(
        "there are ", kTransfersMax, " transfers as this one already, the maximum; try again later")));
    return false;
  }

  void End(const absl::Status& result) {
    const grpc::Status status = ToGrpcStatus(result);
    Observe(status);
    Finish(status);
  }
  void Observe(const grpc::Status& status) { bounds().Observe(method(), status, started_); }

  void OnEnded() override {
    --places_;
    CallStream::OnEnded();
  }

  ArtifactService& service_;

 private:
  std::atomic<int>& places_;
  const Timestamp started_ = MonotonicNow();
};

class ArtifactService::UploadCall final : public Transfer {
 public:
  UploadCall(ArtifactService& service, AdmittedCall call)
      : Transfer(service, std::move(call), service.uploads_) {
    if (Begin()) Read(request_, kMessageBytes);
  }

  void OnMessage(absl::StatusOr<bool> got) override {
    boost::asio::post(service_.pool_, [this, got = std::move(got)] {
      const absl::Status status = !got.ok() ? got.status() : *got ? Take() : Complete();
      if (got.ok() && *got && status.ok()) {
        Read(request_, kMessageBytes);
      } else {
        upload_.reset();  // A client that receives the status can start again at once.
        status.ok() ? Succeed() : End(status);
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
      service_.metrics_.ObserveArtifactBytes("RECEIVED", chunk.data().size());
    }
    return absl::OkStatus();
  }

  absl::Status Complete() {
    if (upload_ == nullptr) return absl::InvalidArgumentError("an upload begins with a header");
    RETURN_IF_ERROR(upload_->Complete());
    if (!upload_->already_complete()) spdlog::info("artifact_received sha256={} bytes={}", name_, taken_);
    return absl::OkStatus();
  }

  void Succeed() {
    v1::UploadArtifactResponse response;
    response.set_bytes_taken(taken_);
    Observe(grpc::Status::OK);
    WriteAndFinish(response);
  }

  static constexpr std::size_t kMessageBytes = kChunkBytesMax + 1024;  // With a chunk.

  v1::UploadArtifactRequest request_;
  std::string name_;
  std::unique_ptr<ArtifactStore::Upload> upload_;
  std::uint64_t taken_ = 0;
};

class ArtifactService::DownloadCall final : public Transfer {
 public:
  DownloadCall(ArtifactService& service, AdmittedCall call)
      : Transfer(service, std::move(call), service.downloads_) {
    if (Begin()) Read(request_);
  }

  void OnMessage(absl::StatusOr<bool> got) override {
    if (!got.ok()) return End(got.status());
    if (!*got) return End(absl::CancelledError("the worker has gone"));
    boost::asio::post(service_.pool_, [this] {
      absl::StatusOr<std::unique_ptr<ArtifactStore::Download>> download =
          service_.store_.BeginDownload(request_.sha256(), request_.offset());
      if (!download.ok()) return End(download.status());
      download_ = *std::move(download);
      Next();
    });
  }

  void OnWritten(bool ok) override {
    if (!ok) return End(absl::CancelledError("the worker has gone"));
    if (absl::Status status = StillAdmitted(); !status.ok()) return End(status);
    service_.metrics_.ObserveArtifactBytes("SENT", chunk_.data().size());
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
    Write(chunk_);
  }

  v1::DownloadArtifactRequest request_;
  std::unique_ptr<ArtifactStore::Download> download_;
  v1::ArtifactChunk chunk_;
};

void ArtifactService::DescribeStore(UnaryContext* context, const v1::DescribeStoreRequest*,
                                    v1::StoreDescription* response) {
  calls_.OnCaller(context, response, [this](Reply<v1::StoreDescription> reply) {
    v1::StoreDescription description;
    description.set_store_id(store_.id());
    if (bucket_ == nullptr) return reply(std::move(description));
    *description.mutable_s3() = described_;
    std::unique_lock lock(claim_.mutex);
    const absl::Status refused = claim_.refused;
    const bool taken = claim_.taken;
    lock.unlock();
    if (!taken) CheckBucket();
    refused.ok() ? reply(std::move(description)) : reply(refused);
  });
}

void ArtifactService::Stat(UnaryContext* context, const v1::StatArtifactRequest* request,
                           v1::ArtifactStat* response) {
  const auto look = [this, request]() -> absl::StatusOr<v1::ArtifactStat> {
    ASSIGN_OR_RETURN(const ArtifactStore::Found found, store_.Stat(request->sha256()));
    v1::ArtifactStat stat;
    stat.set_complete(found.complete);
    stat.set_bytes(found.bytes);
    stat.set_received(found.received);
    return stat;
  };
  calls_.OnPool(calls_.reads(), context, response, look);
}

absl::StatusOr<Freed> ArtifactService::FreeStages(const v1::CollectRequest& request,
                                                  const std::string& caller) {
  std::vector<StageId> models;
  if (request.has_models()) {
    ASSIGN_OR_RETURN(models, ModelsLetGo(reader_, request.models(), caller));
  }
  CoordinatorLoop& loop = calls_.loop();
  auto answer = std::make_shared<std::promise<absl::StatusOr<Freed>>>();
  std::future<absl::StatusOr<Freed>> freed = answer->get_future();
  loop.Post([&loop, models, dry_run = request.dry_run(), answer] {
    // While the store takes no changes, files alone are removed: it frees space, and must not wait for space.
    if (!dry_run && !loop.CheckStore().ok()) return answer->set_value(Freed());
    if (dry_run) return answer->set_value(PlanFree(loop.orchestrator().state(), models));
    loop.Decide<Freed>(
        [&](Orchestrator& orchestrator, Moment now, Effects& effects) -> absl::StatusOr<Freed> {
          return orchestrator.OnFree(models, now, effects);
        },
        [answer](absl::StatusOr<Freed> freed) { answer->set_value(std::move(freed)); });
  });
  if (freed.wait_for(kFreedWithin) != std::future_status::ready)
    return absl::UnavailableError(
        "the coordinator did not store within a minute what is to be freed, and no file was removed; collect "
        "again when it stores");
  return freed.get();
}

absl::StatusOr<v1::CollectResponse> ArtifactService::CollectNow(const v1::CollectRequest& request,
                                                                const std::string& caller) {
  const std::unique_lock one(collecting_, std::try_to_lock);
  if (!one) return absl::UnavailableError("another collection is under way; try again when it is done");
  RETURN_IF_ERROR(CheckCollection(request));
  ASSIGN_OR_RETURN(const Freed freed, FreeStages(request, caller));
  StageFates to_go;
  for (const StageId id : freed.stages) to_go[id] = StageFate::kFreed;
  for (const StageId id : freed.models) to_go[id] = StageFate::kNoModel;
  ASSIGN_OR_RETURN(v1::CollectResponse response,
                   CollectArtifacts(state_dir_, store_, bucket_, reader_, request, to_go, WallNow()));
  response.set_models(freed.models.size());
  std::set<SweepId> told;
  for (v1::CollectedSweep& sweep : *response.mutable_sweeps()) told.insert(*SweepId::Parse(sweep.sweep_id()));
  for (const SweepId id : freed.sweeps) {
    if (!told.contains(id)) response.add_sweeps()->set_sweep_id(id.ToString());
  }
  calls_.loop().Run([&] {
    const SweepTable& sweeps = calls_.loop().orchestrator().state().sweeps;
    for (v1::CollectedSweep& sweep : *response.mutable_sweeps()) {
      const SweepId id = *SweepId::Parse(sweep.sweep_id());
      sweep.set_name(sweeps.at(id).spec.name());
      if (freed.sweeps.contains(id)) sweep.set_freed(true);
    }
  });
  return response;
}

void ArtifactService::Collect(UnaryContext* context, const v1::CollectRequest* request,
                              v1::CollectResponse* response) {
  const auto collect = [this, context, request] { return CollectNow(*request, context->caller().name); };
  calls_.OnCaller(context, response, [this, context, request, collect](Reply<v1::CollectResponse> reply) {
    // What it frees is stored before its files go; its row of the audit follows it.
    const auto answer = [this, request, reply,
                         row = Audit::RowOf(context->caller(), context->method(), request)](
                            const absl::StatusOr<v1::CollectResponse>& result) {
      calls_.loop().Post([this, request, reply, row, result] {
        // It frees space, and must not wait for space.
        const bool waits = !calls_.loop().CheckStore().ok();
        calls_.DecideAudited(
            row, *request, [&](Orchestrator&, Moment, Effects&) { return result; },
            waits ? [](const absl::StatusOr<v1::CollectResponse>&) {} : reply);
        if (waits) reply(result);
      });
    };
    calls_.reads().Run(
        context->caller().name, [collect, answer] { answer(collect()); }, answer);
  });
}

void ArtifactService::CheckBucket() {
  if (bucket_ == nullptr) return;
  {
    const std::lock_guard lock(claim_.mutex);
    if (std::exchange(claim_.under_way, true)) return;
  }
  boost::asio::post(pool_, [this] {
    absl::Status answers = bucket_->CheckBucket();
    const bool reached = answers.ok();
    if (reached) answers = ClaimPrefix(*bucket_, state_dir_);
    if (!absl::IsCancelled(answers)) NoteClaim(answers, reached);  // Else the coordinator is ending.
  });
}

void ArtifactService::NoteClaim(const absl::Status& answers, bool reached) {
  const std::string where = bucket_->location().Describe();
  const std::string told = answers.ok() ? "found" : std::string(answers.message());
  const std::lock_guard lock(claim_.mutex);
  claim_.under_way = false;
  claim_.taken = answers.ok();
  if (reached || absl::IsUnavailable(claim_.refused))
    claim_.refused = reached && absl::IsFailedPrecondition(answers) ? answers : absl::OkStatus();
  if (std::exchange(claim_.told, told) == told) return;
  if (answers.ok()) {
    spdlog::info("s3_found bucket=\"{}\"", where);
  } else {
    spdlog::warn("s3_unavailable bucket=\"{}\" reason={}", where, LogText(told));
  }
}

void ArtifactService::AddTo(Door& door) {
  const std::string name = v1::ArtifactService::service_full_name();
  const std::shared_ptr<ArtifactService> self(this, [](ArtifactService*) {});
  door.Add(name, "DescribeStore", self, &ArtifactService::DescribeStore);
  door.Add(name, "Stat", self, &ArtifactService::Stat);
  door.Add(name, "Collect", self, &ArtifactService::Collect);
  door.AddStream(name, "Upload",
                 [this](AdmittedCall call) { return new UploadCall(*this, std::move(call)); });
  door.AddStream(name, "Download",
                 [this](AdmittedCall call) { return new DownloadCall(*this, std::move(call)); });
}

}  // namespace inlier
