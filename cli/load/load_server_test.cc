#include "cli/load/load_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <string_view>
#include <thread>

namespace tributary::cli {
namespace {

using boost::asio::ip::tcp;
using ::testing::AllOf;
using ::testing::HasSubstr;

// What ReadMetrics says of a server that answers a request with these bytes and hangs up.
std::string SaidOf(std::string_view answer) {
  boost::asio::io_context io;
  tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  const std::jthread server([&] {
    tcp::socket socket = acceptor.accept();
    boost::asio::streambuf request;
    boost::asio::read_until(socket, request, "\r\n\r\n");
    boost::asio::write(socket, boost::asio::buffer(answer));
  });
  const auto samples = ReadMetrics("127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()));
  return std::string(samples.status().message());
}

TEST(ReadMetricsTest, SaysThatAnAddressServesNoPlainHttp) {
  constexpr std::string_view kTlsAlert("\x15\x03\x01\x00\x02\x02\x46", 7);
  for (const std::string_view answer : {std::string_view(), kTlsAlert}) {
    EXPECT_THAT(SaidOf(answer), AllOf(HasSubstr("HTTPS or another protocol"), HasSubstr("--http")));
  }
}

TEST(ReadMetricsTest, ReadsSamplesByNameAndLabels) {
  EXPECT_EQ(SaidOf("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\n"), "");
  EXPECT_THAT(SaidOf("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"), HasSubstr("status 401"));
}

}  // namespace
}  // namespace tributary::cli
