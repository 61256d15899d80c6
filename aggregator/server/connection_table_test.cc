// Who gets a place and who makes room.
#include "aggregator/server/connection_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "aggregator/server/connection_table_fixture.h"

namespace tributary::server {
namespace {

TEST_F(ConnectionTableTest, RefusesMoreFromOneAddressThanItsShare) {
  for (int port = 1; port <= 5; ++port) AddSpeaking("192.0.2.1:" + std::to_string(port));
  EXPECT_EQ(table_.Refuses("192.0.2.1:6"), ConnectionFault::kTooManyOfAddress);
  EXPECT_FALSE(table_.Refuses("192.0.2.2:6").has_value());
}

TEST_F(ConnectionTableTest, RefusesMoreThanAllPlaces) {
  for (int host = 1; host <= 8; ++host) AddSpeaking("192.0.2." + std::to_string(host) + ":1");
  EXPECT_EQ(table_.Refuses("192.0.2.9:1"), ConnectionFault::kTooMany);
}

TEST_F(ConnectionTableTest, TheHostsOfAnIpv6NetworkShareItsPlaces) {
  for (int host = 1; host <= 5; ++host) AddSpeaking("2001:db8::" + std::to_string(host) + ":1");
  EXPECT_EQ(table_.Refuses("2001:db8::6:1"), ConnectionFault::kTooManyOfAddress);
  EXPECT_FALSE(table_.Refuses("2001:db8:0:1::6:1").has_value());
}

// Ten thousand half handshakes a second delayed the panels' tuples by 30 ms.
TEST_F(ConnectionTableTest, AFloodOfSilentConnectionsKeepsItsAddressOut) {
  int port = 0;
  const auto flood = [&](int connections, std::int64_t second) {
    for (int i = 0; i < connections; ++i) Add("192.0.2.1:" + std::to_string(++port), second);
  };
  flood(3 + 10, 7);
  EXPECT_FALSE(table_.IsQuarantined("192.0.2.1:1", 7));
  flood(10, 8);
  EXPECT_FALSE(table_.IsQuarantined("192.0.2.1:1", 8)) << "each second counts by itself";
  flood(1, 8);
  EXPECT_TRUE(table_.IsQuarantined("192.0.2.1:1", 8));
  EXPECT_FALSE(table_.IsQuarantined("192.0.2.2:1", 8));
}

TEST_F(ConnectionTableTest, AnAddressThatHasFloodedIsKeptOutEarlier) {
  const std::int64_t back = Quarantine::Limits().first_s;
  table_.KeepOut("192.0.2.1:1", 0);
  int port = 0;
  for (int i = 0; i < 3 + 2; ++i) Add("192.0.2.1:" + std::to_string(++port), back);
  EXPECT_FALSE(table_.IsQuarantined("192.0.2.1:1", back));
  Add("192.0.2.1:" + std::to_string(++port), back);
  EXPECT_TRUE(table_.IsQuarantined("192.0.2.1:1", back));
}

TEST_F(ConnectionTableTest, TheOldestSilentConnectionOfAnAddressMakesRoom) {
  Add("192.0.2.1:1");
  AddSpeaking("192.0.2.1:2");
  Add("192.0.2.1:3");
  Add("192.0.2.1:4");
  EXPECT_EQ(Add("192.0.2.1:5"), 1);
  EXPECT_EQ(Refused(ConnectionFault::kTooManySilentOfAddress), 1u);
  EXPECT_EQ(table_.figures().connections, 4u);
}

TEST_F(ConnectionTableTest, TheAddressWithMostSilentConnectionsMakesRoomForAnother) {
  Add("192.0.2.9:1");
  for (int port = 2; port <= 4; ++port) Add("192.0.2.1:" + std::to_string(port));
  EXPECT_EQ(Add("192.0.2.2:1"), 2);
  EXPECT_EQ(Refused(ConnectionFault::kTooManySilent), 1u);
}

TEST_F(ConnectionTableTest, GivesThePlacesOfClosedConnectionsBack) {
  for (int port = 1; port <= 5; ++port) AddSpeaking("192.0.2.1:" + std::to_string(port));
  table_.Sweep([](Socket socket) { return socket.fd != 2; });
  EXPECT_FALSE(table_.Refuses("192.0.2.1:6").has_value());
  EXPECT_EQ(table_.figures().connections, 4u);
}

// Boards whose links all drop come back while gRPC still ends their calls: more than half of an address'
// places were cut as if they were silent, again and again, and the address was kept out.
TEST_F(ConnectionTableTest, ConnectionsThatAreClosedTakeNoPlacesWhileTheirCallsEnd) {
  for (int i = 0; i < 5; ++i) {
    Add("192.0.2.1:" + std::to_string(i));
    Begin("192.0.2.1:" + std::to_string(i), "board-" + std::to_string(i));
  }
  EXPECT_TRUE(table_.IsCrowded("192.0.2.1:9"));
  table_.Sweep([](Socket) { return false; });
  EXPECT_FALSE(table_.IsCrowded("192.0.2.1:9"));
  for (int i = 5; i < 8; ++i) {
    EXPECT_EQ(table_.Refuses("192.0.2.1:" + std::to_string(i)), std::nullopt);
    EXPECT_EQ(Add("192.0.2.1:" + std::to_string(i)), -1) << i;
  }
  for (int i = 0; i < 5; ++i) table_.EndCall("192.0.2.1:" + std::to_string(i));
  table_.Sweep([](Socket socket) { return socket.fd > 5; });
  EXPECT_EQ(table_.figures().connections, 3u);
}

TEST_F(ConnectionTableTest, SaysWhyAnAddressStaysOutAndForHowLong) {
  AddSpeaking("192.0.2.1:1");
  EXPECT_FALSE(table_.StayOf("192.0.2.1", 0).has_value());
  while (!Begin("192.0.2.1:1")) continue;
  table_.KeepOut("192.0.2.1:1", 0);
  const auto stay = table_.StayOf("192.0.2.1", 0);
  ASSERT_TRUE(stay.has_value());
  EXPECT_EQ(stay->fault, ConnectionFault::kTooManyCalls);
  EXPECT_EQ(stay->length_s, Quarantine::Limits().first_s);
  EXPECT_FALSE(table_.StayOf("192.0.2.1", stay->until).has_value());
}

TEST_F(ConnectionTableTest, UnixSocketsAreNotSilentBecauseTheirCallsCannotBeToldApart) {
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(Add("unix:" + std::to_string(i)), -1);
  EXPECT_EQ(table_.figures().silent, 0u);
}

TEST_F(ConnectionTableTest, KeepsTheAddressOfAFloodOutOnEveryPort) {
  table_.KeepOut("192.0.2.1:1", 100);
  EXPECT_TRUE(table_.IsQuarantined("192.0.2.1:2", 100));
  EXPECT_FALSE(table_.IsQuarantined("192.0.2.2:2", 100));
}

}  // namespace
}  // namespace tributary::server
