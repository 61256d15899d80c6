#include "core/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/asio.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tributary::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(HttpMessageTest, TakesATargetApart) {
  const auto request = ParseHttpTarget("/api/v1/sites/north%20hall?site=a+b&rate_hz=5&flag&site=c#top");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->path, "/api/v1/sites/north hall");
  EXPECT_EQ(request->query.at("site"), "c");
  EXPECT_EQ(request->query.at("rate_hz"), "5");
  EXPECT_EQ(request->query.at("flag"), "");
}

TEST(HttpMessageTest, RefusesWhatIsNoTarget) {
  for (const char* target : {"", "x", "*", "http://host/", "/%", "/%4", "/%zz", "/%00", "/a?b=%0a"}) {
    EXPECT_FALSE(ParseHttpTarget(target).ok()) << target;
  }
}

// A server on a free port, and a raw connection to it.
class HttpServerTest : public ::testing::Test {
 protected:
  void Start(HttpLimits limits = {}) {
    server_ = std::make_unique<HttpServer>(limits);
    server_->Route("/hello", [](const HttpRequest&) { return HttpResponse{.body = "world\n"}; });
    server_->Route("/under/", [](const HttpRequest& request) { return HttpResponse{.body = request.rest}; });
    server_->Route("/echo", [](const HttpRequest& request) {
      HttpResponse response{.body = request.Header("x-word")};
      response.headers = {{"Cache-Control", "max-age=1"}, {"X-Seen", "yes"}};
      return response;
    });
    server_->Route("/", [](const HttpRequest&) { return HttpResponse{.body = "root"}; });
    server_->Route("/unchanged", [](const HttpRequest&) { return HttpResponse{.status = 304, .body = ""}; });
    server_->Route("/throws", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("no"); });
    server_->Route("/events", [](const HttpRequest&) {
      return HttpEventStream{std::chrono::milliseconds(10), [n = 0]() mutable -> std::optional<HttpEvent> {
                               const std::string number = std::to_string(n++);
                               return HttpEvent{number, "slot-" + number};
                             }};
    });
    ASSERT_TRUE(server_->Start("127.0.0.1:0").ok());
  }

  tcp::socket Connect() {
    tcp::socket socket(io_);
    socket.connect({asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(server_->port())});
    return socket;
  }

  // Reads until the server closes.
  std::string Send(const std::string& bytes) {
    tcp::socket socket = Connect();
    boost::system::error_code error;
    asio::write(socket, asio::buffer(bytes), error);
    std::string answer;
    asio::read(socket, asio::dynamic_buffer(answer), error);
    return answer;
  }
  std::string Get(const std::string& target) {
    return Send("GET " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  }

  asio::io_context io_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersARoute) {
  Start();
  const std::string answer = Get("/hello");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\nworld\n"));
}

TEST_F(HttpServerTest, GivesAPrefixRouteTheRest) {
  Start();
  EXPECT_THAT(Get("/under/a/b"), HasSubstr("\r\n\r\na/b"));
}

TEST_F(HttpServerTest, HandlersReadAndSetHeaders) {
  Start();
  const std::string answer =
      Send("GET /echo HTTP/1.1\r\nHost: x\r\nX-Word: one\r\nx-word: two\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("\r\n\r\none, two"));
  EXPECT_THAT(answer, HasSubstr("\r\nX-Seen: yes\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nCache-Control: max-age=1\r\n"));
  EXPECT_THAT(answer, ::testing::Not(HasSubstr("no-store")));
}

TEST_F(HttpServerTest, AnAnswerWithoutBodyHasNoLength) {
  Start();
  const std::string answer = Get("/unchanged");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 304"));
  EXPECT_THAT(answer, ::testing::Not(HasSubstr("Content-Length")));
}

TEST_F(HttpServerTest, TheRootIsAPathAndNoPrefix) {
  Start();
  EXPECT_THAT(Get("/"), HasSubstr("\r\n\r\nroot"));
  EXPECT_THAT(Get("/nowhere"), StartsWith("HTTP/1.1 404"));
}

TEST_F(HttpServerTest, RefusesAParameterThatTheRouteDoesNotHave) {
  Start();
  const std::string answer = Get("/hello?sit=lab");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer, HasSubstr("sit: no such parameter"));
}

TEST_F(HttpServerTest, AnswersSeveralRequestsOnOneConnection) {
  Start();
  const std::string answer = Send(
      "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(server_->counters().requests, 2u);
  EXPECT_NE(answer.find("world"), answer.rfind("world"));
}

TEST_F(HttpServerTest, LeavesTheBodyOutOfTheAnswerToHead) {
  Start();
  const std::string answer = Send("HEAD /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 6"));
  EXPECT_THAT(answer, ::testing::EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, RefusesWhatItDoesNotServe) {
  Start();
  EXPECT_THAT(Get("/nowhere"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Get("/%zz"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Send("POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(Send("GET /hello HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Send("\x16\x03\x01 nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Send("GET /hello HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431"));
  EXPECT_EQ(server_->counters().rejected_requests, 6u);
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, AnswersEachFaultWithTheSameJsonObject) {
  Start({.streams = 0});
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"404", Get("/nowhere")},
      {"400", Get("/%zz")},
      {"405", Send("POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")},
      {"413", Send("GET /hello HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello")},
      {"431", Send("GET /hello HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n")},
      {"503", Get("/events")}};
  for (const auto& [status, answer] : faults) {
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + status));
    EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: application/json\r\n"));
    const auto body = nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n")), nullptr, false);
    ASSERT_TRUE(body.is_object()) << answer;
    EXPECT_EQ(body.size(), 1u) << answer;
    EXPECT_NE(body.value("error", ""), "") << answer;
  }
}

TEST_F(HttpServerTest, OutlivesAHandlerThatThrows) {
  Start();
  EXPECT_EQ(Get("/throws"), "");
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, CutsAConnectionThatSaysNothing) {
  Start({.timeout = std::chrono::milliseconds(50)});
  tcp::socket silent = Connect();
  boost::system::error_code error;
  std::string nothing;
  asio::read(silent, asio::dynamic_buffer(nothing), error);
  EXPECT_TRUE(error);
  EXPECT_EQ(nothing, "");
}

TEST_F(HttpServerTest, RefusesConnectionsBeyondItsLimit) {
  Start({.connections = 1});
  tcp::socket first = Connect();
  asio::write(first, asio::buffer(std::string("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")));
  std::string answer;
  asio::read_until(first, asio::dynamic_buffer(answer), "world\n");
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(server_->counters().rejected_connections, 1u);
}

// Larger than what sockets hold by themselves.
TEST_F(HttpServerTest, ReadersThatAreSlowTogetherHoldOneLargeAnswer) {
  constexpr std::size_t kLarge = std::size_t{32} << 20;
  server_ = std::make_unique<HttpServer>(HttpLimits{.sent_bytes = kLarge + 1000});
  server_->Route("/large", [](const HttpRequest&) { return HttpResponse{.body = std::string(kLarge, 'x')}; });
  server_->Route("/small", [](const HttpRequest&) { return HttpResponse{.body = "small\n"}; });
  ASSERT_TRUE(server_->Start("127.0.0.1:0").ok());
  {
    tcp::socket slow = Connect();
    asio::write(slow, asio::buffer(std::string("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")));
    std::array<char, 100> beginning{};
    asio::read(slow, asio::buffer(beginning));
    EXPECT_THAT(Get("/large"), StartsWith("HTTP/1.1 503"));
    EXPECT_THAT(Get("/small"), StartsWith("HTTP/1.1 200"));
  }
  // The server notices that the reader has gone.
  std::string answer;
  while ((answer = Get("/large")).starts_with("HTTP/1.1 503")) {
  }
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, StreamsEventsUntilTheReaderGoes) {
  Start();
  {
    tcp::socket reader = Connect();
    asio::write(reader, asio::buffer(std::string("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")));
    std::string answer;
    asio::read_until(reader, asio::dynamic_buffer(answer), "data: 2\n\n");
    EXPECT_THAT(answer, HasSubstr("Content-Type: text/event-stream"));
    EXPECT_THAT(answer, HasSubstr("id: slot-0\ndata: 0\n\nid: slot-1\ndata: 1\n\nid: slot-2\ndata: 2\n\n"));
    EXPECT_EQ(server_->counters().open_streams, 1u);
  }
  // The next event cannot be written and ends the stream.
  while (server_->counters().open_streams > 0) std::this_thread::yield();
}

TEST_F(HttpServerTest, SaysWhyItCannotListen) {
  Start();
  HttpServer second;
  EXPECT_EQ(second.Start("127.0.0.1:" + std::to_string(server_->port())).code(),
            absl::StatusCode::kUnavailable);
  HttpServer third;
  EXPECT_EQ(third.Start("nonsense").code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::http
