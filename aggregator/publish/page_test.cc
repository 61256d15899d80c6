#include "aggregator/publish/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio.hpp>
#include <cstdint>
#include <string>

namespace tributary::publish {
namespace {

namespace asio = boost::asio;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr PageFile kTwoFiles[] = {
    {"/", "text/html; charset=utf-8", "d1", "<p>plain", "packed page"},
    {"/assets/a-1234.js", "text/javascript; charset=utf-8", "d2", "1;", ""},
};

class PageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    AddPageRoutes(server_, kTwoFiles);
    ASSERT_TRUE(server_.Start("127.0.0.1:0").ok());
  }

  std::string Get(const std::string& path, const std::string& headers = "") {
    asio::io_context io;
    asio::ip::tcp::socket socket(io);
    socket.connect({asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(server_.port())});
    asio::write(socket, asio::buffer("GET " + path + " HTTP/1.1\r\nHost: x\r\n" + headers +
                                     "Connection: close\r\n\r\n"));
    std::string answer;
    boost::system::error_code end;
    asio::read(socket, asio::dynamic_buffer(answer), end);
    return answer;
  }

  http::HttpServer server_;
};

TEST_F(PageTest, LetsTheBrowserLoadNothingFromElsewhere) {
  const std::string answer = Get("/");
  EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self';"));
  EXPECT_THAT(answer, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(answer, Not(HasSubstr("unsafe")));
}

TEST_F(PageTest, EveryAnswerNamesTheBuildOfThePage) {
  for (const char* path : {"/", "/assets/a-1234.js", "/assets/none.js", "/nowhere"}) {
    EXPECT_THAT(Get(path), HasSubstr("\r\nTributary-Page: d1\r\n")) << path;
  }
}

TEST_F(PageTest, CompressesForWhomAcceptsThat) {
  EXPECT_THAT(Get("/"), HasSubstr("\r\n\r\n<p>plain"));
  EXPECT_THAT(Get("/"), Not(HasSubstr("Content-Encoding")));
  for (const char* list : {"gzip", "br, GZIP ;q=0.5", "deflate,gzip;q=1.0"}) {
    const std::string answer = Get("/", "Accept-Encoding: " + std::string(list) + "\r\n");
    EXPECT_THAT(answer, HasSubstr("\r\nContent-Encoding: gzip\r\n")) << list;
    EXPECT_THAT(answer, HasSubstr("\r\n\r\npacked page")) << list;
    EXPECT_THAT(answer, HasSubstr("\r\nVary: Accept-Encoding\r\n")) << list;
  }
  for (const char* list : {"gzip;q=0", "gzip; q=0.000", "br", "xgzip", ",;,="}) {
    EXPECT_THAT(Get("/", "Accept-Encoding: " + std::string(list) + "\r\n"), HasSubstr("<p>plain")) << list;
  }
  EXPECT_THAT(Get("/assets/a-1234.js", "Accept-Encoding: gzip\r\n"), HasSubstr("\r\n\r\n1;"))
      << "it is not smaller compressed";
}

TEST_F(PageTest, IsSentAgainOnlyIfItChanged) {
  EXPECT_THAT(Get("/"), HasSubstr("\r\nETag: W/\"d1\"\r\n"));
  for (const char* known : {"W/\"d1\"", "\"old\", W/\"d1\"", "*"}) {
    const std::string answer = Get("/", "If-None-Match: " + std::string(known) + "\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 304")) << known;
    EXPECT_THAT(answer, Not(HasSubstr("plain"))) << known;
  }
  EXPECT_THAT(Get("/", "If-None-Match: W/\"d2\"\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(PageTest, KeepsWhatHasADigestInItsNameAndChecksThePage) {
  EXPECT_THAT(Get("/"), HasSubstr("\r\nCache-Control: no-cache\r\n"));
  EXPECT_THAT(Get("/assets/a-1234.js"), HasSubstr("max-age=31536000, immutable"));
}

TEST_F(PageTest, HasNoOtherFiles) {
  for (const char* path : {"/index.html", "/assets/", "/assets/b.js", "/assets/../", "/nowhere"}) {
    EXPECT_THAT(Get(path), StartsWith("HTTP/1.1 404")) << path;
  }
}

}  // namespace
}  // namespace tributary::publish
