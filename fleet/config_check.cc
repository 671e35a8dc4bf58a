#include "fleet/config_check.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/utf8.h"
#include "spec/schema/param_range.h"
#include "spec/schema/problems.h"

namespace inlier {
namespace {

constexpr std::size_t kWordBytesMax = 256;
constexpr std::uint32_t kShortestJobSeconds = 30;
// Options of sbatch that the fleet sets, or that would make its jobs something else.
constexpr char kOwnOptions[] =
    "account array begin chdir cluster-constraint clusters constraint dependency error gres help hold "
    "job-name mem "
    "no-requeue nodes open-mode output parsable partition qos requeue signal test-only time wait wrap";

// Printable and without what a line of a file would end by; UTF-8, as JSON needs it.
bool IsPlain(std::string_view text) {
  return text.size() <= 4096 && IsUtf8(text) &&
         std::ranges::none_of(text, [](unsigned char c) { return absl::ascii_iscntrl(c); });
}

// One word of letters, digits and the signs in names of partitions, accounts and resources; not an option.
bool IsEngineWord(std::string_view text) {
  constexpr std::string_view kOthers = ".,:=_-&|*()[]@+/";
  return !text.empty() && text.size() <= kWordBytesMax && text.front() != '-' &&
         std::ranges::all_of(text, [&](unsigned char c) {
           return absl::ascii_isalnum(c) || kOthers.find(static_cast<char>(c)) != std::string_view::npos;
         });
}

bool IsPath(std::string_view text) { return text.starts_with('/') && IsPlain(text); }

absl::Status Wrong(const char* field, const std::string& value, const char* takes) {
  return absl::InvalidArgumentError(
      absl::StrCat("fleet.", field, ": '", ReplaceInvalidUtf8(value), "' ", takes));
}

absl::Status CheckOption(const std::string& option) {
  if (option.size() < 3 || !option.starts_with("--") || !IsPlain(option))
    return Wrong("slurm.options", option, "is not an option of sbatch; write --name or --name=value");
  const std::string name = option.substr(2, option.find('=') - 2);
  // sbatch takes the beginning of a name for the name.
  for (const absl::string_view own : absl::StrSplit(kOwnOptions, ' ')) {
    if (absl::StartsWith(own, name))
      return Wrong("slurm.options", option, "is set by the fleet; use its own fields, or leave it out");
  }
  return absl::OkStatus();
}

absl::Status CheckSlurm(const v1::SlurmConfig& slurm) {
  const std::pair<const char*, const std::string*> words[] = {{"slurm.partition", &slurm.partition()},
                                                              {"slurm.account", &slurm.account()},
                                                              {"slurm.qos", &slurm.qos()},
                                                              {"slurm.gres", &slurm.gres()},
                                                              {"slurm.constraint", &slurm.constraint()}};
  for (const auto& [field, text] : words) {
    if (!text->empty() && !IsEngineWord(*text))
      return Wrong(
          field, *text,
          "has a character that no such name has; use letters, digits and . , : = _ - & | * ( ) [ ] @ + /");
  }
  for (const std::string& option : slurm.options()) RETURN_IF_ERROR(CheckOption(option));
  if (std::uint64_t{slurm.time_limit_minutes()} * 60 < slurm.notice_seconds() + kShortestJobSeconds)
    return absl::InvalidArgumentError(
        absl::StrCat("fleet.slurm.time_limit_minutes: ", slurm.time_limit_minutes(), " min leave less than ",
                     kShortestJobSeconds, " s before the notice of ", slurm.notice_seconds(),
                     " s; give jobs more time, or less notice (notice_seconds)"));
  const std::pair<const char*, const std::string*> paths[] = {{"slurm.output_folder", &slurm.output_folder()},
                                                              {"slurm.programs", &slurm.programs()},
                                                              {"slurm.conf", &slurm.conf()}};
  for (const auto& [field, path] : paths) {
    if (!path->empty() && !IsPath(*path)) return Wrong(field, *path, "must be an absolute path");
  }
  if (slurm.output_folder().find('%') != std::string::npos)
    return Wrong("slurm.output_folder", slurm.output_folder(),
                 "has a %, which Slurm replaces; name another folder");
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFleetConfig(const v1::FleetConfig& config) {
  Problems problems;
  CheckDeclarations(config, "fleet", &problems);
  RETURN_IF_ERROR(problems.ToStatus());
  if (config.minimum() > config.maximum())
    return absl::InvalidArgumentError(
        absl::StrCat("fleet.minimum: ", config.minimum(), " is above the maximum of ", config.maximum()));
  if (!IsPath(config.worker_config()))
    return Wrong("worker_config", config.worker_config(), "must be the absolute path of a file on the nodes");
  if (config.has_worker_program() && !IsPath(config.worker_program()))
    return Wrong("worker_program", config.worker_program(),
                 "must be the absolute path of inlier-worker on the nodes");
  for (const std::string& set : config.worker_set()) {
    if (set.find('=') == std::string::npos || set.front() == '=' || !IsPlain(set))
      return Wrong("worker_set", set, "is not of the form key=value");
  }
  return CheckSlurm(config.slurm());
}

bool JobsDiffer(const v1::FleetConfig& one, const v1::FleetConfig& other) {
  const auto of_a_job = [](v1::FleetConfig config) {
    config.clear_minimum();
    config.clear_maximum();
    config.clear_idle_seconds();
    config.clear_look_seconds();
    config.clear_call_seconds();
    config.clear_unclear_seconds();
    config.clear_connect_seconds();
    return config.SerializeAsString();
  };
  return of_a_job(one) != of_a_job(other);
}

std::uint32_t JobSeconds(const v1::FleetConfig& config) {
  return config.slurm().time_limit_minutes() * 60 - config.slurm().notice_seconds();
}

}  // namespace inlier
