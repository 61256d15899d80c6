#include "core/wire/peer_address.h"

#include <gtest/gtest.h>

namespace tributary::wire {
namespace {

TEST(PeerAddressTest, ThePeerIsWhereGrpcSaysThatItIs) {
  EXPECT_EQ(PeerOf("ipv4:192.0.2.1:5000"), "192.0.2.1:5000");
  EXPECT_EQ(PeerOf("ipv6:%5B2001:db8::1%5D:5000"), "2001:db8::1:5000");
  EXPECT_EQ(PeerOf("ipv6:[2001:db8::1]:5000"), "2001:db8::1:5000");
  EXPECT_EQ(PeerOf("unix:/run/socket"), "unix");
}

// The front door takes the address from the socket, which has the scope apart.
TEST(PeerAddressTest, ALinkLocalPeerIsTheSameByItsSocketAndByItsCalls) {
  EXPECT_EQ(PeerOf("ipv6:%5Bfe80::1%252%5D:5000"), "fe80::1:5000");
  EXPECT_EQ(PeerOf("ipv6:[fe80::1%eth0]:5000"), "fe80::1:5000");
}

TEST(PeerAddressTest, TheHostsOfAnIpv6NetworkAreOneAddressAndThoseOfIpv4AreNot) {
  const auto address = [](const char* grpc_peer) { return AddressOf(PeerOf(grpc_peer)); };
  EXPECT_EQ(address("ipv6:%5B2001:db8::1%5D:5000"), address("ipv6:%5B2001:db8::ffff:2%5D:5001"));
  EXPECT_NE(address("ipv6:%5B2001:db8::1%5D:5000"), address("ipv6:%5B2001:db8:0:1::1%5D:5000"));
  EXPECT_EQ(address("ipv4:192.0.2.1:5000"), address("ipv4:192.0.2.1:5001"));
  EXPECT_NE(address("ipv4:192.0.2.1:5000"), address("ipv4:192.0.2.2:5000"));
  EXPECT_EQ(address("unix:/run/socket"), "unix");
}

}  // namespace
}  // namespace tributary::wire
