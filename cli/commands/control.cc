// inlier cancel, inlier retry: one sweep or one trial.
#include <iostream>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/commands.h"

namespace inlier {
namespace {

// "t-17" is a trial; everything else names a sweep.
bool NamesTrial(const std::string& name) { return absl::StartsWith(name, "t-"); }

template <typename Request>
Request MakeRequest(const std::string& name) {
  Request request;
  if (NamesTrial(name)) {
    request.set_trial(name);
  } else {
    request.set_sweep(name);
  }
  return request;
}

void Report(Session& session, const google::protobuf::Message& response, uint64_t count,
            const std::string& done) {
  if (session.mode() == OutputMode::kJson) {
    std::cout << ToJson(response) << std::flush;
  } else if (session.people()) {
    std::cout << count << (count == 1 ? " trial " : " trials ") << done << "\n";
  }
}

}  // namespace

void AddCancelCommand(CLI::App& app, Session& session) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("cancel", "End a sweep or one trial; what runs is stopped");
  command->add_option("sweep-or-trial", *name, "Sweep id or name, or trial id (t-17)")->required();
  command->callback([&session, name] {
    const auto response =
        session.Call(&v1::SweepService::Stub::Cancel, MakeRequest<v1::CancelRequest>(*name));
    if (!response.ok()) return session.Finish(response.status());
    Report(session, *response, response->cancelled(), "cancelled");
  });
}

void AddRetryCommand(CLI::App& app, Session& session) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("retry", "Make failed or cancelled trials ready again");
  command->add_option("sweep-or-trial", *name, "Sweep id or name, or trial id (t-17)")->required();
  command->callback([&session, name] {
    const auto response = session.Call(&v1::SweepService::Stub::Retry, MakeRequest<v1::RetryRequest>(*name));
    if (!response.ok()) return session.Finish(response.status());
    Report(session, *response, response->retried(), "ready again");
  });
}

}  // namespace inlier
