// The command line. Every verb is a file of cli/commands.
#include <algorithm>
#include <exception>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/version.h"
#include "cli/command_line.h"
#include "cli/commands/verbs.h"
#include "cli/connection/client_settings.h"
#include "cli/connection/session.h"
#include "cli/output.h"

namespace inlier {
namespace {

// The verbs that change nothing: they read the folder's database where no coordinator runs.
constexpr std::string_view kReadingVerbs[] = {"status", "table",   "plot",    "query",  "logs",
                                              "why",    "workers", "audit",   "export", "where",
                                              "page",   "check",   "program", "list"};

bool Reads(const CLI::App& app) {
  const std::vector<CLI::App*> verbs = app.get_subcommands();
  if (!verbs.empty() && verbs[0]->get_name() == "fleet") return verbs[0]->got_subcommand("status");
  return !verbs.empty() && std::find(std::begin(kReadingVerbs), std::end(kReadingVerbs),
                                     verbs[0]->get_name()) != std::end(kReadingVerbs);
}

void AddGlobalFlags(CLI::App& app, Session& session, ClientSettings& flags) {
  app.add_option(
      "--server", flags.server,
      "Coordinator, HOST:PORT (also INLIER_SERVER); default: the one of --dir, and 127.0.0.1:7420 when none "
      "runs in the default folder");
  app.add_option(
         "--dir", flags.dir,
         "State folder of `inlier up` and `inlier run` (also INLIER_DIR); where no coordinator runs in it, "
         "commands that change nothing read its database")
      ->default_str(kDefaultDir);
  app.add_option("--tls-ca", session.security.tls_ca,
                 "PEM file: CA of the coordinator's certificate; enables TLS")
      ->envname("INLIER_TLS_CA");
  app.add_option("--tls-certificate", session.security.tls_certificate,
                 "PEM file: client certificate, for a coordinator with tls_client_ca")
      ->envname("INLIER_TLS_CERTIFICATE");
  app.add_option("--tls-key", session.security.tls_key, "PEM file: key of --tls-certificate")
      ->envname("INLIER_TLS_KEY");
  app.add_option(
      "--token-file", session.token_file,
      "File with the token in its first line; default: the token in --dir, else that of the environment "
      "(INLIER_TOKEN_FILE, INLIER_TOKEN)");
  app.add_flag("--insecure", session.security.insecure, "Send the token in plain text to another machine");
  auto* json = app.add_flag("--json", session.json, "Print one JSON value on standard output");
  app.add_flag("--quiet,-q", session.quiet, "Print only the requested value")->excludes(json);
}

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) {
  inlier::Session session;
  CLI::App app("inlier: ablation sweeps of outlier-free transformers, from YAML to a table", "inlier");
  app.set_version_flag("--version", inlier::BuildId());
  app.require_subcommand(1);
  app.fallthrough();
  inlier::ClientSettings flags;
  inlier::AddGlobalFlags(app, session, flags);
  app.set_help_all_flag("--help-all", "Help of all commands");
  app.footer(
      "The user's defaults: ~/.config/inlier/client.yaml with server, dir, tls_ca, tls_certificate, tls_key, "
      "token_file.\n"
      "Flags come first, then the environment, then this file; `inlier where` prints what is used, and why."
      "\n\n"
      "Exit status: 0 done; 1 the sweep has failed or cancelled trials; 2 wrong flags; 3 wrong input; 4 no "
      "coordinator;\n"
      "5 not found; 6 refused in the present state; 7 fault of inlier or the machine; 130 interrupted.");

  inlier::AddVerbs(app, session);
  app.parse_complete_callback([&] {
    session.reads = inlier::Reads(app);
    if (const absl::Status status = session.Configure(flags); !status.ok()) {
      session.Finish(status);
      throw CLI::RuntimeError(session.exit_code());
    }
  });

  inlier::AddGlobalOptionsToHelp(app);
  std::vector<std::string> arguments =
      inlier::WithTagsOff(app, inlier::WithoutHelpVerb(app, {argv + std::min(1, argc), argv + argc}));
  if (const std::string fault = inlier::FaultOfArguments(app, arguments); !fault.empty()) {
    inlier::PrintError(fault);
    return inlier::kExitUsage;
  }
  std::ranges::reverse(arguments);  // As CLI11 takes them.
  try {
    app.parse(arguments);
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      inlier::PrintError(inlier::DescribeParseError(app, error));
      return inlier::kExitUsage;
    }
    std::ostringstream out;  // Help or version.
    app.exit(error, out, out);
    inlier::Print(out.str());
    return inlier::kExitOk;
  } catch (const std::exception& error) {
    inlier::PrintError(absl::StrCat("a fault of inlier: ", error.what()));
    return inlier::kExitInternal;
  }
  session.PrintNotice();
  if (const absl::Status printed = inlier::OutputStatus(); !printed.ok()) {
    inlier::PrintError(std::string(printed.message()));
    return inlier::kExitInternal;
  }
  return session.exit_code();
}
