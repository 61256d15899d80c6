#include "core/runtime/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace tributary::runtime {
namespace {

using ::testing::HasSubstr;

std::string Fault(std::string_view address, AddressUse use = AddressUse::kDial) {
  return std::string(CheckAddress(address, use).message());
}

TEST(AddressTest, TakesNamesNumbersAndBracketedIpv6) {
  for (const char* address : {"hub:7400", "hub.example.org:7400", "my_host:1", "10.0.0.1:65535", "[::1]:7400",
                              "[fe80::1]:80", "0.0.0.0:1", "unix:/run/tributary.sock"}) {
    EXPECT_EQ(Fault(address), "") << address;
  }
  const auto parsed = ParseHostPort("[::1]:7400");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->host, "::1");
  EXPECT_EQ(parsed->port, 7400);
}

TEST(AddressTest, RefusesAnAddressWithoutAPort) {
  for (const char* address : {"hub", "10.0.0.1", "[::1]", ""}) {
    EXPECT_THAT(Fault(address), HasSubstr("has no port")) << address;
  }
  EXPECT_THAT(Fault("hub:"), HasSubstr("the port must be a number"));
}

TEST(AddressTest, RefusesWhatIsNoPort) {
  for (const char* address :
       {"hub:65536", "hub:-1", "hub:+1", "hub:http", "hub: 80", "hub:0x50", "hub:999999999999"}) {
    EXPECT_THAT(Fault(address), HasSubstr("a number from 0 to 65535")) << address;
  }
}

TEST(AddressTest, RefusesWhatIsNoHost) {
  for (const char* address :
       {"10.0.0:80", "10.0.0.256:80", "a..b:80", "-a:80", "a b:80", "http//a:80", "1:80"}) {
    EXPECT_THAT(Fault(address), HasSubstr("neither a host name nor an IP address")) << address;
  }
  EXPECT_THAT(Fault(std::string(254, 'a') + ":80"), HasSubstr("neither a host name"));
  EXPECT_THAT(Fault("::1:7400"), HasSubstr("in brackets"));
  EXPECT_THAT(Fault("http://hub:80"), HasSubstr("expected host:port"));
  EXPECT_THAT(Fault("[hub]:80"), HasSubstr("an IPv6 address in the brackets"));
  EXPECT_THAT(Fault("[::1]x:80"), HasSubstr("an IPv6 address in the brackets"));
  EXPECT_THAT(Fault(":80"), HasSubstr("0.0.0.0"));
}

TEST(AddressTest, ListensOnPortZeroAndDialsItNever) {
  EXPECT_EQ(Fault("127.0.0.1:0", AddressUse::kListen), "");
  EXPECT_EQ(Fault("127.0.0.1:0", AddressUse::kListenHttp), "");
  EXPECT_THAT(Fault("127.0.0.1:0", AddressUse::kDial), HasSubstr("port 0"));
}

TEST(AddressTest, TakesUnixSocketsForGrpcAlone) {
  EXPECT_EQ(Fault("unix:/run/a.sock", AddressUse::kListen), "");
  EXPECT_NE(Fault("unix:/run/a.sock", AddressUse::kListenHttp), "");
  EXPECT_THAT(Fault("unix:"), HasSubstr("1 to 107 bytes"));
  EXPECT_THAT(Fault("unix:" + std::string(200, 'a')), HasSubstr("1 to 107 bytes"));
}

TEST(AddressTest, OnlyThisMachineIsLoopback) {
  for (const char* address :
       {"localhost:1", "LOCALHOST:1", "127.0.0.1:1", "127.255.0.3:1", "[::1]:1", "unix:/run/a.sock"}) {
    EXPECT_TRUE(IsLoopback(address)) << address;
  }
  for (const char* address : {"127.evil.example.com:7400", "localhost.example.com:1", "128.0.0.1:1",
                              "0.0.0.0:1", "[::]:1", "[::2]:1", "127.0.0.1", "127.1:1", "hub:1"}) {
    EXPECT_FALSE(IsLoopback(address)) << address;
  }
}

TEST(AddressTest, KnowsItsOwnListener) {
  EXPECT_TRUE(Reaches("127.0.0.1:7400", "127.0.0.1:7400"));
  EXPECT_TRUE(Reaches("localhost:7400", "127.0.0.1:7400"));
  EXPECT_TRUE(Reaches("localhost:7400", "0.0.0.0:7400"));
  EXPECT_TRUE(Reaches("[::1]:7400", "[::]:7400"));
  EXPECT_TRUE(Reaches("Hall-2:7400", "hall-2:7400"));
  EXPECT_TRUE(Reaches("[0:0::1]:7400", "[::1]:7400"));
  EXPECT_TRUE(Reaches("unix:/run/a", "unix:/run/a"));
  EXPECT_FALSE(Reaches("unix:/run/a", "unix:/run/b"));
  EXPECT_FALSE(Reaches("unix:/run/a", "127.0.0.1:7400"));
  EXPECT_FALSE(Reaches("127.0.0.1:7401", "127.0.0.1:7400"));
  EXPECT_FALSE(Reaches("127.0.0.1:7400", "10.0.0.1:7400")) << "another process may listen there";
  EXPECT_FALSE(Reaches("plant:7400", "0.0.0.0:7400")) << "nothing is resolved";
  EXPECT_FALSE(Reaches("plant", "0.0.0.0:7400"));
  EXPECT_FALSE(Reaches("127.0.0.1:0", "127.0.0.1:0"));
}

TEST(AddressTest, ANumberThatIsNoIpAddressIsNoHostName) {
  for (const char* name : {"hub", "hub.lan", "hub-1.lan", "10.0.0.1a"}) EXPECT_TRUE(IsHostName(name)) << name;
  for (const char* name : {"", "999.1.1.1", "10.0.0", "hub.7", "-hub", "a..b", "a b", "hub:7400"}) {
    EXPECT_FALSE(IsHostName(name)) << name;
  }
}

TEST(AddressTest, TellsThePathOfAUnixSocket) {
  EXPECT_EQ(UnixPathOf("unix:/run/hub.sock"), "/run/hub.sock");
  EXPECT_EQ(UnixPathOf("127.0.0.1:7400"), "");
}

TEST(AddressTest, SaysWhyNobodyCanListenAndWhatToDo) {
  EXPECT_THAT(WhyNotListen(EADDRINUSE), HasSubstr("another process listens there"));
  EXPECT_THAT(WhyNotListen(EADDRNOTAVAIL), HasSubstr("this machine has no such address"));
  EXPECT_THAT(WhyNotListen(EACCES), HasSubstr("below 1024"));
  EXPECT_EQ(WhyNotListen(EMFILE), "Too many open files");
}

TEST(AddressTest, WritesAnIpAddressInOneForm) {
  EXPECT_EQ(NormalIpAddress("0:0:0:0:0:0:0:1").value(), "::1");
  EXPECT_EQ(NormalIpAddress("2001:DB8::1").value(), "2001:db8::1");
  EXPECT_EQ(NormalIpAddress("10.0.0.1").value(), "10.0.0.1");
  EXPECT_FALSE(NormalIpAddress("localhost").ok());
  EXPECT_FALSE(NormalIpAddress("10.0.0.1:80").ok());
}

}  // namespace
}  // namespace tributary::runtime
