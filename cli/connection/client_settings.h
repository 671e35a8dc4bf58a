// Which coordinator or state folder the command line uses, and why: flags before environment variables, these before
// the configuration file of the user, that before the default.
//
// The first of them that names a coordinator (server) or a folder (dir) decides; server before dir. The file's credentials
// go only to the coordinator that the file names; those of a file without server and dir go to any.
//
// Thread safety: pure functions, but for ReadClientFile, which reads a file.
#ifndef INLIER_CLI_CONNECTION_CLIENT_SETTINGS_H_
#define INLIER_CLI_CONNECTION_CLIENT_SETTINGS_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace inlier {

inline constexpr char kDefaultDir[] = ".inlier";

// Settings of one source; empty: not set.
struct ClientSettings {
  std::string server, dir;
  std::string tls_ca, tls_certificate, tls_key, token_file;  // Of the file only.
};

// $XDG_CONFIG_HOME/inlier/client.yaml, or ~/.config/inlier/client.yaml; empty without both variables (null: not set).
std::filesystem::path ClientFile(const char* xdg_config_home, const char* home);

// Reads the file: a YAML mapping of the fields of ClientSettings to texts. Relative paths are made relative to the
// file's folder, "~/" to `home`. Empty settings when there is no such file; InvalidArgument with its place for an
// unknown or doubled key and a value that is no text.
absl::StatusOr<ClientSettings> ReadClientFile(const std::filesystem::path& file, const std::string& home);

struct ClientChoice {
  std::string server;  // Empty: the coordinator of `dir`.
  std::filesystem::path dir;
  std::string server_by, dir_by;  // "--dir", "INLIER_DIR", the file's path; empty: the default.
  // The coordinator was named by something, and nothing else may answer in its place.
  bool named() const { return !server.empty() || !dir_by.empty(); }
  const std::string& by() const { return server.empty() ? dir_by : server_by; }
  ClientSettings credentials;  // Of the file, where they apply.
};

// REQUIRES: `file_name` is the file's path, for people.
ClientChoice ChooseCoordinator(const ClientSettings& flags, const ClientSettings& environment,
                               const ClientSettings& file, const std::string& file_name);

}  // namespace inlier

#endif  // INLIER_CLI_CONNECTION_CLIENT_SETTINGS_H_
