// Raw sockets as clients, so that wrong requests can be sent, too.
#include "rpc/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <thread>
#include <vector>

#include "tests/support/comes.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

namespace asio = boost::asio;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kGetMetrics[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

void Send(asio::ip::tcp::socket& socket, const std::string& bytes) {
  asio::write(socket, asio::buffer(bytes));
}

std::string ReadUntil(asio::ip::tcp::socket& socket, const std::string& end) {
  std::string answer;
  boost::system::error_code error;
  asio::read_until(socket, asio::dynamic_buffer(answer), end, error);
  EXPECT_FALSE(error) << error.message();
  return answer;
}

std::string ReadToEnd(asio::ip::tcp::socket& socket) {
  std::string answer;
  boost::system::error_code ignored;
  asio::read(socket, asio::dynamic_buffer(answer), ignored);
  return answer;
}

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override {
    server_.Get("/metrics", [] { return HttpResponse{200, "text/plain; version=0.0.4", "m 1\n"}; });
    server_.Get("/healthz", [] { return HttpResponse{.body = "ok\n"}; });
    const auto admit = [](const HttpRequest& head) -> std::optional<HttpResponse> {
      if (head.authorization.empty() || head.authorization == "known") return std::nullopt;
      return HttpResponse{.status = 401, .body = "who are you?\n"};
    };
    server_.PostBelow("/echo/", 10, admit, [this](const std::shared_ptr<HttpCall>& call) {
      // From another thread, as the services answer.
      others_.emplace_back(
          [call] { call->Reply({.body = call->request().path + " " + call->request().body}); });
    });
    server_.PostBelow("/slow/", 10, admit, [this](const std::shared_ptr<HttpCall>& call) {
      ticking_ = call;
      call->WhenGone([this] { gone_ = true; });
    });
    server_.GetLater("/ticks", [this](const std::shared_ptr<HttpCall>& call) {
      ticking_ = call;
      call->Begin({.content_type = "text/event-stream"}, [this] { gone_ = true; });
      call->Send("tick 1\n", [call] { call->Send("tick 2\n", nullptr); });
    });
    server_.GetLater("/dropped", [](const std::shared_ptr<HttpCall>&) {});
    ASSERT_THAT(server_.Start("127.0.0.1:0", "http_listen"), IsOk());
    thread_ = std::thread([this] { io_.run(); });
  }
  void TearDown() override {
    for (std::thread& other : others_) other.join();
    Stop();
    guard_.reset();
    thread_.join();
    ticking_.reset();
  }
  void Stop() {
    asio::post(io_, [this] { server_.Stop(); });
  }

  asio::ip::tcp::socket Connect() {
    asio::ip::tcp::socket socket(client_io_);
    socket.connect({asio::ip::make_address("127.0.0.1"), server_.port()});
    return socket;
  }
  // The bytes that come back for `bytes` until the server closes.
  std::string Exchange(const std::string& bytes) {
    asio::ip::tcp::socket socket = Connect();
    Send(socket, bytes);
    return ReadToEnd(socket);
  }
  std::string Get(const std::string& target) {
    return Exchange("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  }

  asio::io_context io_, client_io_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{io_.get_executor()};
  HttpServer server_{io_};
  std::vector<std::thread> others_;
  std::shared_ptr<HttpCall> ticking_;
  std::atomic<bool> gone_{false};
  std::thread thread_;
};

TEST_F(HttpServerTest, ARouteIsAnswered) {
  const std::string answer = Get("/metrics");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nm 1\n"));
}

TEST_F(HttpServerTest, AQueryIsIgnored) { EXPECT_THAT(Get("/healthz?a=1+2%26&b"), EndsWith("\r\n\r\nok\n")); }

TEST_F(HttpServerTest, AHeadHasNoBody) {
  const std::string answer =
      Exchange("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 4\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, AConnectionServesSeveralRequests) {
  const std::string last = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const std::string answer = Exchange(kGetMetrics + (kGetMetrics + last));
  size_t count = 0;
  for (size_t at = 0; (at = answer.find("m 1\n", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 3u);
}

TEST_F(HttpServerTest, WhatIsNotThereIsNamed) {
  const std::string answer = Get("/metric");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(answer,
              HasSubstr("nothing at /metric; there is /dropped /echo/ /healthz /metrics /slow/ /ticks\n"));
}

TEST_F(HttpServerTest, WrongRequestsAreRefused) {
  EXPECT_THAT(Exchange("POST /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Exchange("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Exchange("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Get("/%zz"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Get("/metrics HTTP/1.1\r\nX: " + std::string(9000, 'x')), StartsWith("HTTP/1.1 431 "));
}

TEST_F(HttpServerTest, APostIsAnsweredFromAnotherThread) {
  const auto post = [this](const std::string& path, const std::string& body) {
    return Exchange("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body);
  };
  EXPECT_THAT(post("/echo/a/b", "hello"), EndsWith("\r\n\r\n/echo/a/b hello"));
  EXPECT_THAT(post("/echo/", ""), EndsWith("\r\n\r\n/echo/ "));
  EXPECT_THAT(post("/echo/a", "12345678901"), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(post("/echo", "hello"), StartsWith("HTTP/1.1 413 "));  // No route.
  EXPECT_THAT(Get("/echo/a"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Exchange("POST /echo/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "14\r\n12345678901234567890\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, AHeadIsRefusedBeforeItsBodyHasCome) {
  const std::string head =
      "POST /echo/a HTTP/1.1\r\nHost: localhost\r\nAuthorization: unknown\r\nContent-Length: 10\r\n\r\n";
  asio::ip::tcp::socket socket = Connect();
  Send(socket, head);  // And no body.
  EXPECT_THAT(ReadUntil(socket, "who are you?\n"), StartsWith("HTTP/1.1 401 "));
  Send(socket, "0123456789");  // Read, and no other request.
  EXPECT_THAT(Exchange(head + "0123456789"), EndsWith("who are you?\n"));
}

TEST_F(HttpServerTest, AClientThatClosesBeforeItsAnswerIsNoticed) {
  {
    asio::ip::tcp::socket socket = Connect();
    Send(socket, "POST /slow/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(gone_);
  }
  EXPECT_TRUE(Comes([this] { return gone_.load(); }));
}

TEST_F(HttpServerTest, WhatAnAnswerHoldsIsLetGoWhenItHasLeft) {
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  asio::ip::tcp::socket socket = Connect();
  Send(socket, "POST /slow/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  std::atomic<bool> came{false};
  ASSERT_TRUE(Comes([&] {
    asio::post(io_, [&] { came = ticking_ != nullptr; });
    return came.load();
  }));
  const std::string body(64 << 20, 'b');  // More than the buffers of a connection take.
  ticking_->Reply({.body = body, .held = std::move(held)});
  std::string answer = ReadUntil(socket, "\r\n\r\n");
  EXPECT_FALSE(watched.expired());
  asio::read(socket, asio::dynamic_buffer(answer),
             asio::transfer_exactly(answer.find("\r\n\r\n") + 4 + body.size() - answer.size()));
  EXPECT_TRUE(Comes([&] { return watched.expired(); }));
}

TEST_F(HttpServerTest, AConnectionServesGetAfterPost) {
  const std::string answer = Exchange(
      "POST /echo/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi"
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("/echo/x hi"));
  EXPECT_THAT(answer, EndsWith("m 1\n"));
}

TEST_F(HttpServerTest, AnAnswerWithoutEndIsSentInPieces) {
  asio::ip::tcp::socket socket = Connect();
  Send(socket, "GET /ticks HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::string answer = ReadUntil(socket, "tick 2\n");
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(answer, EndsWith("tick 1\ntick 2\n"));
  ticking_->Send("tick 3\n", nullptr);
  ticking_->End();
  boost::system::error_code error;
  asio::read(socket, asio::dynamic_buffer(answer), error);
  EXPECT_EQ(error, asio::error::eof);
  EXPECT_THAT(answer, EndsWith("tick 2\ntick 3\n"));
  EXPECT_FALSE(gone_);
}

TEST_F(HttpServerTest, AClientThatClosesIsNoticed) {
  {
    asio::ip::tcp::socket socket = Connect();
    Send(socket, "GET /ticks HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ReadUntil(socket, "tick 2\n");
  }
  EXPECT_TRUE(Comes([this] { return gone_.load(); }));
}

TEST_F(HttpServerTest, ACallThatIsDroppedEndsItsConnection) { EXPECT_EQ(Get("/dropped"), ""); }

class LimitedServer {
 public:
  explicit LimitedServer(HttpLimits limits) : server_(io_, limits) {
    server_.Get("/metrics", [] { return HttpResponse{.body = "m 1\n"}; });
    server_.Get("/large", [this] { return HttpResponse{.body = large_}; });
    server_.GetLater("/unanswered",
                     [this](std::shared_ptr<HttpCall> call) { unanswered_.push_back(std::move(call)); });
    EXPECT_THAT(server_.Start("127.0.0.1:0", "http_listen"), IsOk());
    thread_ = std::thread([this] { io_.run(); });
  }
  ~LimitedServer() {
    asio::post(io_, [this] {
      server_.Stop();
      unanswered_.clear();
    });
    guard_.reset();
    thread_.join();
  }

  asio::ip::tcp::socket Connect(const char* from = "127.0.0.1") {
    asio::ip::tcp::socket socket(client_io_);
    socket.open(asio::ip::tcp::v4());
    socket.bind({asio::ip::make_address(from), 0});
    socket.connect({asio::ip::make_address("127.0.0.1"), server_.port()});
    return socket;
  }

 private:
  asio::io_context io_, client_io_;
  HttpServer server_;
  const std::string large_ = std::string(16 << 20, 'm');
  std::vector<std::shared_ptr<HttpCall>> unanswered_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{io_.get_executor()};
  std::thread thread_;
};

// A client that holds a connection and sends little or nothing must not keep it: the server closes each one
// without a byte of answer, although the client keeps sending.
TEST(HttpServerLimitsTest, SlowAndIdleConnectionsAreClosed) {
  LimitedServer server({.transfer = std::chrono::milliseconds(200), .connections = 256});
  asio::ip::tcp::socket silent = server.Connect();
  EXPECT_EQ(ReadToEnd(silent), "");
  asio::ip::tcp::socket kept = server.Connect();
  Send(kept, kGetMetrics);
  EXPECT_THAT(ReadToEnd(kept), EndsWith("m 1\n"));  // One answer, then the end.
  // A header line at a time, each well within the limit, without end.
  asio::ip::tcp::socket trickling = server.Connect();
  Send(trickling, "GET /metrics HTTP/1.1\r\n");
  boost::system::error_code error;
  for (int i = 0; i < 100000 && !error; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    asio::write(trickling, asio::buffer(std::string("X: y\r\n")), error);
  }
  EXPECT_TRUE(error);
}

// Idle connections must not shut others out: the longest silent one loses its place.
TEST(HttpServerLimitsTest, IdleConnectionsGiveTheirPlacesToNewOnes) {
  LimitedServer server({.transfer = std::chrono::seconds(60), .connections = 256});
  std::vector<asio::ip::tcp::socket> idle;
  for (int i = 0; i < 256; ++i) idle.push_back(server.Connect());
  for (int i = 0; i < 300; ++i) {
    asio::ip::tcp::socket socket = server.Connect();
    Send(socket, kGetMetrics);
    ASSERT_THAT(ReadUntil(socket, "m 1\n"), StartsWith("HTTP/1.1 200 OK\r\n")) << i;
    idle.push_back(std::move(socket));  // It stays, too, and waits for its next request.
  }
  boost::system::error_code error;
  char byte = 0;
  idle.front().read_some(asio::buffer(&byte, 1), error);
  EXPECT_EQ(error, asio::error::eof);  // The first one is closed.
}

// Nor those that ask again and again and read no answer: an address with most places gives one of them to another.
TEST(HttpServerLimitsTest, ConnectionsThatReadNothingGiveTheirPlacesToOtherAddresses) {
  LimitedServer server({.transfer = std::chrono::seconds(60), .connections = 20});
  for (const std::string path : {"/large", "/unanswered"}) {
    std::vector<asio::ip::tcp::socket> greedy;
    for (int i = 0; i < 30; ++i) {
      asio::ip::tcp::socket& socket = greedy.emplace_back(server.Connect("127.0.0.2"));
      boost::system::error_code refused;
      const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
      for (int k = 0; k < 10; ++k) asio::write(socket, asio::buffer(request), refused);
    }
    for (int i = 0; i < 10; ++i) {
      asio::ip::tcp::socket socket = server.Connect();
      Send(socket, kGetMetrics);
      EXPECT_THAT(ReadUntil(socket, "m 1\n"), StartsWith("HTTP/1.1 200 OK\r\n")) << path << " " << i;
    }
  }
}

// A page in a browser that gives its own name this machine's address.
TEST_F(HttpServerTest, OnLoopbackOnlyNamesOfLoopbackAreAnswered) {
  const auto get = [this](const std::string& host) {
    return Exchange("GET /metrics HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
  };
  for (const char* good : {"localhost", "LOCALHOST:7421", "127.0.0.1:80", "127.1.2.3", "[::1]:7421", "[::1]"})
    EXPECT_THAT(get(good), StartsWith("HTTP/1.1 200 ")) << good;
  for (const char* bad :
       {"evil.example", "evil.example:7421", "localhost.evil.example", "10.0.0.1", "[2001:db8::1]", ""}) {
    const std::string answer = get(bad);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 403 ")) << bad;
    EXPECT_THAT(answer, HasSubstr("ask for it as localhost"));
  }
  EXPECT_THAT(Exchange("GET /metrics HTTP/1.0\r\n\r\n"),
              StartsWith("HTTP/1.1 200 "));  // No browser sends that.
}

TEST_F(HttpServerTest, AnAddressInUseIsNamedWithTheRemedy) {
  HttpServer other(io_);
  EXPECT_THAT(other.Start(server_.address(), "http_listen"),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("http_listen: " + server_.address() + " is already in use")));
}

TEST_F(HttpServerTest, StopClosesOpenConnections) {
  asio::ip::tcp::socket socket = Connect();
  Send(socket, kGetMetrics);
  std::string answer = ReadUntil(socket, "m 1\n");
  Stop();
  boost::system::error_code error;
  asio::read(socket, asio::dynamic_buffer(answer), error);
  EXPECT_TRUE(error == asio::error::eof || error == asio::error::connection_reset) << error.message();
}

}  // namespace
}  // namespace inlier
