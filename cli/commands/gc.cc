// inlier gc: frees removed sweeps, and removes checkpoints that are no longer needed.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "inlier/v1/artifact_service.grpc.pb.h"

namespace inlier {
namespace {

// Listing a million files takes a while.
constexpr auto kAnswerWithin = std::chrono::minutes(10);

struct GcArguments {
  v1::CollectRequest request;
  v1::ModelRules rules;
  std::vector<std::string> keep, of;
  bool yes = false;
};

std::string Files(std::uint64_t count, std::uint64_t bytes) {
  return absl::StrCat(count, count == 1 ? " file, " : " files, ", BytesText(bytes));
}

void ReportSweeps(const v1::CollectResponse& response, bool dry_run) {
  TextTable table({"sweep", "name", "files", "size", ""});
  for (const v1::CollectedSweep& sweep : response.sweeps()) {
    const char* freed = dry_run ? "removed before: would be freed for good" : "freed for good";
    table.AddRow({sweep.sweep_id(), sweep.name(), absl::StrCat(sweep.files()), BytesText(sweep.bytes()),
                  sweep.freed() ? freed : ""});
  }
  if (!table.empty()) Print(table.ToString(FittingWidth()));
}

void Report(Session& session, const v1::CollectResponse& response, bool dry_run) {
  if (session.mode() == OutputMode::kJson) return PrintExact(ToJson(response));
  if (dry_run || session.people()) {
    TextTable table({"MiB", "file", "reason"});
    for (const v1::CollectedFile& file : response.files())
      table.AddRow({absl::StrFormat("%.1f", static_cast<double>(file.bytes()) / (1 << 20)), file.path(),
                    file.reason()});
    if (!table.empty()) Print(table.ToString(FittingWidth()));
  }
  if (!session.people()) return;
  ReportSweeps(response, dry_run);
  if (response.models() > 0)
    Print(absl::StrCat(dry_run ? "The rules would let " : "The rules let ", response.models(),
                       response.models() == 1 ? " model go\n" : " models go\n"));
  Print(absl::StrCat(Files(response.files_total(), response.bytes_total()),
                     dry_run ? ", would be removed; " : ", removed; ",
                     Files(response.files_kept(), response.bytes_kept()),
                     ", kept\nFiles of what was freed go an hour after their last use, by a later gc\n"));
}

absl::StatusOr<v1::CollectResponse> Collect(Session& session, const v1::CollectRequest& request) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, session.Channel());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kAnswerWithin);
  v1::CollectResponse response;
  const grpc::Status status = v1::ArtifactService::NewStub(channel)->Collect(&context, request, &response);
  RETURN_IF_ERROR(session.Answered(context, status));
  return response;
}

// Before what cannot be undone, where sweeps are freed or models go that were kept so far: `asks`, or refuses.
absl::Status Confirm(Session& session, v1::CollectRequest request, bool asks) {
  request.set_dry_run(true);
  ASSIGN_OR_RETURN(const v1::CollectResponse plan, Collect(session, request));
  const auto sweeps = std::ranges::count_if(plan.sweeps(), [](const auto& one) { return one.freed(); });
  if (sweeps == 0 && plan.models() == 0) return absl::OkStatus();
  const std::string what =
      absl::StrCat(sweeps, sweeps == 1 ? " removed sweep" : " removed sweeps", " and let ", plan.models(),
                   plan.models() == 1 ? " model" : " models", " go, for good (",
                   Files(plan.files_total(), plan.bytes_total()), ")");
  if (!asks)
    return absl::FailedPreconditionError(
        absl::StrCat("nothing was removed: to free ", what,
                     ", --yes is needed where no terminal can be asked; --dry-run says what goes"));
  ReportSweeps(plan, /*dry_run=*/true);
  return Agrees(absl::StrCat("Free ", what, "?")) ? absl::OkStatus()
                                                  : absl::CancelledError("nothing was removed");
}

absl::Status Run(Session& session, GcArguments& arguments) {
  v1::CollectRequest& request = arguments.request;
  *arguments.rules.mutable_keep() = {arguments.keep.begin(), arguments.keep.end()};
  *arguments.rules.mutable_of() = {arguments.of.begin(), arguments.of.end()};
  if (arguments.rules.ByteSizeLong() > 0) *request.mutable_models() = arguments.rules;
  const bool asks = session.people() && StdinIsTerminal() && StdoutIsTerminal();
  if (!request.dry_run() && !arguments.yes) RETURN_IF_ERROR(Confirm(session, request, asks));
  ASSIGN_OR_RETURN(const v1::CollectResponse response, Collect(session, request));
  Report(session, response, request.dry_run());
  return absl::OkStatus();
}

}  // namespace

void AddGcCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<GcArguments>();
  CLI::App* command = app.add_subcommand(
      "gc", "Free removed sweeps for good, and remove checkpoints that are no longer needed");
  v1::CollectRequest& request = arguments->request;
  AddField(*command, "--dry-run", request, "Only list what would go, with the reason, and by sweep");
  AddField(*command, "--keep-days", request, "Keep unreported files for so many days; at least an hour")
      ->default_str(absl::StrCat(request.keep_days()));
  AddField(*command, "--keep-best", arguments->rules,
           "Of each ended sweep keep so many models, the best by --by; others go, their results stay",
           "best");
  AddField(*command, "--by", arguments->rules, "The final measurement of --keep-best")
      ->type_name("MEASUREMENT");
  AddField(*command, "--keep-last", arguments->rules, "Of each ended sweep keep the latest so many models",
           "last");
  command->add_option("--keep", arguments->keep, "Keep all models of this sweep; may be repeated")
      ->type_name("SWEEP")
      ->allow_extra_args(false);
  command->add_option("--of", arguments->of, "Let models go of these sweeps only")
      ->type_name("SWEEP")
      ->allow_extra_args(false);
  command->add_flag("--yes,-y", arguments->yes, "Do not ask");
  OnUse(*command, session, [&session, arguments] { return Run(session, *arguments); });
}

}  // namespace inlier
