// One function a verb: adds the subcommand with its flags; on use runs it and sets the session's exit code. And what
// several of them share.
#ifndef INLIER_CLI_COMMANDS_H_
#define INLIER_CLI_COMMANDS_H_

#include <functional>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "cli/connection/session.h"

namespace inlier {

// Runs `work` when the verb is used; the session reports its error and has the exit code.
inline void OnUse(CLI::App& verb, Session& session, std::function<absl::Status()> work) {
  verb.callback([&session, work = std::move(work)] { session.Finish(work()); });
}

// "t-17" is a trial; any other name is a sweep.
inline bool NamesTrial(const std::string& name) { return absl::StartsWith(name, "t-"); }

// The request about a trial or a sweep.
template <typename Request>
Request RequestAbout(const std::string& name) {
  Request request;
  NamesTrial(name) ? request.set_trial(name) : request.set_sweep(name);
  return request;
}

void AddRunCommand(CLI::App& app, Session& session);
void AddUpCommand(CLI::App& app, Session& session);
void AddAnalyzeCommand(CLI::App& app, Session& session);
void AddCheckCommand(CLI::App& app, Session& session);
void AddConvertCommand(CLI::App& app, Session& session);
void AddImportCommand(CLI::App& app, Session& session);
void AddSubmitCommand(CLI::App& app, Session& session);
void AddStatusCommand(CLI::App& app, Session& session);
void AddWatchCommand(CLI::App& app, Session& session);
void AddTopCommand(CLI::App& app, Session& session);
void AddTableCommand(CLI::App& app, Session& session);
void AddPlotCommand(CLI::App& app, Session& session);
void AddPageCommand(CLI::App& app, Session& session);
void AddQueryCommand(CLI::App& app, Session& session);
void AddOptimizeCommand(CLI::App& app, Session& session);
void AddExportCommand(CLI::App& app, Session& session);
void AddLogsCommand(CLI::App& app, Session& session);
void AddCancelCommand(CLI::App& app, Session& session);
void AddRetryCommand(CLI::App& app, Session& session);
void AddGcCommand(CLI::App& app, Session& session);
void AddListCommand(CLI::App& app, Session& session);
void AddTagCommand(CLI::App& app, Session& session);
void AddNoteCommand(CLI::App& app, Session& session);
void AddRenameCommand(CLI::App& app, Session& session);
void AddArchiveCommand(CLI::App& app, Session& session);
void AddUnarchiveCommand(CLI::App& app, Session& session);
void AddRemoveCommand(CLI::App& app, Session& session);
void AddRestoreCommand(CLI::App& app, Session& session);
void AddPauseCommand(CLI::App& app, Session& session);
void AddResumeCommand(CLI::App& app, Session& session);
void AddDrainCommand(CLI::App& app, Session& session);
void AddEditCommand(CLI::App& app, Session& session);
void AddWhyCommand(CLI::App& app, Session& session);
void AddFleetCommand(CLI::App& app, Session& session);
void AddWorkersCommand(CLI::App& app, Session& session);
void AddWhereCommand(CLI::App& app, Session& session);
void AddBackupCommand(CLI::App& app, Session& session);
void AddDoctorCommand(CLI::App& app, Session& session);
void AddAuditCommand(CLI::App& app, Session& session);
void AddTokenCommand(CLI::App& app, Session& session);
void AddParamsCommand(CLI::App& app, Session& session);
void AddMeasurementsCommand(CLI::App& app, Session& session);
void AddProgramCommand(CLI::App& app, Session& session);
void AddCompletionCommand(CLI::App& app, Session& session);
// Hidden: what the completion scripts ask.
void AddCompleteCommand(CLI::App& app, Session& session);

}  // namespace inlier

#endif  // INLIER_CLI_COMMANDS_H_
