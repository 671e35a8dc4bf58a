#include "core/gang/gang.h"

#define USE_C10D_GLOO  // As LibTorch was built: its header then declares the class.
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace inlier {
namespace {

// Of one call: large enough to use the connection well, and small enough that one is packed while another travels.
constexpr std::int64_t kBucketBytes = 16 << 20;
// Rank 0 measures and writes checkpoints while the others wait. The process that started the gang ends it where nothing moves.
constexpr std::chrono::hours kCallPatience(24);

// Consecutive tensors of one type and device as one vector on the CPU.
class Bucket {
 public:
  explicit Bucket(std::vector<at::Tensor> tensors) : tensors_(std::move(tensors)) {
    if (tensors_.size() == 1 && tensors_[0].is_cpu() && tensors_[0].is_contiguous()) {
      flat_ = tensors_[0].view({-1});
      in_place_ = true;
      return;
    }
    std::vector<at::Tensor> rows;
    for (const at::Tensor& tensor : tensors_) rows.push_back(tensor.reshape({-1}));
    flat_ = at::cat(rows).to(at::kCPU);
  }

  const at::Tensor& flat() const { return flat_; }

  void Unpack() const {
    if (in_place_) return;
    const at::Tensor back = flat_.to(tensors_[0].device());
    std::int64_t first = 0;
    for (const at::Tensor& tensor : tensors_) {
      tensor.copy_(back.narrow(0, first, tensor.numel()).view(tensor.sizes()));
      first += tensor.numel();
    }
  }

 private:
  std::vector<at::Tensor> tensors_;
  at::Tensor flat_;
  bool in_place_ = false;
};

std::vector<std::vector<at::Tensor>> Grouped(const std::vector<at::Tensor>& tensors) {
  std::vector<std::vector<at::Tensor>> groups;
  std::int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    const auto size = static_cast<std::int64_t>(tensor.nbytes());
    const bool joins = !groups.empty() && groups.back().back().scalar_type() == tensor.scalar_type() &&
                       groups.back().back().device() == tensor.device() && bytes + size <= kBucketBytes;
    if (!joins) {
      groups.emplace_back();
      bytes = 0;
    }
    groups.back().push_back(tensor);
    bytes += size;
  }
  return groups;
}

std::string ReasonOf(const std::exception& error) {
  const auto* const torch = dynamic_cast<const c10::Error*>(&error);
  return torch == nullptr ? error.what() : torch->what_without_backtrace();
}

std::string KeyOf(int rank) { return absl::StrCat("here/", rank); }

}  // namespace

struct Gang::Group {
  c10::intrusive_ptr<c10d::Backend> backend;
};

namespace {

// Runs a call of Gloo, whose errors are of its own types.
template <typename Call>
void Together(int rank, int processes, const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    throw GangBroken(absl::StrCat("rank ", rank, " of ", processes,
                                  " has lost another one, which has ended or does not answer; the log of the "
                                  "rank that ended first has the reason (",
                                  ReasonOf(error), ")"));
  }
}

// start(flat) begins the call on a bucket; the next one is packed while it travels.
template <typename Start>
void RunInBuckets(int rank, int processes, const std::vector<at::Tensor>& tensors, const Start& start) {
  const c10::NoGradGuard no_gradient;
  std::optional<std::pair<Bucket, c10::intrusive_ptr<c10d::Work>>> travels;
  const auto arrive = [&] {
    if (!travels) return;
    Together(rank, processes, [&] { travels->second->wait(); });
    travels->first.Unpack();
    travels.reset();
  };
  for (std::vector<at::Tensor>& group : Grouped(tensors)) {
    Bucket bucket(std::move(group));
    std::vector<at::Tensor> flat = {bucket.flat()};
    c10::intrusive_ptr<c10d::Work> work;
    Together(rank, processes, [&] { work = start(flat); });
    arrive();
    travels.emplace(std::move(bucket), std::move(work));
  }
  arrive();
}

}  // namespace

Gang::Gang() = default;
Gang::Gang(Gang&&) noexcept = default;
Gang& Gang::operator=(Gang&&) noexcept = default;
Gang::~Gang() = default;

Gang::Gang(int rank, int processes, std::unique_ptr<Group> group)
    : rank_(rank), processes_(processes), group_(std::move(group)) {}

absl::StatusOr<Gang> Gang::Meet(const Place& place, Duration patience) {
  INLIER_CHECK(place.rank >= 0 && place.rank < place.processes);
  if (place.processes == 1) return Gang();
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
  try {
    const auto store = c10::make_intrusive<c10d::FileStore>(place.meeting.string(), place.processes);
    store->setTimeout(wait);
    store->set(KeyOf(place.rank), std::vector<std::uint8_t>{1});
    std::vector<std::string> all;
    for (int rank = 0; rank < place.processes; ++rank) all.push_back(KeyOf(rank));
    store->wait(all, wait);
    const auto options = c10d::ProcessGroupGloo::Options::create(wait);
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(place.address));
    auto group = std::make_unique<Group>();
    group->backend = c10::make_intrusive<c10d::ProcessGroupGloo>(store, place.rank, place.processes, options);
    group->backend->setTimeout(kCallPatience);
    return Gang(place.rank, place.processes, std::move(group));
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("rank ", place.rank, " of ", place.processes,
                                               " has not met the others by the file ", place.meeting.string(),
                                               " and the address ", place.address, ": ", ReasonOf(error),
                                               "; start every rank, with one file that is new"));
  }
}

void Gang::Sum(const std::vector<at::Tensor>& tensors) {
  if (group_ == nullptr) return;
  RunInBuckets(rank_, processes_, tensors,
               [this](std::vector<at::Tensor>& flat) { return group_->backend->allreduce(flat); });
}

void Gang::Broadcast(const std::vector<at::Tensor>& tensors, int root) {
  if (group_ == nullptr) return;
  c10d::BroadcastOptions options;
  options.rootRank = root;
  RunInBuckets(rank_, processes_, tensors, [this, &options](std::vector<at::Tensor>& flat) {
    return group_->backend->broadcast(flat, options);
  });
}

bool Gang::Any(bool value) {
  if (group_ == nullptr) return value;
  const at::Tensor count = at::full({1}, value ? 1 : 0, at::kLong);
  Sum({count});
  return count.item<std::int64_t>() > 0;
}

}  // namespace inlier
