#include "core/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <boost/asio.hpp>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/http/http_connection.h"

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

TEST(HttpMessageTest, NamesEveryFaultByACodeOfGrpc) {
  const auto body = [](const HttpResponse& response) { return nlohmann::json::parse(response.body); };
  const std::vector<std::pair<int, std::string>> codes = {
      {400, "INVALID_ARGUMENT"},  {401, "UNAUTHENTICATED"},  {403, "PERMISSION_DENIED"},
      {404, "NOT_FOUND"},         {405, "UNIMPLEMENTED"},    {409, "FAILED_PRECONDITION"},
      {413, "INVALID_ARGUMENT"},  {415, "INVALID_ARGUMENT"}, {429, "RESOURCE_EXHAUSTED"},
      {431, "INVALID_ARGUMENT"},  {500, "INTERNAL"},         {503, "UNAVAILABLE"},
      {504, "DEADLINE_EXCEEDED"}, {418, "UNKNOWN"}};
  for (const auto& [status, code] : codes) {
    const HttpResponse response = HttpProblem(status, "so");
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(body(response), (nlohmann::json{{"code", code}, {"error", "so"}}));
  }
  const HttpResponse exists = HttpProblem(absl::AlreadyExistsError("twice"));
  EXPECT_EQ(exists.status, 409);
  EXPECT_EQ(body(exists)["code"], "ALREADY_EXISTS");
  EXPECT_EQ(HttpProblem(absl::DataLossError("")).status, 500);
  EXPECT_EQ(HttpProblem(absl::CancelledError("")).status, 500) << "a code without a row";
}

TEST(HttpRoutesTest, FindsTheMostExactPatternOfTheMethod) {
  HttpRoutes routes;
  const std::vector<std::pair<HttpMethod, std::string>> all = {{HttpMethod::kGet, "/runs"},
                                                               {HttpMethod::kPost, "/runs"},
                                                               {HttpMethod::kGet, "/runs/{run}"},
                                                               {HttpMethod::kDelete, "/runs/{run}"},
                                                               {HttpMethod::kPost, "/runs/{run}/stop"},
                                                               {HttpMethod::kGet, "/models/{digest}.bin"},
                                                               {HttpMethod::kGet, "/pages/"}};
  for (const auto& [method, pattern] : all) routes.Add({.method = method, .pattern = pattern, .handler = {}});
  const auto found = [&](HttpMethod method, std::string_view path) {
    const HttpRoutes::Match match = routes.Find(method, path);
    return match.route == nullptr ? std::string("none") : std::string(match.name) + " " + match.rest;
  };
  EXPECT_EQ(found(HttpMethod::kGet, "/runs"), "GET /runs ");
  EXPECT_EQ(found(HttpMethod::kPost, "/runs"), "POST /runs ");
  EXPECT_EQ(found(HttpMethod::kGet, "/runs/a/stop"), "GET /runs/{run} a/stop") << "a name may have a slash";
  EXPECT_EQ(found(HttpMethod::kPost, "/runs/a/b/stop"), "POST /runs/{run}/stop a/b");
  EXPECT_EQ(found(HttpMethod::kGet, "/models/ab.bin"), "GET /models/{digest}.bin ab");
  EXPECT_EQ(found(HttpMethod::kGet, "/pages/x/y"), "GET /pages/ x/y");
  for (const char* path : {"/run", "/runs2", "/models/ab.txt", "/models/.bi", ""}) {
    EXPECT_EQ(found(HttpMethod::kGet, path), "none") << path;
  }
  EXPECT_EQ(routes.Find(HttpMethod::kPost, "/runs/a").allowed,
            (std::set<std::string>{"DELETE", "GET", "HEAD"}));
  EXPECT_TRUE(routes.Find(HttpMethod::kPost, "/nothing").allowed.empty());
}

TEST(HttpMessageTest, RefusesWhatIsNoTarget) {
  for (const char* target : {"", "x", "*", "http://host/", "/%", "/%4", "/%zz", "/%00", "/a?b=%0a"}) {
    EXPECT_FALSE(ParseHttpTarget(target).ok()) << target;
  }
}

TEST(HttpStreamTickTest, StreamsThatBeganAtDifferentTimesTickTogether) {
  using std::chrono::milliseconds;
  using Time = std::chrono::steady_clock::time_point;
  const auto next = [](int now_ms) { return NextTick(Time(milliseconds(now_ms)), milliseconds(50)); };
  for (const int now_ms : {1000, 1001, 1049}) EXPECT_EQ(next(now_ms), Time(milliseconds(1050))) << now_ms;
  EXPECT_EQ(next(1050), Time(milliseconds(1100))) << "never the present: a stream would be asked twice";
}

// A server on a free port, and a raw connection to it.
class HttpServerTest : public ::testing::Test {
 protected:
  void Start(HttpLimits limits = {}) {
    server_ = std::make_unique<HttpServer>(limits);
    server_->Route("/hello", [](const HttpRequest&) { return HttpResponse{.body = "world\n"}; });
    server_->Route("/under/", [](const HttpRequest& request) { return HttpResponse{.body = request.rest}; });
    server_->Route("/seen", [](const HttpRequest& request) {
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
    server_->Route({.method = HttpMethod::kPost,
                    .pattern = "/echo",
                    .handler = [](const HttpRequest& request) { return HttpResponse{.body = request.body}; },
                    .body_bytes = 100,
                    .content_types = {"text/plain"}});
    server_->Route(
        {.method = HttpMethod::kDelete,
         .pattern = "/things/{thing}/parts",
         .handler = [](const HttpRequest& request) { return HttpResponse{.body = request.rest}; }});
    server_->Route("/later", [this](const HttpRequest&) {
      return HttpPending{[this](HttpPending::Done done) { later_.set_value(std::move(done)); }};
    });
    server_->Route("/pieces", [](const HttpRequest&) {
      return HttpDownload{.bytes = 6, .next = [n = 0]() mutable -> absl::StatusOr<std::string> {
                            return std::string(2, static_cast<char>('a' + n++));
                          }};
    });
    server_->Route("/torn", [](const HttpRequest&) {
      return HttpDownload{.bytes = 6, .next = [n = 0]() mutable -> absl::StatusOr<std::string> {
                            if (n++ == 0) return "ab";
                            return absl::DataLossError("the file is damaged");
                          }};
    });
    server_->Route("/headers", [](const HttpRequest&) {
      return HttpResponse{.body = "", .headers = {{"Cache-Control", "max-age=5"}, {"X-More", "yes"}}};
    });
    server_->SetGate([this](HttpRequest& request) -> std::optional<HttpResponse> {
      if (!shut_ && request.Header("X-Refuse").empty()) return std::nullopt;
      return HttpProblem(403, "not you");
    });
    server_->Route({.method = HttpMethod::kPost,
                    .pattern = "/echo",
                    .handler = [](const HttpRequest& request) { return HttpResponse{.body = request.body}; },
                    .body_bytes = 100,
                    .content_types = {"text/plain"}});
    server_->Route(
        {.method = HttpMethod::kDelete,
         .pattern = "/things/{thing}/parts",
         .handler = [](const HttpRequest& request) { return HttpResponse{.body = request.rest}; }});
    server_->Route("/later", [this](const HttpRequest&) {
      return HttpPending{[this](HttpPending::Done done) { later_.set_value(std::move(done)); }};
    });
    server_->Route("/pieces", [](const HttpRequest&) {
      return HttpDownload{.bytes = 6, .next = [n = 0]() mutable -> absl::StatusOr<std::string> {
                            return std::string(2, static_cast<char>('a' + n++));
                          }};
    });
    server_->Route("/torn", [](const HttpRequest&) {
      return HttpDownload{.bytes = 6, .next = [n = 0]() mutable -> absl::StatusOr<std::string> {
                            if (n++ == 0) return "ab";
                            return absl::DataLossError("the file is damaged");
                          }};
    });
    server_->Route("/headers", [](const HttpRequest&) {
      return HttpResponse{.body = "", .headers = {{"Cache-Control", "max-age=5"}, {"X-More", "yes"}}};
    });
    server_->SetGate([this](HttpRequest& request) -> std::optional<HttpResponse> {
      if (!shut_ && request.Header("X-Refuse").empty()) return std::nullopt;
      return HttpProblem(403, "not you");
    });
    ASSERT_TRUE(server_->Start("127.0.0.1:0").ok());
  }
  std::string Post(const std::string& fields, const std::string& body) {
    return Send("POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + fields + "\r\n" + body);
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
  std::promise<HttpPending::Done> later_;
  std::atomic<bool> shut_ = false;  // the gate refuses everything
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
  EXPECT_THAT(Send("POST /hello HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
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
      {"405", Send("POST /hello HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")},
      {"413", Send("GET /hello HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello")},
      {"431", Send("GET /hello HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n")},
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

TEST_F(HttpServerTest, RefusesABodyThatIsTooLargeOrOfAnotherType) {
  Start();
  const std::string type = "Content-Type: text/plain\r\n";
  EXPECT_THAT(Post(type + "Content-Length: 101\r\n", ""), StartsWith("HTTP/1.1 413")) << "before it is sent";
  EXPECT_THAT(Post(type + "Content-Length: 18446744073709551615\r\n", ""), StartsWith("HTTP/1.1 413"));
  // A bomb of chunks: more than is allowed, in small pieces, and one that claims to be endless.
  std::string bomb;
  for (int i = 0; i < 10'000; ++i) bomb += "1\r\nx\r\n";
  EXPECT_THAT(Post(type + "Transfer-Encoding: chunked\r\n", bomb), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Post(type + "Transfer-Encoding: chunked\r\n", "fffffffffffffff\r\nx"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(Post(type + "Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\nx"),
              StartsWith("HTTP/1.1 400"))
      << "more than 64 bits";
  EXPECT_THAT(Post("Content-Length: 1\r\n", "x"), StartsWith("HTTP/1.1 415"));
  EXPECT_THAT(Post("Content-Type: application/json\r\nContent-Length: 1\r\n", "x"),
              StartsWith("HTTP/1.1 415"));
}

TEST_F(HttpServerTest, RefusesLengthsThatContradictEachOther) {
  Start();
  const std::string type = "Content-Type: text/plain\r\n";
  for (const char* fields :
       {"Content-Length: 1\r\nContent-Length: 2\r\n", "Content-Length: -1\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n", "Content-Length: x\r\n"}) {
    EXPECT_THAT(Post(type + fields, "xx"), StartsWith("HTTP/1.1 400")) << fields;
  }
  EXPECT_THAT(Post("Host: other\r\n", ""), StartsWith("HTTP/1.1 400")) << "two hosts";
  EXPECT_THAT(Post("Authorization: a\r\nauthorization: b\r\n", ""), StartsWith("HTTP/1.1 400"));
}

TEST_F(HttpServerTest, CutsABodyThatIsShorterThanItSays) {
  Start({.timeout = std::chrono::milliseconds(50)});
  EXPECT_EQ(Post("Content-Type: text/plain\r\nContent-Length: 50\r\n", "short"), "");
  EXPECT_EQ(server_->counters().refused[static_cast<std::size_t>(HttpRefusal::kSlow)], 1u);
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200"));
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

TEST_F(HttpServerTest, AnswersForThoseWhoDoNotAndForgetsThemWhenItStops) {
  Start({.patience = std::chrono::milliseconds(20)});
  EXPECT_THAT(Get("/later"), StartsWith("HTTP/1.1 504"));
  const HttpPending::Done done = later_.get_future().get();
  done(HttpResponse{.body = "late\n"});
  server_.reset();
  done(HttpResponse{.body = "much later\n"});
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

TEST_F(HttpServerTest, FiveHundredReadersGetItsPlacesAndNoMore) {
  Start({.connections = 40, .streams = 16});
  std::vector<tcp::socket> readers;
  for (int i = 0; i < 500; ++i) {
    readers.push_back(Connect());
    boost::system::error_code error;
    asio::write(readers.back(), asio::buffer(std::string("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")), error);
  }
  const HttpCounters& counters = server_->counters();
  while (counters.refused[0] + counters.rejected_requests < 484) std::this_thread::yield();
  EXPECT_EQ(counters.open_streams, 16u);
  EXPECT_LE(server_->counters().open_connections, 80u);
  readers.clear();
  while (server_->counters().open_streams > 0) std::this_thread::yield();
  std::string answer;
  while (!(answer = Get("/hello")).starts_with("HTTP/1.1 200")) {
  }
}

TEST(HttpHostTest, IsAnAddressOrANetworkOf64BitsAndTheLoopbackIsNobody) {
  const auto host = [](const char* address) { return HostOf(asio::ip::make_address(address)); };
  EXPECT_EQ(host("127.0.0.1"), "");
  EXPECT_EQ(host("::1"), "");
  EXPECT_EQ(host("::ffff:127.0.0.1"), "");
  EXPECT_EQ(host("::ffff:192.0.2.7"), host("192.0.2.7"));
  EXPECT_NE(host("192.0.2.7"), host("192.0.2.8"));
  EXPECT_EQ(host("2001:db8:1:2::1"), host("2001:db8:1:2:ffff::7"));
  EXPECT_NE(host("2001:db8:1:2::1"), host("2001:db8:1:3::1"));
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
