#include "worker/machines/describe.h"

#include <google/protobuf/util/json_util.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/environment.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/status.h"
#include "base/version.h"
#include "inlier/v1/config.pb.h"
#include "inlier/v1/machine.pb.h"
#include "rpc/daemon.h"
#include "rpc/rpc.h"
#include "worker/gpus/gpu_inventory.h"
#include "worker/slots/find_slots.h"
#include "worker/worker_setup.h"

namespace inlier {
namespace {

constexpr char kProgram[] = "inlier-worker describe-machine";

absl::StatusOr<v1::MachineReport> Describe(const char* file) {
  const absl::StatusOr<std::string> json = ReadFile(file);
  if (!json.ok())
    return absl::Status(json.status().code(),
                        absl::StrCat(json.status().message(),
                                     "; state_dir must be a folder that all machines of "
                                     "the worker share"));
  v1::WorkerConfig config;
  if (!google::protobuf::util::JsonStringToMessage(*json, &config).ok())
    return absl::InvalidArgumentError(absl::StrCat(file, " is no WorkerConfig of this version of inlier"));
  RETURN_IF_ERROR(PrepareStateFolder(config));
  if (!std::filesystem::is_directory(config.data_dir()))
    return absl::NotFoundError(absl::StrCat("data_dir ", config.data_dir(),
                                            " is not here; machines of one worker share their folders"));
  RETURN_IF_ERROR(ProbeBind({.host = config.address(), .port = 0}, "machines.address"));
  ASSIGN_OR_RETURN(const TrialProgram trial,
                   CheckTrialProgram(config.trial_program(),
                                     {config.trial_environment().begin(), config.trial_environment().end()}));
  const GpuInventory inventory = FindGpus(EnvironmentVariable("CUDA_VISIBLE_DEVICES"));
  v1::MachineReport report;
  report.set_host(HostName());
  report.set_version(Version());
  report.set_memory_mib(MemoryForTrials(config));
  for (const SlotPlan& slot : FindSlots(config, inventory, trial.has_cuda)) {
    v1::MachineSlot& shown = *report.add_slots();
    shown.set_device(slot.device);
    shown.set_threads(slot.threads);
    shown.mutable_cpus()->Assign(slot.cpus.begin(), slot.cpus.end());
    if (slot.device_memory_mib > 0) shown.set_device_memory_mib(slot.device_memory_mib);
    if (slot.on_gpu()) shown.set_cuda_visible(slot.cuda_visible);
  }
  return report;
}

}  // namespace

int DescribeMachine(const char* file) {
  InitLog(kProgram, "warn");
  const absl::StatusOr<v1::MachineReport> report = Describe(file);
  if (!report.ok()) return ReportFatal(kProgram, report.status());
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(*report, &json).ok()) return kExitFailure;
  std::puts(json.c_str());
  return kExitOk;
}

}  // namespace inlier
