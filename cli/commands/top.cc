// inlier top: all active sweeps and the workers.
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/top_app.h"

namespace inlier {
namespace {

absl::Status Top(Session& session, bool plain) {
  RETURN_IF_ERROR(session.Sweeps().status());
  if (!plain && session.people() && Screen::IsUsable()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Screen> screen, Screen::Open());
    return RunTopApp(session, *screen);
  }
  ASSIGN_OR_RETURN(const Drawing drawing, TopOnce(session, TerminalWidth()));
  std::string text;
  for (const StyledLine& line : drawing) text += line.Text() + "\n";
  Print(text);
  return absl::OkStatus();
}

}  // namespace

void AddTopCommand(CLI::App& app, Session& session) {
  auto plain = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "top", "Show all active sweeps, what they run, and the workers; on a terminal live, else once");
  command->add_flag("--plain", *plain, "Once, as plain text, on a terminal too");
  command->callback([&session, plain] {
    CatchInterrupts();
    if (session.json)
      return session.Finish(absl::InvalidArgumentError(
          "top has no --json; `inlier status --json` and `inlier workers --json` have the same"));
    session.Finish(Top(session, *plain));
  });
}

}  // namespace inlier
