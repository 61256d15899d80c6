#include "aggregator/server/address_filter.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <string>
#include <vector>

#include "aggregator/server/listeners.h"

namespace tributary::server {
namespace {

using runtime::Descriptor;

constexpr char kFlooding[] = "127.0.0.2", kPeaceful[] = "127.0.0.3";

// Connected from that address; closed if nobody answers.
Descriptor ConnectFrom(const std::string& address, int port) {
  const bool v6 = address.find(':') != std::string::npos;
  Descriptor fd(socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{0, 200'000};
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  sockaddr_in from{}, to{};
  sockaddr_in6 to_v6{};
  from.sin_family = to.sin_family = AF_INET;
  to_v6.sin6_family = AF_INET6;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to_v6.sin6_addr = in6addr_loopback;
  to.sin_port = to_v6.sin6_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, address.c_str(), &from.sin_addr) == 1) {
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof(from)), 0);
  }
  const int connected = v6 ? connect(fd.get(), reinterpret_cast<const sockaddr*>(&to_v6), sizeof(to_v6))
                           : connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  if (connected != 0) fd.Close();
  return fd;
}

class AddressFilterTest : public ::testing::TestWithParam<const char*> {
 protected:
  AddressFilterTest() {
    auto bound = BindListeners(GetParam());
    EXPECT_TRUE(bound.ok()) << bound.status();
    listeners_ = *std::move(bound);
    filter_ = AddressFilter(listeners_);
    port_ = PortOf(listeners_.front().get());
  }
  bool Answers(const std::string& address) const { return ConnectFrom(address, port_).open(); }

  std::vector<Descriptor> listeners_;
  AddressFilter filter_;
  int port_ = 0;
};

TEST_P(AddressFilterTest, TurnsTheseAddressesAwayAndNobodyElse) {
  filter_.Set({"192.0.2.1", kFlooding, "2001:db8::/64", "unix"});
  EXPECT_FALSE(Answers(kFlooding));
  EXPECT_TRUE(Answers(kPeaceful));
  EXPECT_TRUE(Answers("127.0.0.1"));
}

TEST_P(AddressFilterTest, LetsThemInAgain) {
  filter_.Set({kFlooding, kPeaceful});
  EXPECT_FALSE(Answers(kFlooding));
  filter_.Set({kPeaceful});
  EXPECT_TRUE(Answers(kFlooding));
  EXPECT_FALSE(Answers(kPeaceful));
  filter_.Set({});
  EXPECT_TRUE(Answers(kPeaceful));
}

TEST_P(AddressFilterTest, CountsWhatItDrops) {
  EXPECT_EQ(filter_.TakeDropped(), 0u);
  filter_.Set({kFlooding});
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Answers(kFlooding));
  EXPECT_TRUE(Answers(kPeaceful));
  EXPECT_EQ(filter_.TakeDropped(), 3u);
  EXPECT_EQ(filter_.TakeDropped(), 0u);
}

TEST_P(AddressFilterTest, TakesALongListAndNoMore) {
  std::vector<std::string> many;
  for (std::size_t n = 0; n < AddressFilter::kMostAddresses; ++n) {
    many.push_back(n % 2 == 0 ? "192.0.2." + std::to_string(n % 256)
                              : "2001:db8:0:" + std::to_string(n) + "::/64");
  }
  many.back() = kFlooding;
  many.push_back(kPeaceful);
  filter_.Set(many);
  EXPECT_EQ(filter_.addresses().size(), AddressFilter::kMostAddresses);
  EXPECT_FALSE(Answers(kFlooding));
  EXPECT_TRUE(Answers(kPeaceful)) << "the door refuses it";
}

TEST_P(AddressFilterTest, LeavesConnectionsThatAreThere) {
  const Descriptor early = ConnectFrom(kFlooding, port_);
  ASSERT_TRUE(early.open());
  filter_.Set({kFlooding});
  const Descriptor accepted(accept(listeners_.front().get(), nullptr, nullptr));
  ASSERT_EQ(send(early.get(), "ab", 2, MSG_NOSIGNAL), 2);
  std::array<char, 2> got{};
  EXPECT_EQ(recv(accepted.get(), got.data(), got.size(), MSG_WAITALL), 2);
}

INSTANTIATE_TEST_SUITE_P(Listening, AddressFilterTest, ::testing::Values("127.0.0.1:0", "0.0.0.0:0"),
                         [](const auto& each) { return each.index == 0 ? "OnAnAddress" : "Everywhere"; });

TEST(AddressFilterByIPv6Test, TurnsANetworkOf64BitsAway) {
  auto listeners = BindListeners("[::]:0");
  ASSERT_TRUE(listeners.ok()) << listeners.status();
  const int port = PortOf(listeners->front().get());
  if (!ConnectFrom("::1", port).open()) GTEST_SKIP() << "this machine has no IPv6";
  AddressFilter filter(*listeners);
  filter.Set({"0:0:0:1::/64", "0:1::/64"});
  EXPECT_TRUE(ConnectFrom("::1", port).open());
  filter.Set({"0:0:0:1::/64", "::/64"});
  EXPECT_FALSE(ConnectFrom("::1", port).open());
  EXPECT_TRUE(ConnectFrom(kPeaceful, port).open());
}

TEST(DropFilterTest, AConnectionKeepsNoFilterOfItsListener) {
  auto listeners = BindListeners("127.0.0.1:0");
  ASSERT_TRUE(listeners.ok()) << listeners.status();
  AddressFilter filter(*listeners);
  filter.Set({kFlooding});
  const Descriptor peer = ConnectFrom(kPeaceful, PortOf(listeners->front().get()));
  const Descriptor accepted(accept(listeners->front().get(), nullptr, nullptr));
  ASSERT_TRUE(accepted.open());
  DropFilter(accepted.get());
  const int unused = 0;
  EXPECT_NE(setsockopt(accepted.get(), SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused)), 0)
      << "it had one still";
}

}  // namespace
}  // namespace tributary::server
