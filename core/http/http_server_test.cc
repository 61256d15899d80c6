#include "core/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio.hpp>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/http/http_connection.h"
#include "core/http/http_server_fixture.h"

namespace tributary::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(HttpStreamTickTest, StreamsThatBeganAtDifferentTimesTickTogether) {
  using std::chrono::milliseconds;
  using Time = std::chrono::steady_clock::time_point;
  const auto next = [](int now_ms) { return NextTick(Time(milliseconds(now_ms)), milliseconds(50)); };
  for (const int now_ms : {1000, 1001, 1049}) EXPECT_EQ(next(now_ms), Time(milliseconds(1050))) << now_ms;
  EXPECT_EQ(next(1050), Time(milliseconds(1100))) << "never the present: a stream would be asked twice";
}

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
      Send("GET /seen HTTP/1.1\r\nHost: x\r\nX-Word: one\r\nx-word: two\r\nConnection: close\r\n\r\n");
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
  EXPECT_THAT(Send("POST /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(Send("GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Send("\x16\x03\x01 nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Send("GET /hello HTTP/1.1\r\nHost: x\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431"));
  EXPECT_EQ(server_->counters().rejected_requests, 6u);
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, AnswersEachFaultWithTheSameJsonObject) {
  Start({.streams = 0});
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"404", Get("/nowhere")},
      {"400", Get("/%zz")},
      {"405", Send("POST /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")},
      {"413", Send("GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")},
      {"431", Send("GET /hello HTTP/1.1\r\nHost: x\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n")},
      {"503", Get("/events")}};
  for (const auto& [status, answer] : faults) {
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + status));
    EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: application/json\r\n"));
    const auto body = nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n")), nullptr, false);
    ASSERT_TRUE(body.is_object()) << answer;
    EXPECT_EQ(body.size(), 2u) << answer;
    EXPECT_NE(body.value("code", ""), "") << answer;
    EXPECT_NE(body.value("error", ""), "") << answer;
  }
}

TEST_F(HttpServerTest, GivesAHandlerTheBody) {
  Start();
  EXPECT_THAT(Post("Content-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n", "hello"),
              HasSubstr("\r\n\r\nhello"));
  EXPECT_THAT(Post("Content-Type: TEXT/plain\r\nTransfer-Encoding: chunked\r\n",
                   "2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n"),
              HasSubstr("\r\n\r\nhello"));
  EXPECT_THAT(Post("Content-Length: 0\r\n", ""), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Post("", ""), StartsWith("HTTP/1.1 200")) << "no body at all";
  EXPECT_THAT(Send("DELETE /things/a%20b/parts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              HasSubstr("\r\n\r\na b"));
}

TEST_F(HttpServerTest, WaitsForTheBodyWhereTheClientWaitsForLeave) {
  Start();
  tcp::socket client = Connect();
  asio::write(client,
              asio::buffer(std::string("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n"
                                       "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")));
  std::string answer;
  asio::read_until(client, asio::dynamic_buffer(answer), "\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 100"));
  asio::write(client, asio::buffer(std::string("ok")));
  asio::read_until(client, asio::dynamic_buffer(answer), "\r\n\r\nok");
}

TEST_F(HttpServerTest, TakesWhatFollowsABodyForTheNextRequest) {
  Start();
  const std::string request =
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nab";
  const std::string answer =
      Send(request + request + "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(server_->counters().requests, 3u);
  EXPECT_THAT(answer, HasSubstr("world"));
  EXPECT_THAT(Send(request + "cd\r\n\r\n"), ::testing::AllOf(HasSubstr("200 OK"), HasSubstr("\r\n\r\nab")));
}

TEST_F(HttpServerTest, SaysWhichMethodsAPathHas) {
  Start();
  EXPECT_THAT(Get("/echo"), ::testing::AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("\r\nAllow: POST\r\n")));
  EXPECT_THAT(Send("PUT /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              ::testing::AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("\r\nAllow: GET, HEAD\r\n")));
}

TEST_F(HttpServerTest, ReplacesItsOwnFieldsByThoseOfTheAnswer) {
  Start();
  const std::string answer = Get("/headers");
  EXPECT_THAT(answer, HasSubstr("\r\nCache-Control: max-age=5\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nX-More: yes\r\n"));
  EXPECT_THAT(answer, ::testing::Not(HasSubstr("no-store")));
}

TEST_F(HttpServerTest, AsksTheGateBeforeItReadsTheBody) {
  Start();
  EXPECT_THAT(Post("X-Refuse: yes\r\nContent-Type: text/plain\r\nContent-Length: 50\r\n", ""),
              StartsWith("HTTP/1.1 403"));
  EXPECT_EQ(server_->counters().rejected_requests, 1u);
}

TEST_F(HttpServerTest, SendsAnAnswerThatAnotherThreadFinds) {
  Start();
  std::future<std::string> answer = std::async(std::launch::async, [this] { return Get("/later"); });
  const HttpPending::Done done = later_.get_future().get();
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200")) << "the server goes on meanwhile";
  done(HttpResponse{.body = "found\n"});
  EXPECT_THAT(answer.get(), HasSubstr("\r\n\r\nfound\n"));
  done(HttpResponse{.body = "twice\n"});
}

TEST_F(HttpServerTest, SendsABodyInPiecesOrCutsItShort) {
  Start();
  EXPECT_THAT(Get("/pieces"),
              ::testing::AllOf(HasSubstr("Content-Length: 6\r\n"), HasSubstr("\r\n\r\naabbcc")));
  const std::string torn = Get("/torn");
  EXPECT_THAT(torn, HasSubstr("Content-Length: 6\r\n"));
  EXPECT_THAT(torn, ::testing::EndsWith("\r\n\r\nab"));
  EXPECT_THAT(Send("HEAD /pieces HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              ::testing::EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, EndsAStreamThatTheGateNoLongerAdmits) {
  Start({.judge_every = std::chrono::milliseconds(5)});
  tcp::socket reader = Connect();
  asio::write(reader, asio::buffer(std::string("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")));
  std::string answer;
  asio::read_until(reader, asio::dynamic_buffer(answer), "data: 1\n\n");
  shut_ = true;
  boost::system::error_code error;
  asio::read(reader, asio::dynamic_buffer(answer), error);
  EXPECT_EQ(error, asio::error::eof);
  EXPECT_EQ(server_->counters().ended_streams, 1u);
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
