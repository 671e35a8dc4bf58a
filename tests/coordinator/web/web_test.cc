// The services as JSON, in front of a whole coordinator.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "coordinator/web/api.h"
#include "inlier/v1/sweep_service.grpc.pb.h"
#include "tests/coordinator/services/guarded_fixture.h"
#include "tests/coordinator/web/client.h"
#include "tests/support/comes.h"

namespace inlier {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

class WebTest : public GuardedTest {
 protected:
  HttpClient Client() { return HttpClient(coordinator_->http_address()); }
  static Headers Bearer(const std::string& token) { return {{"Authorization", "Bearer " + token}}; }

  // A sweep by gRPC, submitted with `token`.
  void Submit(const v1::SweepSpec& sweep, const std::string& token = "") {
    ASSERT_TRUE(GuardedTest::Submit(Channel(WithToken(token)), sweep).ok());
  }
};

TEST_F(WebTest, ACallIsThatOfGrpc) {
  Start();
  Submit(SmallSweep("letters", 3, {8, 4}));
  HttpClient client = Client();
  const Answer sweep = client.Post("GetSweep", R"({"sweep": "letters"})");
  EXPECT_EQ(sweep.status, 200);
  EXPECT_EQ(sweep.headers.at("content-type"), "application/json");
  EXPECT_EQ(sweep.headers.at("cache-control"), "no-store");
  EXPECT_EQ(sweep.json()["sweep_id"], "s-1");
  EXPECT_EQ(sweep.json()["trials"]["pending"], "6");
  const Answer paused = client.Post("PauseSweep", R"({"sweep": "s-1"})");
  EXPECT_EQ(paused.json()["changed"], true);
  EXPECT_EQ(client.Post("GetSweep", R"({"sweep": "s-1"})").json()["paused"], true);
  const Answer rows = client.Post("Query", R"({"sql": "SELECT count(*) AS trials FROM trials"})");
  EXPECT_EQ(rows.json()["rows"][0]["values"][0]["integer"], "6");
}

TEST_F(WebTest, ErrorsHaveACodeAndWords) {
  Start();
  HttpClient client = Client();
  const Answer missing = client.Post("GetSweep", R"({"sweep": "nothing"})");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.json()["code"], "NOT_FOUND");
  EXPECT_THAT(missing.json()["message"].get<std::string>(), HasSubstr("nothing"));
  for (const char* wrong :
       {"{", "[]", "\"x\"", R"({"sweeps": 1})", R"({"sweep": {}})", "{\"sweep\": \"\xff\"}"}) {
    const Answer refused = client.Post("GetSweep", wrong);
    EXPECT_EQ(refused.status, 400) << wrong;
    EXPECT_EQ(refused.json()["code"], "INVALID_ARGUMENT") << wrong;
  }
  EXPECT_EQ(client.Post("GetSweep", std::string(20000, '[')).status, 400);
  EXPECT_EQ(client.Post("DropTables", "{}").status, 501);
  EXPECT_EQ(client.Post("Sync/../../x", "{}").status, 501);
  EXPECT_EQ(client.Post("GetSweep", std::string(Api::kBodyBytesMax + 1, ' ')).status, 413);
  EXPECT_EQ(client.Send("GET", "/api/inlier.v1.SweepService/ListSweeps").status, 405);
  EXPECT_EQ(client.Post("ListSweeps", "{}", {{"Origin", "http://evil.example"}}).status, 403);
  EXPECT_EQ(
      client.Send("POST", "/api/inlier.v1.SweepService/ListSweeps", {{"Content-Type", "text/plain"}}, "{}")
          .status,
      400);
  EXPECT_EQ(client.Post("ListSweeps", "").status, 200);  // An empty request.
}

TEST_F(WebTest, RolesAndOwnersAreThoseOfGrpcAndTheAuditHasTheCall) {
  const std::string reader = AddToken(Role::kRead, "eve"), owner = AddToken(Role::kSubmit, "ann"),
                    other = AddToken(Role::kSubmit, "bob");
  Start();
  Submit(SmallSweep("mine", 1), owner);
  HttpClient client = Client();
  EXPECT_EQ(client.Post("ListSweeps", "{}").status, 401);
  EXPECT_EQ(client.Post("ListSweeps", "{}", Bearer("inlier_wrong")).status, 401);
  EXPECT_EQ(client.Post("ListSweeps", "{}", Bearer(reader)).json()["sweeps"][0]["owner"], "ann");
  EXPECT_EQ(client.Post("Cancel", R"({"sweep": "s-1"})", Bearer(reader)).status, 403);
  EXPECT_EQ(client.Post("Cancel", R"({"sweep": "s-1"})", Bearer(other)).status, 403);
  EXPECT_EQ(client.Post("Cancel", R"({"sweep": "s-1"})", Bearer(owner)).json()["cancelled"], "1");
  const json rows =
      client
          .Post("Query",
                R"({"sql": "SELECT who, peer, outcome FROM audit WHERE method = 'Cancel' ORDER BY number"})",
                Bearer(reader))
          .json()["rows"];
  ASSERT_EQ(rows.size(), 3u);
  const auto text = [&rows](int row, int column) {
    return rows[row]["values"][column]["text"].get<std::string>();
  };
  EXPECT_EQ(text(0, 0), "eve");
  EXPECT_EQ(text(0, 2), "PERMISSION_DENIED");
  EXPECT_EQ(text(2, 0), "ann");
  EXPECT_THAT(text(2, 1), StartsWith("http:127.0.0.1:"));
  EXPECT_EQ(text(2, 2), "OK");
}

TEST_F(WebTest, AboutHasTheCallerAndWhatItMayCall) {
  const std::string reader = AddToken(Role::kRead, "eve"), submitter = AddToken(Role::kSubmit, "ann");
  Start();
  HttpClient client = Client();
  const auto methods = [&client](const std::string& token) {
    const json about = client.Send("GET", "/api/about", Bearer(token)).json();
    return about["caller"]["methods"].get<std::set<std::string>>();
  };
  EXPECT_EQ(client.Send("GET", "/api/about").status, 401);
  const json about = client.Send("GET", "/api/about", Bearer(submitter)).json();
  EXPECT_EQ(about["caller"]["name"], "ann");
  EXPECT_EQ(about["caller"]["role"], "submit");
  EXPECT_GT(about["measurements"].size(), 20u);
  EXPECT_TRUE(methods(submitter).contains("PauseSweep"));
  EXPECT_FALSE(methods(submitter).contains("DrainWorker"));
  EXPECT_TRUE(methods(reader).contains("GetMatrix"));
  EXPECT_FALSE(methods(reader).contains("PauseSweep"));
}

// A caller that sends gRPC's name for the address gives itself no other one.
TEST_F(WebTest, ACallByTheNetworkCannotNameItsAddress) {
  const std::string owner = AddToken(Role::kSubmit, "ann");
  Start();
  Submit(SmallSweep("mine", 1), owner);
  const auto stub = v1::SweepService::NewStub(Channel(WithToken(owner)));
  const auto request = OfSweep<v1::CancelRequest>("s-1");
  v1::CancelResponse response;
  grpc::ClientContext context;
  context.AddMetadata("inlier-http-peer", "10.0.0.1:1");
  ASSERT_TRUE(stub->Cancel(&context, request, &response).ok());
  const json answer =
      Client()
          .Post("Query", R"({"sql": "SELECT peer FROM audit WHERE method = 'Cancel'"})", Bearer(owner))
          .json();
  EXPECT_THAT(answer["rows"][0]["values"][0]["text"].get<std::string>(), StartsWith("ipv4:127.0.0.1:"));
}

TEST_F(WebTest, AWatchIsAStreamOfEventsThatResumes) {
  Start();
  Submit(SmallSweep("letters", 1));
  HttpClient client = Client();
  EventStream watch(client, "WatchSweep", R"({"sweep": "s-1", "from_sequence": "0"})");
  EXPECT_THAT(watch.head(), HasSubstr("200 OK"));
  EXPECT_THAT(watch.head(), HasSubstr("text/event-stream"));
  auto [event, update] = watch.Next();
  EXPECT_EQ(event, "update");
  EXPECT_EQ(update["status"]["trials"]["pending"], "1");
  client.Post("PauseSweep", R"({"sweep": "s-1"})");
  std::tie(event, update) = watch.Next();
  EXPECT_EQ(update["status"]["paused"], true);
  client.Post("Cancel", R"({"sweep": "s-1"})");
  std::vector<std::string> notices;
  for (std::tie(event, update) = watch.Next(); event == "update"; std::tie(event, update) = watch.Next()) {
    for (const json& notice : update.value("notices", json::array())) notices.push_back(notice);
  }
  EXPECT_EQ(event, "end");
  EXPECT_EQ(update["code"], "OK");
  EXPECT_EQ(watch.Next().first, "");
  ASSERT_FALSE(notices.empty());
  EventStream again(client, "WatchSweep", R"({"sweep": "s-1", "from_sequence": "0"})");
  const json whole = again.Next().second;
  EXPECT_GE(whole["notices"].size(), notices.size());
  EventStream late(client, "WatchSweep",
                   R"({"sweep": "s-1", "from_sequence": )" + whole["sequence"].dump() + "}");
  EXPECT_FALSE(late.Next().second.contains("notices"));
  EXPECT_EQ(client.Post("WatchSweep", R"({"sweep": "nothing"})").status, 404);
}

// A watch ends when its client is gone.
TEST_F(WebTest, OpenWatchesAreBounded) {
  Start();
  Submit(SmallSweep("letters", 1));
  HttpClient client = Client();
  std::vector<std::unique_ptr<EventStream>> open;
  for (int i = 0; i < Api::kStreamsMax; ++i) {
    open.push_back(std::make_unique<EventStream>(client, "WatchSweep", R"({"sweep": "s-1"})"));
    ASSERT_EQ(open.back()->Next().first, "update") << i;
  }
  const Answer refused = client.Post("WatchSweep", R"({"sweep": "s-1"})");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(client.Post("ListSweeps", "{}").status, 200);
  open.clear();
  EXPECT_TRUE(Comes([&] {
    EventStream next(client, "WatchSweep", R"({"sweep": "s-1"})");
    return next.head().find("200 OK") != std::string::npos;
  }));
}

TEST_F(WebTest, AStopEndsWatchesAndCalls) {
  Start();
  Submit(SmallSweep("letters", 1));
  HttpClient client = Client();
  EventStream watch(client, "WatchSweep", R"({"sweep": "s-1"})");
  ASSERT_EQ(watch.Next().first, "update");
  coordinator_.reset();
  EXPECT_THAT(watch.Next().first, testing::AnyOf("", "end"));
}

// Certificates are asked of callers by gRPC: HTTP is no way around.
TEST_F(WebTest, MutualTlsIsForTheJsonToo) {
  UseMutualTls();
  Start();
  const Answer plain = Client().Post("ListSweeps", "{}");
  EXPECT_EQ(plain.status, 403);
  EXPECT_THAT(plain.body, HasSubstr("set tokens_file too"));
  coordinator_.reset();

  const std::string token = AddToken(Role::kRead, "eve");
  config_.set_http_tls(true);
  Start();
  HttpClient client = Client();
  Headers headers = Bearer(token);
  headers.emplace("Content-Type", "application/json");
  boost::asio::ssl::context context(boost::asio::ssl::context::tls_client);
  context.load_verify_file(certificates_.Pem("authority"));
  context.set_verify_mode(boost::asio::ssl::verify_peer);
  EXPECT_EQ(client.SendByTls(context, "GET", "/healthz").body, "ok\n");
  const std::string path = "/api/inlier.v1.SweepService/ListSweeps";
  EXPECT_EQ(client.SendByTls(context, "POST", path, headers, "{}").status, 403);
  certificates_.Issue("eve");
  context.use_certificate_chain_file(certificates_.Pem("eve"));
  context.use_private_key_file(certificates_.Key("eve"), boost::asio::ssl::context::pem);
  EXPECT_EQ(client.SendByTls(context, "POST", path, headers, "{}").status, 200);
  EXPECT_EQ(client.Send("GET", "/healthz").status, 0);  // Without TLS.
}

TEST_F(WebTest, HttpTlsNeedsACertificate) {
  config_.set_http_tls(true);
  EXPECT_THAT(Refusal(), HasSubstr("http_tls: there is no certificate"));
}

TEST_F(WebTest, TheMatrixHasEveryTrialWithItsLabelsStateAndValue) {
  Start();
  Submit(SmallSweep("grid", 2, {8, 4}));
  HandWorker worker("w", 1);
  for (int round = 0; round < 3; ++round) {  // The first training, and evaluations behind it.
    ASSERT_TRUE(Sync(Channel({}), worker).ok());
    if (round < 2) worker.FinishAll();
  }
  HttpClient client = Client();
  const json matrix = client.Post("GetMatrix", R"({"sweep": "grid", "measurement": "perplexity"})").json();
  ASSERT_EQ(matrix["numbers"].size(), 4u);
  EXPECT_EQ(matrix["trials"], "4");
  const std::size_t axes = matrix["axes"].size();
  EXPECT_EQ(matrix["labels"].size(), 4 * axes);
  EXPECT_EQ(matrix["values"].size(), 4u);
  const json trials = client.Post("ListTrials", R"({"sweep": "grid"})").json()["trials"];
  std::set<std::string> states;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ("t-" + matrix["numbers"][i].get<std::string>(), trials[i]["trial_id"]);
    for (std::size_t a = 0; a < axes; ++a) {
      const json& axis = matrix["axes"][a];
      EXPECT_EQ(axis["labels"][matrix["labels"][i * axes + a].get<std::size_t>()],
                trials[i]["labels"][axis["name"].get<std::string>()]);
    }
    states.insert(trials[i]["state"]);
    EXPECT_EQ(matrix["values"][i].is_number(), trials[i]["state"] == "SUCCEEDED") << i;
  }
  EXPECT_TRUE(states.contains("SUCCEEDED"));
  EXPECT_TRUE(states.contains("PENDING"));
  const json part = client.Post("GetMatrix", R"({"sweep": "grid", "first": 1, "trials_max": 2})").json();
  EXPECT_EQ(part["numbers"], json::array({matrix["numbers"][1], matrix["numbers"][2]}));
  EXPECT_FALSE(part.contains("values"));
  const Answer wrong = client.Post("GetMatrix", R"({"sweep": "grid", "measurement": "speed"})");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_THAT(wrong.body, HasSubstr("not a final measurement"));
}

// protobuf's parser takes minutes for 64 KiB of it.
TEST_F(WebTest, ARequestThatIsNestedTooDeeplyIsNotParsed) {
  Start();
  HttpClient client = Client();
  std::string deep = "{\"sweep\":";
  for (std::size_t i = 0; i + 20 < Api::kBodyBytesMax - deep.size(); i += 5) deep += "{\"a\":";
  const Answer refused = client.Post("SubmitSweep", deep.substr(0, Api::kBodyBytesMax));
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.json()["message"], "the request is not a SubmitSweepRequest: it is nested deeper than 50");
  // Brackets in texts are none.
  const Answer texts = client.Post("GetSweep", R"({"sweep": ")" + std::string(100, '[') + "\"}");
  EXPECT_EQ(texts.status, 404);
}

TEST_F(WebTest, CredentialsAndRolesAreCheckedBeforeTheBodyIsRead) {
  const std::string reader = AddToken(Role::kRead, "eve");
  Start();
  HttpClient client = Client();
  const auto status_of = [&client](const std::string& method, const std::string& token) {
    HttpClient::Socket socket = client.Connect();
    std::string head =
        "POST /api/inlier.v1.SweepService/" + method +
        " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n";
    if (!token.empty()) head += "Authorization: Bearer " + token + "\r\n";
    boost::asio::write(socket, boost::asio::buffer(head + "\r\n"));  // And nothing of the body.
    std::string answer;
    boost::asio::read_until(socket, boost::asio::dynamic_buffer(answer), "\r\n");
    return answer.substr(0, answer.find("\r\n"));
  };
  EXPECT_EQ(status_of("SubmitSweep", ""), "HTTP/1.1 401 Unauthorized");
  EXPECT_EQ(status_of("SubmitSweep", "inlier_wrong"), "HTTP/1.1 401 Unauthorized");
  EXPECT_EQ(status_of("SubmitSweep", reader), "HTTP/1.1 403 Forbidden");
}

TEST_F(WebTest, AnswersThatNobodyReadsHaveALimitAndThenAreRefused) {
  Start();
  HttpClient client = Client();
  const std::string body =
      json{{"sql", "SELECT hex(zeroblob(480000)), hex(zeroblob(480000)), hex(zeroblob(480000))"}}.dump();
  std::vector<HttpClient::Socket> unread;
  std::string answer;
  const std::size_t most = ByteShares::kOfCaller / (3 * 960'000);
  // The server gives an answer up after 10 s, so all of them must come within that time.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(9);
  while (unread.size() < 2 * most && answer.rfind("HTTP/1.1 429", 0) != 0) {
    if (std::chrono::steady_clock::now() > end) GTEST_SKIP() << "this machine makes answers too slowly";
    HttpClient::Socket& socket = unread.emplace_back(client.ConnectWithoutBuffer());
    client.Write(socket, "POST", "/api/inlier.v1.SweepService/Query", {{"Content-Type", "application/json"}},
                 body);
    answer.clear();
    boost::asio::read_until(socket, boost::asio::dynamic_buffer(answer), "\r\n\r\n");
  }
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 429 "));
  EXPECT_GE(unread.size(), most / 2);
  EXPECT_LE(unread.size(), most + 5);
  EXPECT_EQ(client.Send("GET", "/healthz").status, 200);
  EXPECT_EQ(client.Post("ListSweeps", "{}").status, 200);
  EXPECT_THAT(client.Post("Query", body).body, HasSubstr("the requests and answers of 127.0.0.1 would take"));
  unread.clear();
  EXPECT_TRUE(Comes([&] { return client.Post("Query", body).status == 200; }));
}

// No unauthenticated caller makes the coordinator run a program.
TEST_F(WebTest, AFleetIsMadeByCheckedCallersAlone) {
  Start();
  HttpClient client = Client();
  const Answer refused = client.Post("SetFleet", "{}");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.json()["message"].get<std::string>(),
              HasSubstr("where callers are not checked; set tokens_file"));
  EXPECT_EQ(client.Post("StopFleet", "{}").status, 404);  // There is none.
  const json about = client.Send("GET", "/api/about").json();
  const auto methods = about["caller"]["methods"].get<std::set<std::string>>();
  EXPECT_TRUE(methods.contains("Cancel"));
  EXPECT_FALSE(methods.contains("SetFleet"));
}

}  // namespace
}  // namespace inlier
