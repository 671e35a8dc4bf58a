#include "cli/programs/python_module.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/processes/null_terminated.h"
#include "base/status.h"
#include "cli/programs/child_program.h"

namespace inlier {
namespace {

// Its arguments: the module, what needs it, and those of the module; without them it only finds out if it could run.
constexpr char kProgram[] =
    "import importlib, sys\n"
    "name, needed_by = sys.argv[1:3]\n"
    "del sys.argv[1:3]\n"
    "try:\n"
    "    main = importlib.import_module(name).main\n"
    "except ImportError as error:\n"
    "    sys.exit(f'error: {needed_by} needs the Python package inlier with Optuna: pip install "
    "inlier[optuna]; "
    "INLIER_PYTHON names another Python than {sys.executable} ({error})')\n"
    "sys.exit(main() if len(sys.argv) > 1 else print('ready'))\n";

std::string Python() {
  const char* const named = std::getenv("INLIER_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

}  // namespace

std::vector<std::string> PythonCommand(const PythonModule& module,
                                       const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {Python(), "-c", kProgram, module.name, module.needed_by};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

absl::Status NoPython(const PythonModule& module) {
  return absl::FailedPreconditionError(
      absl::StrCat(module.needed_by, " needs Python, and ", Python(),
                   " cannot be started; install it, or name one by INLIER_PYTHON, and its packages: pip "
                   "install inlier[optuna]"));
}

absl::Status CheckPython(const PythonModule& module) {
  const std::vector<std::string> command = PythonCommand(module, {});
  bool ready = false;
  ASSIGN_OR_RETURN(const ChildEnd end,
                   RunProgram(command[0], {command.begin() + 1, command.end()},
                              [&ready](const std::string& line) { ready = line == "ready"; }));
  if (end.succeeded() && ready) return absl::OkStatus();
  if (end.not_started()) return NoPython(module);
  const std::string& text = end.last_error;
  if (text.empty())
    return absl::FailedPreconditionError(
        absl::StrCat(module.needed_by, " needs Python, and ", Python(),
                     " is none: it said nothing; name one by INLIER_PYTHON"));
  return absl::FailedPreconditionError(text.starts_with("error: ") ? text.substr(7) : text);
}

absl::Status BecomePython(const PythonModule& module, std::vector<std::string> arguments,
                          const Session& session) {
  RETURN_IF_ERROR(CheckPython(module));
  const auto add = [&arguments](const char* option, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {option, value});
  };
  add("--server", session.server);
  if (session.server.empty() && !session.choice().dir_by.empty()) add("--dir", session.dir.string());
  add("--tls-ca", session.security.tls_ca);
  add("--token-file", session.token_file);
  const std::vector<std::string> command = PythonCommand(module, arguments);
  const std::vector<char*> words = NullTerminated(command);
  ::execvp(words[0], words.data());
  return ErrnoStatus(absl::StrCat("cannot start ", command[0]));
}

}  // namespace inlier
