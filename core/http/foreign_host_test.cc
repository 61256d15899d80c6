#include "core/http/foreign_host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

namespace tributary::http {
namespace {

HttpRequest From(const std::string& address, const std::string& host, bool tls = false) {
  HttpRequest request;
  request.peer = std::make_shared<HttpPeer>(HttpPeer{address, tls});
  request.headers["Host"] = host;
  return request;
}

TEST(ForeignHostTest, KnowsAddressesAndLocalhost) {
  for (const char* own : {"localhost", "LocalHost:7480", "127.0.0.1", "127.0.0.1:7480", "[::1]:7480", "[::1]",
                          "192.0.2.7:80"}) {
    EXPECT_TRUE(IsOwnHost(own)) << own;
  }
  for (const char* foreign :
       {"evil.example", "evil.example:7480", "localhost.evil.example", "127.0.0.1.evil.example", "[evil",
        "[]", "", ":7480", "2130706433.example", "localhost@evil.example"}) {
    EXPECT_FALSE(IsOwnHost(foreign)) << foreign;
  }
}

TEST(ForeignHostTest, KnowsTheMachinesOwnName) {
  char own[256] = {};
  ASSERT_EQ(gethostname(own, sizeof own - 1), 0);
  EXPECT_TRUE(IsOwnHost(own));
  EXPECT_TRUE(IsOwnHost(std::string(own) + ":7480"));
  EXPECT_FALSE(IsOwnHost(std::string(own) + ".evil.example"));
}

TEST(ForeignHostTest, RefusesNamesOfOtherSitesOnThisMachineOnly) {
  const auto refused = RefuseForeignHost(From("127.0.0.1:5000", "evil.example:7480"));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->status, 421);
  EXPECT_TRUE(RefuseForeignHost(From("[::1]:5000", "evil.example")).has_value());
  EXPECT_FALSE(RefuseForeignHost(From("127.0.0.1:5000", "localhost:7480")).has_value());
  EXPECT_FALSE(RefuseForeignHost(From("192.0.2.7:5000", "aggregator:7480")).has_value()) << "another machine";
  EXPECT_FALSE(RefuseForeignHost(From("127.0.0.1:5000", "board.example", true)).has_value())
      << "TLS proves the name";
}

}  // namespace
}  // namespace tributary::http
