// The coordinator's artifacts/ folder: files named by their SHA-256, received in parts that can be resumed.
//
//   artifacts/<sha256>.safetensors          complete: never changes
//   artifacts/<sha256>.safetensors.part     being received
//   artifacts/<sha256>.safetensors.damaged  put aside: its content did not have its digest
//   artifacts/store.id                      new at every start: a worker that finds it shares the folder
//
// Clients can name only a digest of 64 hexadecimal digits; nothing else becomes a path.
//
// Thread safety: every function on any thread; they wait for the disk. An Upload or Download is used by one
// thread at a time.
#ifndef INLIER_COORDINATOR_ARTIFACTS_ARTIFACT_STORE_H_
#define INLIER_COORDINATOR_ARTIFACTS_ARTIFACT_STORE_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/data/checked_files.h"
#include "base/files/descriptor.h"
#include "base/files/part_file.h"
#include "base/time.h"

namespace inlier {

struct ArtifactStoreLimits {
  int uploads_max = 16;  // At once; a silent one is dropped for a new one.
  Duration silence = std::chrono::seconds(10);
  std::uint64_t disk_reserve_bytes = 64 << 20;  // Never filled by uploads: the database needs it.
};

class ArtifactStore {
 public:
  // Makes the folder and writes a new store id.
  static absl::StatusOr<std::unique_ptr<ArtifactStore>> Open(const std::filesystem::path& state_dir,
                                                             ArtifactStoreLimits limits = {});

  const std::string& id() const { return id_; }

  struct Found {
    bool complete = false;
    std::uint64_t bytes = 0;     // When complete.
    std::uint64_t received = 0;  // When not.
  };
  // InvalidArgument for what is not a SHA-256. A complete artifact counts as used now: see RemoveIfOlder.
  // Here and below, one whose content has another digest is put aside; each version of a file is read once
  // for that.
  absl::StatusOr<Found> Stat(const std::string& sha256);

  // One artifact on its way in. What it has written stays when it is destroyed.
  class Upload {
   public:
    ~Upload();
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;

    bool already_complete() const { return part_ == nullptr; }
    // `offset` must be where the last bytes ended. Aborted when another upload of the artifact has taken
    // over; ResourceExhausted when the disk is full.
    absl::Status Write(std::uint64_t offset, std::string_view bytes);
    // Checks the artifact and makes it visible and durable. Aborted when bytes are missing (another upload
    // can send them); DataLoss when the digest differs: all of it must be sent again.
    absl::Status Complete();

   private:
    friend class ArtifactStore;
    struct Active;
    Upload(ArtifactStore& store, std::string sha256, std::uint64_t bytes);
    ArtifactStore& store_;
    const std::string sha256_;
    const std::uint64_t bytes_;
    std::unique_ptr<PartFile> part_;
    std::shared_ptr<Active> active_;
  };
  // Starts, or continues at `offset`, an artifact of `bytes`. OutOfRange when less is there; Unavailable
  // while another upload sends it; ResourceExhausted when the disk has no room or there are too many uploads.
  absl::StatusOr<std::unique_ptr<Upload>> BeginUpload(const std::string& sha256, std::uint64_t bytes,
                                                      std::uint64_t offset);

  // A complete artifact on its way out; it stays readable when it is removed meanwhile.
  class Download {
   public:
    Download(Descriptor file, std::uint64_t bytes, std::uint64_t offset)
        : file_(std::move(file)), bytes_(bytes), offset_(offset) {}
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t offset() const { return offset_; }
    // The next bytes, at most `count`; none at the end.
    absl::StatusOr<std::string> Read(std::size_t count);

   private:
    Descriptor file_;
    std::uint64_t bytes_;
    std::uint64_t offset_;
  };
  // NotFound when it is not complete; OutOfRange for an offset behind its end.
  absl::StatusOr<std::unique_ptr<Download>> BeginDownload(const std::string& sha256, std::uint64_t offset);

  // Removes the regular file `path` if it was last written or used more than `age` before `now` and is not
  // being received; returns whether it did (or, with `dry_run`, would). No Stat or upload can come in
  // between.
  absl::StatusOr<bool> RemoveIfOlder(const std::filesystem::path& path, Duration age, WallTime now,
                                     bool dry_run);

  std::filesystem::path PathOf(const std::string& sha256) const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  ArtifactStore(std::filesystem::path folder, std::string id, ArtifactStoreLimits limits);
  absl::Status CheckRoom(std::uint64_t wanted) const;  // REQUIRES: mutex_ is held.
  // True if the artifact is there with its content; it counts as used now.
  bool HasSound(const std::string& sha256);

  const std::filesystem::path folder_;
  const std::string id_;
  const ArtifactStoreLimits limits_;
  CheckedFiles files_;
  std::mutex mutex_;  // Locked before that of an Upload::Active.
  std::map<std::string, std::shared_ptr<Upload::Active>> uploads_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ARTIFACTS_ARTIFACT_STORE_H_
