// One function a verb: adds the subcommand with its flags; on use runs it and sets the session's exit code.
#ifndef INLIER_CLI_COMMANDS_H_
#define INLIER_CLI_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "cli/connection/session.h"

namespace inlier {

void AddRunCommand(CLI::App& app, Session& session);
void AddUpCommand(CLI::App& app, Session& session);
void AddAnalyzeCommand(CLI::App& app, Session& session);
void AddCheckCommand(CLI::App& app, Session& session);
void AddSubmitCommand(CLI::App& app, Session& session);
void AddStatusCommand(CLI::App& app, Session& session);
void AddWatchCommand(CLI::App& app, Session& session);
void AddTopCommand(CLI::App& app, Session& session);
void AddTableCommand(CLI::App& app, Session& session);
void AddPlotCommand(CLI::App& app, Session& session);
void AddPageCommand(CLI::App& app, Session& session);
void AddQueryCommand(CLI::App& app, Session& session);
void AddExportCommand(CLI::App& app, Session& session);
void AddLogsCommand(CLI::App& app, Session& session);
void AddCancelCommand(CLI::App& app, Session& session);
void AddRetryCommand(CLI::App& app, Session& session);
void AddGcCommand(CLI::App& app, Session& session);
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
void AddCompletionCommand(CLI::App& app, Session& session);
// Hidden: what the completion scripts ask.
void AddCompleteCommand(CLI::App& app, Session& session);

}  // namespace inlier

#endif  // INLIER_CLI_COMMANDS_H_
