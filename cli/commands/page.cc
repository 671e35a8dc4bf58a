// inlier page: the coordinator's page in a browser, or a sweep as one file.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/files/atomic_file.h"
#include "base/files/file.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/saved_page.h"
#include "nlohmann/json.hpp"
#include "rpc/endpoint_file.h"
#include "rpc/rpc.h"
#include "rpc/server_probe.h"

namespace inlier {
namespace {

struct PageArguments {
  std::string sweep, output, address;
  bool print = false;
};

struct PagePlace {
  std::string address;
  bool is_default = false;  // Nothing named it: it gets no token.
};

// host:port of the page: as named, else of the endpoint file, else the default port of the coordinator's host.
absl::StatusOr<PagePlace> PlaceOfPage(Session& session, const PageArguments& arguments) {
  if (!arguments.address.empty()) {
    ASSIGN_OR_RETURN(const Address address, ParseAddress(arguments.address, "--address"));
    return PagePlace{address.ToString()};
  }
  session.reads = false;  // The page is a coordinator's, which may be starting.
  const absl::StatusOr<Answerer> found = session.AwaitAnswerer();
  if (absl::IsUnavailable(found.status()))
    return absl::UnavailableError(
        absl::StrCat(std::string(found.status().message()),
                     "; a sweep as a file needs none: inlier page SWEEP -o sweep.html"));
  ASSIGN_OR_RETURN(const Answerer answerer, found);
  if (answerer.kind == Answerer::kFolder) {
    ASSIGN_OR_RETURN(const v1::Endpoint endpoint, ReadEndpointFile(session.dir));
    return PagePlace{endpoint.http()};
  }
  ASSIGN_OR_RETURN(Address address, ParseAddress(answerer.address, "--server"));
  ASSIGN_OR_RETURN(const Address usual, ParseAddress(v1::CoordinatorConfig().http_listen(), "http_listen"));
  address.port = usual.port;
  return PagePlace{address.ToString(), answerer.kind == Answerer::kDefault};
}

bool HasBrowser() {
  const char* display = std::getenv("DISPLAY");
  const char* wayland = std::getenv("WAYLAND_DISPLAY");
  const bool screen = (display != nullptr && *display != '\0') || (wayland != nullptr && *wayland != '\0');
  return screen && std::filesystem::exists("/usr/bin/xdg-open");
}

// The address has a token, which the arguments of a process would show to every user: the browser gets a private file
// that leads there.
absl::Status OpenBrowser(const std::filesystem::path& dir, const std::string& url) {
  const std::filesystem::path file = std::filesystem::absolute(dir) / "page.html";
  RETURN_IF_ERROR(WriteSecretFile(
      file,
      absl::StrCat("<!doctype html><meta charset=\"utf-8\"><title>inlier</title><script>location.replace(",
                   nlohmann::json(url).dump(), ")</script>\n")));
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    ::execl("/usr/bin/xdg-open", "xdg-open", file.c_str(), nullptr);
    ::_exit(127);
  }
  if (child < 0) return absl::UnavailableError("xdg-open could not be started; open the address by hand");
  return absl::OkStatus();
}

// The page knows a sweep by its id.
absl::StatusOr<std::string> ViewOf(Session& session, const PageArguments& arguments) {
  if (arguments.sweep.empty()) return "/sweeps";
  const auto sweep = session.GetSweep(arguments.sweep);
  // Where only the page's port can be reached, as through a tunnel, the page looks for it.
  if (absl::IsUnavailable(sweep.status()) && !arguments.address.empty())
    return absl::StrCat("/sweep/", arguments.sweep);
  RETURN_IF_ERROR(sweep.status());
  return absl::StrCat("/sweep/", sweep->sweep_id());
}

absl::Status ShowPage(Session& session, const PageArguments& arguments) {
  ASSIGN_OR_RETURN(const PagePlace found, PlaceOfPage(session, arguments));
  ClientSecurity security;
  if (!found.is_default) {
    ASSIGN_OR_RETURN(security, session.Security());
  }
  const std::string base =
      absl::StrCat(SpeaksTls(found.address) ? "https://" : "http://", found.address, "/");
  ASSIGN_OR_RETURN(const std::string place, ViewOf(session, arguments));
  const std::string url = security.token.empty()
                              ? absl::StrCat(base, "#", place)
                              : absl::StrCat(base, "#token=", security.token, "&to=", place);
  if (session.mode() == OutputMode::kJson) {
    PrintJson(nlohmann::json{{"url", url}});
    return absl::OkStatus();
  }
  Print(url + "\n");
  if (arguments.print || !session.people() || !HasBrowser() || !std::filesystem::is_directory(session.dir))
    return absl::OkStatus();
  return OpenBrowser(session.dir, url);
}

absl::Status SavePage(Session& session, const PageArguments& arguments) {
  if (arguments.sweep.empty())
    return absl::InvalidArgumentError("-o saves one sweep; name it: inlier page SWEEP -o sweep.html");
  ASSIGN_OR_RETURN(const std::string page, SavedPage(session, arguments.sweep));
  RETURN_IF_ERROR(WriteFileAtomically(arguments.output, page));
  if (session.mode() == OutputMode::kJson) {
    PrintJson(nlohmann::json{{"file", arguments.output}, {"bytes", page.size()}});
  } else if (session.people()) {
    Print(absl::StrCat("written to ", arguments.output, " (", page.size() / 1024,
                       " KiB); it opens without a server\n"));
  }
  return absl::OkStatus();
}

}  // namespace

void AddPageCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<PageArguments>();
  CLI::App* command = app.add_subcommand(
      "page",
      "Print the address of the coordinator's page, with the token, and open it; or save a sweep as a file");
  command->add_option("sweep", arguments->sweep, "Sweep id or name");
  CLI::Option* output = command->add_option("-o,--output", arguments->output,
                                            "Save the sweep as this HTML file, which needs no server");
  command->add_flag("--print", arguments->print, "Only print the address")->excludes(output);
  command
      ->add_option("--address", arguments->address,
                   "HOST:PORT of the page; default: that of --dir, else port 7421 of the host of --server")
      ->excludes(output);
  command->callback([&session, arguments] {
    session.Finish(arguments->output.empty() ? ShowPage(session, *arguments) : SavePage(session, *arguments));
  });
}

}  // namespace inlier
