// inlier doctor: checks a state folder and the versions of its programs; makes only repairs that cannot lose
// data.
#include "coordinator/store/doctor.h"

#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "base/version.h"
#include "cli/commands.h"
#include "nlohmann/json.hpp"
#include "rpc/endpoint_file.h"

namespace inlier {
namespace {

constexpr double kDoctorSeconds = 5;
constexpr char kSameVersion[] = "install the same version everywhere";

struct Versions {
  std::string coordinator;  // Empty: none runs, or unknown.
  std::vector<v1::WorkerStatus> workers;
};

// Adds the findings from the endpoint file, the running coordinator and its workers.
Versions CheckPrograms(Session& session, DoctorReport& report) {
  Versions versions;
  const auto add = [&report](const std::string& check, bool problem, const std::string& what,
                             const std::string& remedy, bool repairable = false) {
    report.findings.push_back(
        {.check = check, .problem = problem, .what = what, .remedy = remedy, .repairable = repairable});
  };
  report.checks.insert(report.checks.end(), {"endpoint_file", "versions"});
  const std::string file = EndpointFilePath(session.dir).string();
  const absl::StatusOr<FolderCoordinator> found = CoordinatorOf(session.dir);
  if (!found.ok()) {
    add("endpoint_file", true, std::string(found.status().message()),
        "stop the coordinator, remove the file");
    return versions;
  }
  if (found->state == FolderCoordinator::kStarting) {
    add("versions", false, "a coordinator is starting", "examine the folder again when it runs");
    return versions;
  }
  if (found->state == FolderCoordinator::kNone) {
    std::error_code error;
    if (!std::filesystem::exists(file, error)) return versions;
    const absl::StatusOr<v1::Endpoint> left = ReadEndpointFile(session.dir);
    add("endpoint_file", false,
        absl::StrCat(file,
                     left.ok() ? absl::StrCat(" names process ", left->pid()) : std::string(" is damaged"),
                     ", and no coordinator runs in this folder: one was killed, or the folder is a copy"),
        "start a coordinator, or remove the file with inlier doctor --repair", true);
    return versions;
  }
  versions.coordinator = found->endpoint.version();
  if (versions.coordinator != Version()) {
    add("versions", true,
        absl::StrCat("the running coordinator is inlier ", versions.coordinator, ", this program ",
                     Version()),
        kSameVersion);
  }
  const auto workers = session.ListWorkers(/*connected=*/true, kDoctorSeconds);
  if (!workers.ok()) {
    add("versions", true,
        absl::StrCat("the coordinator of process ", found->endpoint.pid(),
                     " did not list its workers: ", std::string(workers.status().message())),
        "see its log");
    return versions;
  }
  for (const v1::WorkerStatus& worker : workers->workers()) {
    if (!worker.connected()) continue;
    versions.workers.push_back(worker);
    if (worker.version() == versions.coordinator) continue;
    // The coordinator accepts the version of every connected worker.
    add("versions", false,
        absl::StrCat("worker ", worker.name(), " on ", worker.host(), " is inlier ", worker.version(),
                     ", the coordinator ", versions.coordinator,
                     worker.outdated() ? ": it finishes what it runs and gets nothing new" : ""),
        "upgrade the worker");
  }
  return versions;
}

void PrintForPrograms(const DoctorReport& report, const Versions& versions,
                      const std::vector<std::string>& done) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array(),
                         workers = nlohmann::ordered_json::array();
  for (const Finding& finding : report.findings) {
    findings.push_back({{"check", finding.check},
                        {"problem", finding.problem},
                        {"what", finding.what},
                        {"remedy", finding.remedy},
                        {"repairable", finding.repairable}});
  }
  for (const v1::WorkerStatus& worker : versions.workers)
    workers.push_back({{"name", worker.name()}, {"host", worker.host()}, {"version", worker.version()}});
  PrintJson({{"healthy", report.healthy()},
             {"version", Version()},
             {"coordinator_version", versions.coordinator},
             {"workers", workers},
             {"schema_version", report.schema_version},
             {"schema_version_known", report.schema_version_known},
             {"database_bytes", report.database_bytes},
             {"free_bytes", report.free_bytes},
             {"checks", report.checks},
             {"findings", findings},
             {"repairs", done}});
}

void PrintForPeople(const Session& session, const DoctorReport& report, const Versions& versions,
                    const std::vector<std::string>& done) {
  for (const std::string& repair : done) Print(absl::StrCat("repaired: ", repair, "\n"));
  for (const Finding& finding : report.findings) {
    if (!finding.problem && !session.people()) continue;
    Print(absl::StrCat(finding.problem ? "PROBLEM " : "note    ", finding.check, ": ",
                       Shown(finding.what, Layout::kCell), "\n        ", Shown(finding.remedy, Layout::kCell),
                       "\n"));
  }
  if (!session.people()) return;
  Print(absl::StrFormat(
      "%s: %s; %d checks; schema version %d; database %.1f MB, %.1f GB free; inlier %s, coordinator %s, %d "
      "worker%s\n",
      session.dir.string(), report.healthy() ? "healthy" : "NOT healthy", report.checks.size(),
      report.schema_version, report.database_bytes / 1e6, report.free_bytes / 1e9, Version(),
      versions.coordinator.empty() ? "not running" : versions.coordinator, versions.workers.size(),
      versions.workers.size() == 1 ? "" : "s"));
}

absl::Status Doctor(Session& session, const DoctorOptions& options, bool repair) {
  if (!session.server.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the doctor reads files: run it with --dir on the machine of ", session.server,
                     ", without --server"));
  }
  ASSIGN_OR_RETURN(DoctorReport report, ExamineStateFolder(session.dir, options));
  Versions versions = CheckPrograms(session, report);
  std::vector<std::string> done;
  if (repair) {
    ASSIGN_OR_RETURN(done, RepairStateFolder(session.dir, report));
    ASSIGN_OR_RETURN(report, ExamineStateFolder(session.dir, options));
    versions = CheckPrograms(session, report);
  }
  if (session.json) {
    PrintForPrograms(report, versions, done);
  } else {
    PrintForPeople(session, report, versions, done);
  }
  if (!report.healthy()) session.Finish(kExitFailed);
  return absl::OkStatus();
}

}  // namespace

void AddDoctorCommand(CLI::App& app, Session& session) {
  auto options = std::make_shared<DoctorOptions>();
  auto repair = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "doctor",
      "Check the state folder of --dir: database, invariants, files, versions; exit status 1 on a problem");
  command->add_flag("--deep", options->deep,
                    "Compare the digest of every artifact and checkpoint, not only of the first GiB of them");
  command->add_flag(
      "--repair", *repair,
      "Make the safe repairs, after a backup; the coordinator must be stopped. Never removes a result");
  OnUse(*command, session, [&session, options, repair] { return Doctor(session, *options, *repair); });
}

}  // namespace inlier
