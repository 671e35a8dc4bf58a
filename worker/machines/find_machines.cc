#include "worker/machines/find_machines.h"

#include <google/protobuf/util/json_util.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <filesystem>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/run_program.h"
#include "base/status.h"
#include "base/version.h"
#include "rpc/config.h"
#include "worker/machines/describe.h"
#include "worker/machines/launch.h"
#include "worker/worker_setup.h"

namespace inlier {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using Machines = google::protobuf::RepeatedPtrField<v1::MachineConfig>;
using Variable = std::function<std::string(const char*)>;

// A machine that is gone is noticed within a minute.
const std::vector<std::string> kSsh = {
    "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15", "{machine}"};
// A step of the worker's job, next to its own, with all that the job has on the node.
const std::vector<std::string> kSrun = {"srun",       "--overlap",       "--quiet", "--nodes=1",
                                        "--ntasks=1", "--cpu-bind=none", "--mem=0", "--nodelist={machine}"};

// The output of `words` on the machine that `launch` reaches; without `launch` on this one.
absl::StatusOr<std::string> Output(const std::vector<std::string>& launch,
                                   const std::vector<std::string>& words) {
  const Command command = DirectlyOnMachine(launch, words);
  return OutputOf({.program = command.program,
                   .arguments = command.arguments,
                   .environment = command.environment,
                   .limit = std::chrono::seconds(60),
                   .output_bytes_max = 1 << 20},
                  launch.empty() ? words.front() : launch.front());
}

// The further nodes of the job.
absl::Status AddNodes(const Variable& variable, Machines& machines) {
  const std::string nodes = variable("SLURM_JOB_NODELIST"), own = variable("SLURMD_NODENAME");
  if (nodes.empty() || own.empty())
    return absl::FailedPreconditionError(
        "job_nodes: this is no job of Slurm (SLURM_JOB_NODELIST or SLURMD_NODENAME is not set); start the "
        "worker in the script of one, or leave job_nodes out");
  ASSIGN_OR_RETURN(const std::string names, Output({}, {"scontrol", "show", "hostnames", nodes}));
  const std::vector<std::string> each = absl::StrSplit(names, '\n', absl::SkipWhitespace());
  for (const std::string& name : each) {
    if (name == own) continue;
    ASSIGN_OR_RETURN(const std::string node, Output({}, {"scontrol", "--oneliner", "show", "node", name}));
    v1::MachineConfig& machine = *machines.Add();
    machine.set_name(name);
    if (const std::string address = NodeAddressOf(node); !address.empty()) machine.set_address(address);
  }
  return absl::OkStatus();
}

// As numbers: the machine itself may know its name by an address that no other can reach (127.0.1.1).
absl::StatusOr<asio::ip::address> Resolve(const std::string& name) {
  asio::io_context io;
  boost::system::error_code error;
  const auto found = asio::ip::udp::resolver(io).resolve(name, "9", error);
  if (error || found.empty())
    return absl::NotFoundError(
        absl::StrCat("'", name, "' has no IP address here: ", error.message(), "; set machines.address"));
  return found.begin()->endpoint().address();
}

// The address from which this machine reaches `other`.
absl::StatusOr<std::string> AddressTowards(const asio::ip::address& other) {
  asio::io_context io;
  boost::system::error_code error;
  asio::ip::udp::socket socket(io);
  const asio::ip::udp::endpoint there(other, 9);
  socket.open(there.protocol(), error);
  if (!error) socket.connect(there, error);  // Sends nothing.
  const asio::ip::udp::endpoint own = error ? asio::ip::udp::endpoint() : socket.local_endpoint(error);
  if (error)
    return absl::UnavailableError(
        absl::StrCat("no way from here to ", other.to_string(), ": ", error.message(), "; set address"));
  return own.address().to_string();
}

// The machine's configuration, in the shared folder.
absl::StatusOr<std::string> WriteConfigFor(const v1::MachineConfig& machine, const std::string& address,
                                           v1::WorkerConfig config) {
  config.clear_machines();
  config.clear_launch();
  config.clear_job_nodes();
  config.set_address(address);
  if (machine.has_slots()) config.set_slots(machine.slots());
  const fs::path folder = fs::path(config.state_dir()) / "machines";
  RETURN_IF_ERROR(MakeWritableFolder(folder));
  const std::string file = (folder / absl::StrCat(machine.name(), ".json")).string();
  RETURN_IF_ERROR(WriteFileAtomically(file, DescribeConfig(config)));
  return file;
}

absl::StatusOr<v1::MachineReport> AskMachine(const std::vector<std::string>& launch,
                                             const std::string& file) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  RETURN_IF_ERROR(CheckPlainPath(self.string(), "this program"));
  const absl::StatusOr<std::string> text = Output(launch, {self.string(), kDescribeMachine, file});
  if (text.ok()) return ReadMachineReport(*text);
  return absl::Status(text.status().code(),
                      absl::StrCat(text.status().message(), "; `", absl::StrJoin(launch, " "),
                                   " true` must work for this user without a question"));
}

absl::Status AddMachine(const v1::MachineConfig& machine, const v1::WorkerConfig& config,
                        const std::vector<std::string>& launch, std::set<std::string>& hosts,
                        std::vector<SlotPlan>& slots, std::uint64_t& memory_mib) {
  ASSIGN_OR_RETURN(const std::vector<std::string> words, LaunchWords(launch, machine.name()));
  ASSIGN_OR_RETURN(const asio::ip::address address,
                   Resolve(machine.has_address() ? machine.address() : machine.name()));
  ASSIGN_OR_RETURN(const std::string file, WriteConfigFor(machine, address.to_string(), config));
  ASSIGN_OR_RETURN(const v1::MachineReport report, AskMachine(words, file));
  for (const v1::MachineSlot& found : report.slots()) {
    SlotPlan& slot = slots.emplace_back();
    slot.index = static_cast<std::uint32_t>(slots.size() - 1);
    slot.device = absl::StrCat(found.device(), "@", machine.name());
    slot.threads = found.threads();
    slot.cpus.assign(found.cpus().begin(), found.cpus().end());
    slot.device_memory_mib = found.device_memory_mib();
    slot.cuda_visible = found.cuda_visible();
    slot.machine = machine.name();
    slot.address = address.to_string();
    slot.launch = words;
  }
  memory_mib += report.memory_mib();
  if (!hosts.insert(report.host()).second)
    spdlog::warn(
        "machine_is_there_twice name={} host={} remedy=\"its GPUs and CPUs have two slots each: leave it "
        "out of machines, unless that is meant\"",
        machine.name(), report.host());
  spdlog::info("machine name={} host={} address={} slots={}", machine.name(), report.host(),
               slots.back().address, report.slots_size());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::MachineReport> ReadMachineReport(const std::string& text) {
  v1::MachineReport report;
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (!absl::StartsWith(*line, "{")) continue;
    google::protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = true;
    if (!google::protobuf::util::JsonStringToMessage(*line, &report, options).ok() || report.slots().empty())
      break;
    if (report.version() == Version()) return report;
    return absl::FailedPreconditionError(absl::StrCat("its inlier-worker is of version ", report.version(),
                                                      ", this one of ", Version(),
                                                      "; install the same version on both"));
  }
  return absl::InternalError(
      absl::StrCat("no report of a machine in what it printed: ", text.substr(0, 500)));
}

std::string NodeAddressOf(const std::string& scontrol) {
  const std::vector<std::string> words = absl::StrSplit(scontrol, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  for (const std::string& word : words) {
    if (absl::StartsWith(word, "NodeAddr=")) return word.substr(std::string_view("NodeAddr=").size());
  }
  return "";
}

absl::Status AddMachines(const v1::WorkerConfig& config, const Variable& variable,
                         std::vector<SlotPlan>& slots, std::uint64_t& memory_mib) {
  Machines machines = config.machines();
  if (config.job_nodes()) RETURN_IF_ERROR(AddNodes(variable, machines));
  if (machines.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckPlainPath(config.state_dir(), "state_dir"));
  std::vector<std::string> launch(config.launch().begin(), config.launch().end());
  if (launch.empty()) launch = config.job_nodes() ? kSrun : kSsh;
  const std::size_t own = slots.size();
  std::set<std::string> names, hosts = {HostName()};
  for (const v1::MachineConfig& machine : machines) {
    if (!names.insert(machine.name()).second)
      return absl::InvalidArgumentError(
          absl::StrCat("machines: ", machine.name(), " is there twice; name each once"));
    const absl::Status added = AddMachine(machine, config, launch, hosts, slots, memory_mib);
    if (!added.ok())
      return absl::Status(added.code(), absl::StrCat("machine ", machine.name(), ": ", added.message()));
  }
  ASSIGN_OR_RETURN(const asio::ip::address first, Resolve(slots.at(own).address));
  std::string address = config.address();
  if (address.empty()) {
    ASSIGN_OR_RETURN(address, AddressTowards(first));
  }
  for (std::size_t i = 0; i < own; ++i) slots[i].address = address;
  return absl::OkStatus();
}

}  // namespace inlier
