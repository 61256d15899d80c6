#include "aggregator/server/connection_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tributary::server {
namespace {

class ConnectionTableTest : public ::testing::Test {
 protected:
  static ConnectionLimits Few() {
    return {.connections = 8,
            .of_address = 5,
            .silent = 4,
            .silent_of_address = 3,
            .calls_of_connection = 2,
            .calls = 6};
  }
  // The silent connection that made room, by its number; -1: none.
  int Add(const std::string& peer) {
    const auto cut = table_.Add(peer, {++last_, 0});
    return cut ? cut->fd : -1;
  }
  // A connection that has made a call.
  void AddSpeaking(const std::string& peer) {
    Add(peer);
    table_.BeginCall(peer);
    table_.EndCall(peer);
  }
  std::uint64_t Refused(ConnectionFault fault) const {
    return table_.figures().refused[static_cast<std::size_t>(fault)];
  }

  ConnectionTable table_{Few()};
  int last_ = 0;
};

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

TEST_F(ConnectionTableTest, CutsAConnectionThatHasMoreCallsThanItMayHaveStreamsOnce) {
  Add("192.0.2.1:1");
  EXPECT_FALSE(table_.BeginCall("192.0.2.1:1").has_value());
  EXPECT_FALSE(table_.BeginCall("192.0.2.1:1").has_value());
  ASSERT_TRUE(table_.BeginCall("192.0.2.1:1").has_value());
  EXPECT_FALSE(table_.BeginCall("192.0.2.1:1").has_value());
  EXPECT_EQ(Refused(ConnectionFault::kTooManyCalls), 1u);
}

TEST_F(ConnectionTableTest, CutsTheConnectionWithTheMostCallsIfThereAreTooManyInAll) {
  for (int host = 1; host <= 4; ++host) Add("192.0.2." + std::to_string(host) + ":1");
  for (const int host : {1, 1, 2, 3, 4, 2}) {
    EXPECT_FALSE(table_.BeginCall("192.0.2." + std::to_string(host) + ":1").has_value());
  }
  const auto cut = table_.BeginCall("192.0.2.3:1");
  ASSERT_TRUE(cut.has_value());
  EXPECT_LE(cut->fd, 3);
  EXPECT_EQ(table_.figures().calls, 7u);
}

TEST_F(ConnectionTableTest, CutsAConnectionThatMakesTooManyRareCallsInASecond) {
  ConnectionTable table({.rare_calls = 2});
  table.Add("192.0.2.1:1", {7, 0});
  for (const std::int64_t second : {1, 1, 2, 2}) {
    EXPECT_FALSE(table.NoteRareCall("192.0.2.1:1", second).has_value());
  }
  EXPECT_TRUE(table.NoteRareCall("192.0.2.1:1", 2).has_value());
  EXPECT_FALSE(table.NoteRareCall("192.0.2.1:1", 2).has_value()) << "once";
}

TEST_F(ConnectionTableTest, ACallThatIsOverCountsNoMore) {
  Add("192.0.2.1:1");
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(table_.BeginCall("192.0.2.1:1").has_value());
    table_.EndCall("192.0.2.1:1");
  }
  EXPECT_EQ(table_.figures().calls, 0u);
}

TEST_F(ConnectionTableTest, UnixSocketsAreNotSilentBecauseTheirCallsCannotBeToldApart) {
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(Add("unix:" + std::to_string(i)), -1);
  EXPECT_EQ(table_.figures().silent, 0u);
}

// A peer that ends may reset all its streams at once; a flood goes on.
TEST_F(ConnectionTableTest, CutsTheConnectionThatResetsMoreStreamsInASecondThanItMayHave) {
  const ConnectionLimits limits;
  ASSERT_FALSE(table_.Add("192.0.2.1:1", {1, 11}));
  for (std::size_t i = 0; i < limits.resets; ++i) EXPECT_FALSE(table_.NoteReset("192.0.2.1:1", false, 5));
  for (std::size_t i = 0; i < limits.resets; ++i) EXPECT_FALSE(table_.NoteReset("192.0.2.1:1", false, 6));
  EXPECT_EQ(table_.NoteReset("192.0.2.1:1", false, 6)->fd, 1);
  EXPECT_FALSE(table_.NoteReset("192.0.2.1:1", false, 6)) << "cut already";
  EXPECT_EQ(table_.figures().refused[static_cast<std::size_t>(ConnectionFault::kResets)], 1u);

  ASSERT_FALSE(table_.Add("192.0.2.1:2", {2, 12}));
  for (std::size_t i = 0; i < limits.report_resets; ++i)
    EXPECT_FALSE(table_.NoteReset("192.0.2.1:2", true, 6));
  EXPECT_EQ(table_.NoteReset("192.0.2.1:2", true, 6)->fd, 2);
}

TEST_F(ConnectionTableTest, KeepsTheAddressOfAFloodOutForAWhileAndNoOther) {
  const ConnectionLimits limits;
  table_.Quarantine("192.0.2.1:1", 100);
  EXPECT_TRUE(table_.IsQuarantined("192.0.2.1:2", 100));
  EXPECT_TRUE(table_.IsQuarantined("192.0.2.1:2", 100 + limits.quarantine_s - 1));
  EXPECT_FALSE(table_.IsQuarantined("192.0.2.2:2", 100));
  EXPECT_FALSE(table_.IsQuarantined("192.0.2.1:2", 100 + limits.quarantine_s));
}

TEST_F(ConnectionTableTest, CutsASilentConnectionThatTalksAndNoneThatHasMadeACall) {
  Add("192.0.2.1:1");
  Add("192.0.2.1:2");
  AddSpeaking("192.0.2.1:3");
  const auto talks = [](Socket socket) { return socket.fd != 1; };
  for (int i = 1; i < ConnectionTable::kTalks; ++i) EXPECT_TRUE(table_.TakeTalkers(talks).empty()) << i;
  const auto talkers = table_.TakeTalkers(talks);
  ASSERT_EQ(talkers.size(), 1u);
  EXPECT_EQ(talkers[0].fd, 2);
  EXPECT_EQ(Refused(ConnectionFault::kNoCall), 1u);
  EXPECT_EQ(table_.figures().connections, 2u);
}

TEST_F(ConnectionTableTest, ForgetsAddressesWhoseTimeIsOverWhenThereAreTooMany) {
  const auto address = [](int n) {
    return "10.0." + std::to_string(n / 200) + "." + std::to_string(n % 200) + ":1";
  };
  for (int n = 0; n < 5000; ++n) table_.Quarantine(address(n), 100);
  EXPECT_FALSE(table_.IsQuarantined(address(4999), 100)) << "bounded";
  table_.Quarantine(address(4999), 200);
  EXPECT_TRUE(table_.IsQuarantined(address(4999), 200));
}

}  // namespace
}  // namespace tributary::server
