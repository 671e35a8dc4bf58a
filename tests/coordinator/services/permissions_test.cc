// Who may make which call: every RPC of every service, by each kind of caller, about a sweep that one of them owns;
// and the audit of all that.
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"
#include "tests/coordinator/services/guarded_fixture.h"
#include "tests/coordinator/store/store_fixture.h"
#include "tests/fleet/fleet_config.h"

namespace inlier {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

// A sweep of alice, whose only trial has the same number.
struct Subject {
  int number = 0;
  std::string name;
  std::string sweep() const { return absl::StrCat("s-", number); }
  std::string trial() const { return absl::StrCat("t-", number); }
};

using MessagePtr = std::unique_ptr<google::protobuf::Message>;

template <typename Request>
MessagePtr Empty(const Subject&) {
  return std::make_unique<Request>();
}

template <typename Request>
MessagePtr Parsed(const std::string& text) {
  auto request = std::make_unique<Request>();
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, request.get())) << text;
  return request;
}

template <typename Request>
MessagePtr AboutSweep(const Subject& subject) {
  return Parsed<Request>(absl::StrCat("sweep: '", subject.sweep(), "'"));
}

template <typename Request>
MessagePtr AboutTrial(const Subject& subject) {
  return Parsed<Request>(absl::StrCat("trial: '", subject.trial(), "'"));
}

MessagePtr Submission(const Subject& subject) {
  auto request = std::make_unique<v1::SubmitSweepRequest>();
  *request->mutable_sweep() = SmallSweep(subject.name, 1);
  return request;
}

MessagePtr Edit(const Subject& subject) {
  auto request = std::make_unique<v1::EditSweepRequest>();
  request->set_sweep(subject.sweep());
  *request->mutable_spec() = SmallSweep(subject.name, 1);
  request->mutable_spec()->set_priority(1);
  return request;
}

MessagePtr Removal(const Subject& subject) {
  return Parsed<v1::RemoveSweepRequest>(absl::StrCat("sweep: '", subject.sweep(), "' cancel: true"));
}

MessagePtr Drain(const Subject&) { return Parsed<v1::DrainWorkerRequest>("worker: 'w'"); }

MessagePtr NewFleet(const Subject&) {
  auto request = std::make_unique<v1::SetFleetRequest>();
  *request->mutable_config() = SmallFleet();
  return request;
}

MessagePtr Scale(const Subject&) { return Parsed<v1::ScaleFleetRequest>("maximum: 2"); }

MessagePtr Analysis(const Subject&) {
  return Parsed<v1::StoreAnalysisRequest>(
      "model: 'org/name' numbers { setting: 'float' name: 'max_inf_norm' value: 185.25 }");
}

MessagePtr Sql(const Subject&) { return Parsed<v1::QueryRequest>("sql: 'SELECT count(*) FROM sweeps'"); }

MessagePtr WorkersSync(const Subject&) {
  HandWorker worker("w", 1);
  worker.fields().set_version(Version());
  worker.fields().set_draining(true);
  return std::make_unique<v1::WorkerSync>(worker.Sync());
}

// One of each kind.
enum Who { kAlice, kBob, kRoot, kReader, kWorker, kNobody, kWhos };

enum class Kind { kShows, kChanges, kOfWorkers };

// The answer to each caller, in the order of Who: 'k' OK; 'a' admitted, with any answer; 'd'
// PERMISSION_DENIED; 'u' UNAUTHENTICATED.
struct Rule {
  const char* method;
  const char* answers;
  Kind kind;
  MessagePtr (*request)(const Subject&);
};

const Rule kRules[] = {
    {"SubmitSweep", "kkkddu", Kind::kChanges, Submission},
    {"ImportSweep", "aaaddu", Kind::kChanges, Empty<v1::ImportSweepRequest>},
    {"Cancel", "kdkddu", Kind::kChanges, AboutSweep<v1::CancelRequest>},
    {"Cancel", "kdkddu", Kind::kChanges, AboutTrial<v1::CancelRequest>},
    {"Retry", "kdkddu", Kind::kChanges, AboutSweep<v1::RetryRequest>},
    {"Retry", "kdkddu", Kind::kChanges, AboutTrial<v1::RetryRequest>},
    {"PauseSweep", "kdkddu", Kind::kChanges, AboutSweep<v1::PauseSweepRequest>},
    {"ResumeSweep", "kdkddu", Kind::kChanges, AboutSweep<v1::ResumeSweepRequest>},
    {"EditSweep", "kdkddu", Kind::kChanges, Edit},
    {"LabelSweep", "kdkddu", Kind::kChanges, AboutSweep<v1::LabelSweepRequest>},
    {"RemoveSweep", "kdkddu", Kind::kChanges, Removal},
    {"RestoreSweep", "kdkddu", Kind::kChanges, AboutSweep<v1::RestoreSweepRequest>},
    {"ExtendSweep", "adaddu", Kind::kChanges, AboutSweep<v1::ExtendSweepRequest>},
    {"StoreAnalysis", "kkkddu", Kind::kChanges, Analysis},
    {"DrainWorker", "ddkddu", Kind::kChanges, Drain},
    {"SetFleet", "ddkddu", Kind::kChanges, NewFleet},
    {"ScaleFleet", "ddkddu", Kind::kChanges, Scale},
    {"StopFleet", "ddkddu", Kind::kChanges, Empty<v1::StopFleetRequest>},
    {"Collect", "ddkddu", Kind::kChanges, Empty<v1::CollectRequest>},
    {"ListSweeps", "kkkkdu", Kind::kShows, Empty<v1::ListSweepsRequest>},
    {"GetSweep", "kkkkdu", Kind::kShows, AboutSweep<v1::GetSweepRequest>},
    {"ListTrials", "kkkkdu", Kind::kShows, AboutSweep<v1::ListTrialsRequest>},
    {"WatchSweep", "kkkkdu", Kind::kShows, AboutSweep<v1::WatchSweepRequest>},
    {"Explain", "kkkkdu", Kind::kShows, AboutTrial<v1::ExplainRequest>},
    {"ListWorkers", "kkkkdu", Kind::kShows, Empty<v1::ListWorkersRequest>},
    {"GetDeviceTracks", "kkkkdu", Kind::kShows, Empty<v1::GetDeviceTracksRequest>},
    {"ListFleet", "kkkkdu", Kind::kShows, Empty<v1::ListFleetRequest>},
    {"Query", "kkkkdu", Kind::kShows, Sql},
    {"BuildTable", "aaaadu", Kind::kShows, AboutSweep<v1::BuildTableRequest>},
    {"GetLogs", "kkkkdu", Kind::kShows, AboutTrial<v1::GetLogsRequest>},
    {"GetSearch", "aaaadu", Kind::kShows, AboutSweep<v1::GetSearchRequest>},
    {"GetMatrix", "kkkkdu", Kind::kShows, AboutSweep<v1::GetMatrixRequest>},
    {"Session", "ddddku", Kind::kOfWorkers, WorkersSync},
    {"Sync", "ddddku", Kind::kOfWorkers, WorkersSync},
    {"Upload", "ddddau", Kind::kOfWorkers, Empty<v1::UploadArtifactRequest>},
    {"DescribeStore", "ddddau", Kind::kOfWorkers, Empty<v1::DescribeStoreRequest>},
    {"Stat", "ddddau", Kind::kOfWorkers, Empty<v1::StatArtifactRequest>},
    {"Download", "ddddau", Kind::kOfWorkers, Empty<v1::DownloadArtifactRequest>},
};

bool IsAudited(const Rule& rule, char answer) {
  const std::set<std::string> take = {"Session", "Sync", "Upload"};  // The other calls of workers only read.
  if (rule.kind == Kind::kOfWorkers) return take.contains(rule.method) && (answer == 'd' || answer == 'u');
  return rule.kind == Kind::kChanges;
}

class PermissionsTest : public GuardedTest {
 protected:
  struct Named {
    std::string name, role;
    ClientSecurity security;
  };

  PermissionsTest() {
    config_.set_lease_ttl_ms(3'600'000);  // The worker stays, however long it takes.
  }

  void UseTokens() {
    const std::vector<std::pair<std::string, Role>> people = {{"alice", Role::kSubmit},
                                                              {"bob", Role::kSubmit},
                                                              {"root", Role::kAdmin},
                                                              {"reader", Role::kRead},
                                                              {"worker", Role::kWork}};
    for (const auto& [name, role] : people)
      callers_.push_back({name, RoleName(role), WithToken(AddToken(role, name))});
    callers_.push_back({"", "", ClientSecurity()});
  }
  void UseCertificates() {
    UseMutualTls();
    config_.add_admins("root");
    for (const char* name : {"alice", "bob", "root"})
      callers_.push_back({name, "certificate", Certified(name)});
  }

  void Start() {
    GuardedTest::Start();
    ASSERT_NE(coordinator_, nullptr);
    for (const Named& caller : callers_) channels_.push_back(Channel(caller.security));
  }

  // The answer to one message; OK when there is any, of a stream too.
  static grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel, const std::string& name,
                           const google::protobuf::Message& request) {
    for (const auto* service : Services()) {
      if (const auto* method = service->FindMethodByName(name))
        return CallRaw(channel, *method, request.SerializeAsString());
    }
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no service has the method " + name);
  }

  static char LetterOf(const grpc::Status& status) {
    if (status.ok()) return 'k';
    if (status.error_code() == grpc::StatusCode::PERMISSION_DENIED) return 'd';
    return status.error_code() == grpc::StatusCode::UNAUTHENTICATED ? 'u' : 'a';
  }

  // Another sweep of alice.
  Subject NewSubject() {
    Subject subject{.number = ++sweeps_, .name = absl::StrCat("sweep-", sweeps_)};
    const grpc::Status status = Call(channels_[kAlice], "SubmitSweep", *Submission(subject));
    EXPECT_TRUE(status.ok()) << status.error_message();
    Audited(callers_[kAlice], "SubmitSweep", subject.sweep(), "", "", "OK");
    return subject;
  }

  void Audited(const Named& who, const std::string& method, const std::string& sweep,
               const std::string& trial, const std::string& worker, const std::string& outcome) {
    audit_.push_back(absl::StrCat(who.name, "|", who.role, "|", method, "|", sweep, "|", trial, "|", worker,
                                  "|", outcome, "|1"));
  }

  // The state of the sweep, as it is shown.
  std::string Shown(const Subject& subject) {
    v1::SweepStatus status;
    grpc::ClientContext context;
    v1::GetSweepRequest request;
    request.set_sweep(subject.sweep());
    EXPECT_TRUE(v1::SweepService::NewStub(channels_[kAlice])->GetSweep(&context, request, &status).ok());
    return status.ShortDebugString();
  }

  // Makes the call, and compares the answer, the effect and the row of the audit that follow from `expected`.
  void Try(const Rule& rule, std::size_t who, char expected) {
    const Named& caller = callers_[who];
    SCOPED_TRACE(absl::StrCat(rule.method, " by ", caller.name.empty() ? "nobody" : caller.name));
    Subject subject = NewSubject();
    const std::string before = Shown(subject);
    const Subject target =
        rule.request == Submission ? Subject{.number = sweeps_ + 1, .name = "another"} : subject;
    const MessagePtr request = rule.request(target);
    const grpc::Status status = Call(channels_[who], rule.method, *request);
    const char letter = LetterOf(status);
    if (expected == 'a') {
      EXPECT_TRUE(letter == 'k' || letter == 'a') << status.error_message();
    } else {
      EXPECT_EQ(letter, expected) << status.error_message();
    }
    if (letter == 'd' || letter == 'u') {
      EXPECT_EQ(Shown(subject), before);
      EXPECT_FALSE(status.error_message().empty());
    }
    if (rule.request == Submission && letter == 'k') ++sweeps_;
    if (!IsAudited(rule, letter)) return;
    // One that lacks the role is refused before its request is read.
    const bool read =
        letter == 'k' || letter == 'a' || status.error_message().find("belongs to") != std::string::npos;
    const bool of_trial =
        rule.request == static_cast<decltype(rule.request)>(AboutTrial<v1::CancelRequest>) ||
        rule.request == static_cast<decltype(rule.request)>(AboutTrial<v1::RetryRequest>);
    const std::set<std::string> without = {"ImportSweep", "Collect", "SetFleet", "ScaleFleet", "StopFleet"};
    const bool of_nothing = rule.request == Drain || rule.request == Analysis ||
                            rule.kind == Kind::kOfWorkers || without.contains(rule.method);
    Audited(caller, rule.method, read && !of_nothing ? target.sweep() : "",
            read && of_trial ? target.trial() : "", read && rule.request == Drain ? "w" : "",
            absl::StatusCodeToString(static_cast<absl::StatusCode>(status.error_code())));
  }

  // Every call by each of the first `callers`; `answer(rule, who)` is what is expected, 0 leaves it out.
  void TryAll(std::size_t callers, const std::function<char(const Rule&, std::size_t)>& answer) {
    for (const Rule& rule : kRules) {
      for (std::size_t who = 0; who < callers; ++who) {
        if (const char expected = answer(rule, who); expected != 0) Try(rule, who, expected);
      }
    }
  }

  std::vector<std::string> Rows(std::size_t who, const std::string& sql) {
    v1::QueryRequest request;
    request.set_sql(sql);
    v1::QueryResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        v1::SweepService::NewStub(channels_[who])->Query(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return RowTexts(response);
  }
  std::vector<std::string> AuditRows() {
    Shown({.number = 1, .name = ""});  // Its answer waits for all that was decided before it.
    return Rows(kAlice,
                "SELECT who, role, method, coalesce(sweep_id, ''), coalesce(trial, ''), coalesce(worker, "
                "''), outcome, "
                "calls FROM audit ORDER BY number");
  }

  std::vector<Named> callers_;  // In the order of Who.
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  int sweeps_ = 0;
  std::vector<std::string> audit_;  // Rows that the calls so far must have.
};

TEST(PermissionRulesTest, EveryRpcHasARule) {
  std::set<std::string> named, known;
  for (const Rule& rule : kRules) {
    EXPECT_EQ(std::string(rule.answers).size(), std::size_t{kWhos}) << rule.method;
    named.insert(rule.method);
  }
  for (const auto* service : Services()) {
    for (int i = 0; i < service->method_count(); ++i) known.insert(service->method(i)->name());
  }
  EXPECT_EQ(named, known)
      << "kRules names who may make each call: add the new one, with an owner where it changes a "
         "sweep";
}

TEST_F(PermissionsTest, WithTokensEachCallIsAnsweredByRoleAndOwnerAndIsInTheAudit) {
  UseTokens();
  Start();
  // The worker that is drained.
  ASSERT_TRUE(Call(channels_[kWorker], "Sync", *WorkersSync({})).ok());
  TryAll(kWhos, [](const Rule& rule, std::size_t who) { return rule.answers[who]; });
  EXPECT_THAT(AuditRows(), ElementsAreArray(audit_));
  EXPECT_EQ(Rows(kReader, "SELECT count(*) FROM audit"),
            std::vector<std::string>{std::to_string(audit_.size())});
  // Each row names the address, and those of read requests the request.
  EXPECT_EQ(Rows(kReader, "SELECT count(*) FROM audit WHERE peer NOT LIKE 'ipv4:127.0.0.1:%'"),
            std::vector<std::string>{"0"});
  EXPECT_THAT(Rows(kReader, "SELECT request FROM audit WHERE method = 'EditSweep' AND who = 'bob'")[0],
              testing::AllOf(HasSubstr("sweep: \"s-"), HasSubstr("priority: 1")));
  EXPECT_THAT(Rows(kReader, "SELECT message FROM audit WHERE method = 'EditSweep' AND who = 'bob'")[0],
              HasSubstr("belongs to alice, and bob is not an admin"));
  EXPECT_EQ(Rows(kReader, "SELECT DISTINCT owner FROM sweeps ORDER BY owner"),
            (std::vector<std::string>{"alice", "bob", "root"}));
}

TEST_F(PermissionsTest, WithCertificatesOwnersHoldAsWellAndAdminsAreThoseThatTheConfigurationNames) {
  UseCertificates();
  Start();
  ASSERT_TRUE(Call(channels_[kBob], "Sync", *WorkersSync({})).ok());
  TryAll(3, [](const Rule& rule, std::size_t who) {
    // A worker's certificate is like any other; an incarnation belongs to who came first.
    if (rule.kind != Kind::kOfWorkers) return rule.answers[who];
    return std::string(rule.method) != "Sync" && std::string(rule.method) != "Session" ? 'a'
           : who == kBob                                                               ? 'k'
                                                                                       : 'd';
  });
  EXPECT_THAT(AuditRows(), ElementsAreArray(audit_));
}

TEST_F(PermissionsTest, WithoutAdminsInTheConfigurationNoCertificateIsOne) {
  UseCertificates();
  config_.clear_admins();
  Start();
  const grpc::Status status = Call(channels_[kRoot], "Collect", v1::CollectRequest());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(
      status.error_message(),
      HasSubstr("this needs the role admin, and the certificate of root lacks it; ask an admin, or name it "
                "in `admins` of the coordinator's configuration"));
}

TEST_F(PermissionsTest, WhereCallersAreNotCheckedEachMayDoEverythingButMakeAFleet) {
  callers_.push_back({"", "", ClientSecurity()});
  Start();
  ASSERT_TRUE(Call(channels_[0], "Sync", *WorkersSync({})).ok());
  TryAll(1, [](const Rule& rule, std::size_t) -> char {
    const std::string method = rule.method;
    if (method == "SetFleet") return 'd';
    if (method == "ScaleFleet" || method == "StopFleet") return 0;  // There is none.
    if (method == "ExtendSweep" || method == "ImportSweep")
      return 'a';  // The sweep is no search; nothing is imported.
    return rule.kind == Kind::kChanges ? 'k' : 'a';
  });
  EXPECT_THAT(AuditRows(), ElementsAreArray(audit_));
}

TEST_F(PermissionsTest, RefusedStrangerDoesNotFillTheAuditAndTakesNoRowFromOthers) {
  UseTokens();
  Start();
  const Subject subject = NewSubject();
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(LetterOf(Call(channels_[kNobody], "Cancel", *AboutSweep<v1::CancelRequest>(subject))), 'u');
  for (int i = 0; i < 150; ++i) Call(channels_[kBob], "Cancel", *AboutSweep<v1::CancelRequest>(subject));
  Call(channels_[kReader], "Cancel", *AboutSweep<v1::CancelRequest>(subject));
  AuditRows();
  EXPECT_EQ(Rows(kAlice, "SELECT who, count(*) FROM audit WHERE outcome <> 'OK' GROUP BY who ORDER BY who"),
            (std::vector<std::string>{"|100", "bob|100", "reader|1"}));
  // An allowed call has its row in any case.
  for (int i = 0; i < 150; ++i)
    Call(channels_[kAlice], "ResumeSweep", *AboutSweep<v1::ResumeSweepRequest>(subject));
  EXPECT_EQ(Rows(kAlice, "SELECT count(*) FROM audit WHERE method = 'ResumeSweep'"),
            std::vector<std::string>{"150"});
}

TEST_F(PermissionsTest, RefusedStrangerDoesNotFillTheLog) {
  UseTokens();
  std::ostringstream log;
  auto& sinks = spdlog::default_logger()->sinks();
  sinks.push_back(std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
  Start();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 500; ++i) Call(channels_[kNobody], "Cancel", v1::CancelRequest());
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began).count();
  coordinator_.reset();
  sinks.pop_back();
  const std::string text = log.str();
  int lines = 0;
  for (std::size_t at = text.find("call_refused"); at != std::string::npos;
       at = text.find("call_refused", at + 1))
    ++lines;
  EXPECT_GE(lines, 1);
  EXPECT_LE(lines, 1 + seconds + 1);  // One a second.
}

TEST_F(PermissionsTest, ConfigurationThatNamesCallersWhoAreNotKnownIsRefused) {
  config_.add_admins("root");
  EXPECT_THAT(Refusal(), HasSubstr("admins: lists common names of certificates"));
  UseTokens();
  EXPECT_THAT(Refusal(), HasSubstr("give admins a token with `inlier token add --role admin`"));
  config_.clear_admins();
  config_.add_callers()->set_name("alice");
  EXPECT_EQ(Refusal(), "started");
  config_.add_callers()->set_name("alice");
  EXPECT_THAT(Refusal(), HasSubstr("callers: alice has two entries"));
  config_.mutable_callers()->RemoveLast();
  config_.clear_tokens_file();
  EXPECT_THAT(Refusal(), HasSubstr("callers: limits of callers require tokens_file or tls_client_ca"));
}

}  // namespace
}  // namespace inlier
