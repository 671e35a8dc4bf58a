#include "notify/hook_check.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/files/file.h"
#include "base/run_program.h"
#include "base/status.h"
#include "rpc/pem_files.h"
#include "rpc/private_file.h"

namespace inlier {
namespace {

constexpr std::size_t kSecretFileBytesMax = 64 << 10;
constexpr std::size_t kUrlBytesMax = 4096;

absl::Status Wrong(const std::string& what) { return absl::InvalidArgumentError(what); }

absl::Status CheckHook(const v1::HookConfig& hook, bool insecure) {
  if (hook.has_command() == hook.has_url()) return Wrong("a hook needs a command or a url, one of the two");
  if (hook.has_command()) {
    if (hook.has_secret_file() || hook.has_tls_ca())
      return Wrong("secret_file and tls_ca are for a url, not for a command");
    const absl::Status command = CheckProgram(hook.command());
    return command.ok() ? command : Wrong(absl::StrCat("command: ", command.message()));
  }
  const absl::StatusOr<HookUrl> url = ParseHookUrl(hook.url());
  if (!url.ok()) return url.status();
  if (hook.has_tls_ca() && !url->tls) return Wrong("tls_ca is for a url that begins with https://");
  if (hook.has_tls_ca()) RETURN_IF_ERROR(LoadAuthorities("tls_ca", hook.tls_ca()).status());
  if (hook.has_secret_file()) RETURN_IF_ERROR(ReadSecret(hook.secret_file(), insecure).status());
  return absl::OkStatus();
}

}  // namespace

std::string HookKey(const std::string& event, const v1::HookConfig& hook) {
  if (hook.has_command()) return absl::StrCat(event, " ", hook.command());
  const std::string& url = hook.url();
  const std::size_t scheme = url.find("://");
  const std::size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  return absl::StrCat(event, " ", url.substr(0, url.find_first_of("/?#", host)), " (",
                      Sha256Hex(url).substr(0, 8), ")");
}

std::vector<std::pair<std::string, v1::HookConfig>> HooksOf(const v1::HooksConfig& hooks) {
  std::vector<std::pair<std::string, v1::HookConfig>> all;
  for (const v1::HookConfig& hook : hooks.on_end()) all.emplace_back(kEndEvent, hook);
  for (const v1::HookConfig& hook : hooks.on_failure()) all.emplace_back(kFailureEvent, hook);
  for (const v1::HookConfig& hook : hooks.on_no_worker()) all.emplace_back(kNoWorkerEvent, hook);
  return all;
}

std::string NotificationId(std::uint64_t number, WallTime at) {
  return absl::StrCat("n-", number, "-", at.unix_ms);
}

absl::StatusOr<HookUrl> ParseHookUrl(const std::string& text) {
  HookUrl url;
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "https://")) {
    url.tls = true;
  } else if (!absl::ConsumePrefix(&rest, "http://")) {
    return Wrong("url: it must begin with http:// or https://");
  }
  if (text.size() > kUrlBytesMax || !std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; }))
    return Wrong(absl::StrCat("url: at most ", kUrlBytesMax,
                              " printable ASCII characters without spaces; write others as %XX"));
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  absl::string_view host = rest.substr(0, end);
  url.target = std::string(rest.substr(end, rest.find('#') - end));
  if (url.target.empty() || url.target.front() != '/') url.target = absl::StrCat("/", url.target);
  if (host.find('@') != absl::string_view::npos)
    return Wrong("url: a name and a password before @ are not sent; sign the body with secret_file instead");
  url.host_header = std::string(host);
  url.port = url.tls ? 443 : 80;
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  if (colon != absl::string_view::npos && (bracket == absl::string_view::npos || colon > bracket)) {
    std::uint32_t port = 0;
    if (!absl::SimpleAtoi(host.substr(colon + 1), &port) || port == 0 || port > 65535)
      return Wrong("url: the port must be from 1 to 65535");
    url.port = static_cast<std::uint16_t>(port);
    host = host.substr(0, colon);
  }
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host.empty()) return Wrong("url: it has no host");
  url.host = std::string(host);
  return url;
}

absl::StatusOr<std::string> ReadSecret(const std::string& file, bool insecure) {
  if (file.empty()) return std::string();
  if (!insecure) RETURN_IF_ERROR(CheckPrivate("secret_file", file));
  const absl::StatusOr<std::string> text = ReadSmallFile(file, kSecretFileBytesMax);
  if (!text.ok()) return Wrong(absl::StrCat("secret_file: ", std::string(text.status().message())));
  std::string line = text->substr(0, text->find('\n'));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.empty())
    return Wrong(absl::StrCat("secret_file: the first line of ", file, " is empty; it is the key"));
  return line;
}

absl::Status CheckHooks(const v1::CoordinatorConfig& config) {
  std::set<std::string> known;
  for (const auto& [event, hook] : HooksOf(config.hooks())) {
    const std::string field = absl::StrCat("hooks.on_", event);
    if (absl::Status status = CheckHook(hook, config.insecure()); !status.ok())
      return Wrong(absl::StrCat(field, ": ", std::string(status.message())));
    if (!known.insert(HookKey(event, hook)).second)
      return Wrong(absl::StrCat(field, ": two hooks have the same receiver; remove one"));
  }
  return absl::OkStatus();
}

v1::CoordinatorConfig WithoutSecrets(v1::CoordinatorConfig config) {
  v1::HooksConfig& hooks = *config.mutable_hooks();
  const auto hide = [](const char* event, google::protobuf::RepeatedPtrField<v1::HookConfig>& list) {
    for (v1::HookConfig& hook : list) {
      if (hook.has_url()) hook.set_url(HookKey(event, hook).substr(std::string_view(event).size() + 1));
    }
  };
  hide(kEndEvent, *hooks.mutable_on_end());
  hide(kFailureEvent, *hooks.mutable_on_failure());
  hide(kNoWorkerEvent, *hooks.mutable_on_no_worker());
  if (hooks.ByteSizeLong() == 0) config.clear_hooks();
  return config;
}

}  // namespace inlier
