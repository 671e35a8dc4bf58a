// inlier gc: removes checkpoints that are no longer needed.
#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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
  command->add_flag_callback(
      "--dry-run", [request] { request->set_dry_run(true); },
      "Only list the files to remove, with the reason");
  command
      ->add_option_function<std::uint32_t>(
          "--keep-days", [request](std::uint32_t days) { request->set_keep_days(days); },
          "Keep unreported files for so many days; at least an hour")
      ->default_str(absl::StrCat(request->keep_days()));
  command->callback([&session, request] {
    const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = session.Channel();
    if (!channel.ok()) return session.Finish(channel.status());
    const auto stub = v1::ArtifactService::NewStub(*channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kAnswerWithin);
    v1::CollectResponse response;
    const grpc::Status status = stub->Collect(&context, *request, &response);
    if (const absl::Status answered = session.Answered(context, status); !answered.ok())
      return session.Finish(answered);
    Report(session, response, request->dry_run());
  });
}

}  // namespace inlier
