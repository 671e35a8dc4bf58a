// Resources that attempts request, and the free resources of a worker.
//
// The slots of a worker share its machine's memory; slots on the same GPU share that GPU and its memory. An
// attempt takes its request. Of a resource that it does not request it takes its slot's part, one n-th with n
// slots (of the GPU's memory: its share of the GPU, where it requests one), so attempts without requests
// always fit, one a slot. A worker has none of a resource that it does not report: a request for it does not
// fit.
//
// An attempt of several processes, a gang, takes as many slots, each with its request, on GPUs each on its own.
//
// An attempt holds its resources until its process is gone, also after it has ended for the coordinator.
//
// Memory is in MiB.
#ifndef INLIER_COORDINATOR_STATE_RESOURCES_H_
#define INLIER_COORDINATOR_STATE_RESOURCES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/ids.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "inlier/v1/worker_service.pb.h"

namespace inlier {

inline constexpr std::uint32_t kWholeGpu = 1000;  // Thousandths.
// A worker whose job ends earlier takes nothing new.
inline constexpr std::uint32_t kLeastSecondsOfAJob = 20;

ResourceRequest RequestOf(const v1::ResourceSpec& spec);
// The larger of both, member by member.
ResourceRequest Larger(const ResourceRequest& a, const ResourceRequest& b);
// "0.25 of a GPU, 2048 MiB of memory, 800 MiB of GPU memory"; "nothing in particular"; "4 processes on one worker, each
// with a whole GPU".
std::string RequestText(const ResourceRequest& request);

// MiB to ask for after an attempt ran out of memory: half as much again as it had or held, in steps of 64.
std::uint64_t MoreMemory(std::uint64_t had_mib, std::uint64_t peak_mib);

class WorkerResources {
 public:
  // The worker's resources. Held attempts stay held.
  void SetCapacity(const std::vector<v1::Slot>& slots, std::uint64_t memory_mib);

  // The resources that an attempt with this request, of a gang one process, takes on the slot, which exists.
  ResourceRequest Charge(std::uint32_t slot, const ResourceRequest& request) const;
  // The worker is known to have other data.
  bool HasOtherData(const ResourceRequest& request) const;
  // Of one process. CouldFit: the data are not others, and the slot's empty GPU and machine have enough. Fits: they have
  // enough now, and the worker's job does not end too early.
  bool CouldFit(std::uint32_t slot, const ResourceRequest& request) const;
  bool Fits(std::uint32_t slot, const ResourceRequest& request) const;

  using Usable = absl::FunctionRef<bool(std::uint32_t slot)>;
  // A slot for each process, of those that are usable, so that all of them fit now: the first ones that do, on one
  // machine where that is possible. Empty: there are not enough.
  std::vector<std::uint32_t> SlotsFor(const ResourceRequest& request, Usable usable) const;
  // The worker without these attempts, and with none.
  WorkerResources Without(const std::set<Token>& gone) const;
  WorkerResources Unused() const;
  // The request would fit if no slot were taken.
  bool CouldEverFit(const ResourceRequest& request) const;

  // An attempt on the slots takes its request on each. It need not fit: the attempt runs already.
  void Take(Token token, std::vector<std::uint32_t> slots, const ResourceRequest& request);
  // Harmless for one that is not held.
  void Release(Token token);

  // The worker has found `version` of the source. A request for another version of it does not fit.
  void SetData(DataId source, DataId version) { data_[source] = version; }
  // The version that it found last; zero: none.
  DataId DataOf(DataId source) const {
    const auto found = data_.find(source);
    return found == data_.end() ? DataId() : found->second;
  }

  // Seconds until the worker ends with its job, as of its latest sync; nullopt: it does not end with a job.
  void SetSecondsLeft(std::optional<std::uint32_t> seconds) { seconds_left_ = seconds; }
  std::optional<std::uint32_t> seconds_left() const { return seconds_left_; }

  // Marks those that the worker's latest sync lists: its process is there, though the attempt may have ended.
  void SetReported(const std::set<Token>& tokens);

  struct Held {
    std::vector<std::uint32_t> slots;
    ResourceRequest request;
    bool reported = false;
    friend bool operator==(const Held&, const Held&) = default;
  };
  const std::map<Token, Held>& held() const { return held_; }
  // An attempt is held on the slot: leased, or ended and not gone yet.
  bool SlotTaken(std::uint32_t slot) const;

  std::uint64_t memory_mib() const { return memory_mib_; }
  std::uint64_t memory_used_mib() const { return memory_used_mib_; }
  struct Gpu {
    std::string device;
    std::uint32_t slots = 0;
    std::uint64_t memory_mib = 0;
    ResourceRequest used;
    friend bool operator==(const Gpu&, const Gpu&) = default;
  };
  const std::vector<Gpu>& gpus() const { return gpus_; }
  std::uint64_t gpu_memory_mib(std::uint32_t slot) const;
  // The free resources: "has 3 of 64 MiB of memory free, ...".
  std::string FreeText() const;

 private:
  void Add(const Held& held, int sign);
  std::vector<std::uint32_t> FirstSlotsFor(const ResourceRequest& request, Usable usable) const;

  std::uint64_t memory_mib_ = 0;  // 0: not reported.
  std::uint64_t memory_used_mib_ = 0;
  std::vector<Gpu> gpus_;
  std::vector<int> gpu_of_slot_;                          // Index in gpus_; -1: on the CPU.
  std::map<std::uint32_t, std::string> machine_of_slot_;  // Of slots on further machines of the worker.
  std::map<Token, Held> held_;
  std::optional<std::uint32_t> seconds_left_;
  std::map<DataId, DataId> data_;  // Data source -> the version that the worker found last.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_RESOURCES_H_
