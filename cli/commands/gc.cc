// inlier gc: removes checkpoints that are no longer needed.
#include <chrono>
#include <memory>
#include <string>

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

std::string Mebibytes(std::uint64_t bytes) {
  return absl::StrFormat("%.1f", static_cast<double>(bytes) / (1 << 20));
}

void Report(Session& session, const v1::CollectResponse& response, bool dry_run) {
  if (session.mode() == OutputMode::kJson) return PrintExact(ToJson(response));
  if (dry_run || session.people()) {
    TextTable table({"MiB", "file", "reason"});
    for (const v1::CollectedFile& file : response.files())
      table.AddRow({Mebibytes(file.bytes()), file.path(), file.reason()});
    if (!table.empty()) Print(table.ToString());
  }
  if (!session.people()) return;
  const auto files = [](std::uint64_t count) { return absl::StrCat(count, count == 1 ? " file" : " files"); };
  Print(absl::StrCat(files(response.files_total()), ", ", Mebibytes(response.bytes_total()), " MiB, ",
                     dry_run ? "would be removed" : "removed", "; ", files(response.files_kept()), ", ",
                     Mebibytes(response.bytes_kept()), " MiB, kept\n"));
}

}  // namespace

void AddGcCommand(CLI::App& app, Session& session) {
  auto request = std::make_shared<v1::CollectRequest>();
  CLI::App* command = app.add_subcommand("gc", "Remove checkpoints that are no longer needed");
  AddField(*command, "--dry-run", *request, "Only list the files to remove, with the reason");
  AddField(*command, "--keep-days", *request, "Keep unreported files for so many days; at least an hour")
      ->default_str(absl::StrCat(request->keep_days()));
  OnUse(*command, session, [&session, request]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, session.Channel());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kAnswerWithin);
    v1::CollectResponse response;
    const grpc::Status status = v1::ArtifactService::NewStub(channel)->Collect(&context, *request, &response);
    RETURN_IF_ERROR(session.Answered(context, status));
    Report(session, response, request->dry_run());
    return absl::OkStatus();
  });
}

}  // namespace inlier
