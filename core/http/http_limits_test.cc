// Clients that take too much, too long or too many places.
#include "core/http/http_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/http/http_server_fixture.h"
#include "core/http/http_service.h"

namespace tributary::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ::testing::StartsWith;
using HttpLimitsTest = HttpServerTest;

TEST_F(HttpLimitsTest, RefusesABodyThatIsTooLargeOrOfAnotherType) {
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

TEST_F(HttpLimitsTest, RefusesLengthsThatContradictEachOther) {
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

// A proxy that knows another coding passes a body on that would be read as the next request.
TEST_F(HttpLimitsTest, ReadsNothingBehindAMessageWhoseEndNobodyKnows) {
  Start();
  const std::string smuggled = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
  for (const char* coding : {"gzip", "xchunked", "chunked, identity", "identity", "gzip, chunked",
                             "chunked\r\nTransfer-Encoding: chunked", " "}) {
    const std::string fields = std::string("Host: x\r\nTransfer-Encoding: ") + coding + "\r\n\r\n";
    for (const char* line :
         {"GET /hello HTTP/1.1\r\n", "GET /nowhere HTTP/1.1\r\n", "POST /echo HTTP/1.1\r\n",
          "POST /echo HTTP/1.0\r\nConnection: keep-alive\r\n"}) {
      const std::string answer = Send(line + fields + smuggled);
      EXPECT_THAT(answer, ::testing::AnyOf(StartsWith("HTTP/1.1 501"), StartsWith("HTTP/1.1 400"))) << coding;
      EXPECT_EQ(answer.find("world"), std::string::npos) << line << coding;
    }
  }
  EXPECT_THAT(Send("POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled),
              StartsWith("HTTP/1.1 501"));
}

TEST_F(HttpLimitsTest, WantsAHostOfHttp11) {
  Start();
  EXPECT_THAT(Send("GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Send("GET /hello HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200"));
}

// The client sees the connection close before the server counts why.
TEST_F(HttpLimitsTest, CutsABodyThatIsShorterThanItSays) {
  Start({.timeout = std::chrono::milliseconds(50)});
  const auto& slow = server_->counters().refused[static_cast<std::size_t>(HttpRefusal::kSlow)];
  // On a busy machine the header too may come late, which is not counted.
  do {
    ASSERT_EQ(Post("Content-Type: text/plain\r\nContent-Length: 50\r\n", "short"), "");
  } while (slow == 0);
  std::string answer;
  while ((answer = Get("/hello")).empty()) {
  }
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpLimitsTest, AnswersForThoseWhoDoNotAndForgetsThemWhenItStops) {
  Start({.patience = std::chrono::milliseconds(20)});
  EXPECT_THAT(Get("/later"), StartsWith("HTTP/1.1 504"));
  const HttpPending::Done done = later_.get_future().get();
  done(HttpResponse{.body = "late\n"});
  server_.reset();
  done(HttpResponse{.body = "much later\n"});
}

TEST_F(HttpLimitsTest, FiveHundredReadersGetItsPlacesAndNoMore) {
  Start({.connections = 40, .streams = 16, .streams_of_caller = 16});
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

TEST_F(HttpLimitsTest, HalfRequestsKeepNobodyOut) {
  Start({.connections = 8});
  std::vector<tcp::socket> half;
  for (int i = 0; i < 100; ++i) {
    half.push_back(Connect());
    boost::system::error_code error;
    asio::write(half.back(), asio::buffer(std::string("GET /hello HTTP/1.1\r\nHos")), error);
  }
  for (int i = 0; i < 20; ++i) EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200")) << i;
  const HttpCounters& counters = server_->counters();
  EXPECT_GE(counters.refused[static_cast<std::size_t>(HttpRefusal::kGaveWay)], 92u);
  EXPECT_EQ(counters.refused[static_cast<std::size_t>(HttpRefusal::kTooMany)], 0u);
  while (counters.open_connections > 8) std::this_thread::yield();
}

TEST_F(HttpLimitsTest, ARequestUnderWayDoesNotGiveWay) {
  Start({.connections = 2});
  tcp::socket reader = Connect();
  asio::write(reader, asio::buffer(std::string("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")));
  while (server_->counters().open_streams < 1) std::this_thread::yield();
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200")) << i;
  EXPECT_EQ(server_->counters().open_streams, 1u);
}

TEST_F(HttpLimitsTest, OneCallerDoesNotTakeAllEventStreams) {
  Start({.streams = 4, .streams_of_caller = 2});
  const auto open = [this](const std::string& name) {
    tcp::socket reader = Connect();
    asio::write(reader, asio::buffer("GET /events HTTP/1.1\r\nHost: x\r\nX-Name: " + name + "\r\n\r\n"));
    std::string answer;
    boost::system::error_code error;
    asio::read_until(reader, asio::dynamic_buffer(answer), "\r\n", error);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 503")) << answer;
    return std::make_pair(std::move(reader), answer.starts_with("HTTP/1.1 200"));
  };
  {
    const auto first = open("ann");
    const auto second = open("ann");
    EXPECT_TRUE(first.second && second.second);
    EXPECT_FALSE(open("ann").second);
    EXPECT_TRUE(open("bob").second);
    EXPECT_TRUE(open("").second);
  }
  while (server_->counters().open_streams > 0) std::this_thread::yield();
  EXPECT_TRUE(open("ann").second) << "a share is given back";
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

TEST_F(HttpLimitsTest, OutlivesAHandlerThatThrows) {
  Start();
  EXPECT_EQ(Get("/throws"), "");
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpLimitsTest, CutsAConnectionThatSaysNothing) {
  Start({.timeout = std::chrono::milliseconds(50)});
  tcp::socket silent = Connect();
  boost::system::error_code error;
  std::string nothing;
  asio::read(silent, asio::dynamic_buffer(nothing), error);
  EXPECT_TRUE(error);
  EXPECT_EQ(nothing, "");
}

TEST_F(HttpLimitsTest, RefusesConnectionsBeyondItsLimit) {
  Start({.connections = 1});
  tcp::socket first = Connect();
  asio::write(first, asio::buffer(std::string("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")));
  while (server_->counters().open_streams < 1) std::this_thread::yield();
  EXPECT_THAT(Get("/hello"), StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(server_->counters().refused[static_cast<std::size_t>(HttpRefusal::kTooMany)], 1u);
}

// Larger than what sockets hold by themselves.
TEST_F(HttpLimitsTest, ReadersThatAreSlowTogetherHoldOneLargeAnswer) {
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

}  // namespace
}  // namespace tributary::http
