#include "aggregator/server/connection_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::server {
namespace {

class ConnectionTableTest : public ::testing::Test {
 protected:
  static ConnectionLimits Few() {
    return {.connections = 8,
            .of_address = 5,
            .silent = 4,
            .silent_of_address = 3,
            .silent_cuts = 10,
            .calls_of_connection = 2,
            .calls = 6,
            .call_rate = 40,
            .call_rate_of_address = 200,
            .refused_calls = 3,
            .half_calls = 3,
            .unheard_bytes_per_look = 0};
  }
  // The silent connection that made room, by its number; -1: none.
  int Add(const std::string& peer, std::int64_t second = 0) {
    const auto cut = table_.Add(peer, {++last_, 0}, second);
    return cut ? cut->fd : -1;
  }
  // A connection that has made a call.
  void AddSpeaking(const std::string& peer) {
    Add(peer);
    Begin(peer);
    table_.EndCall(peer);
  }
  std::optional<Socket> Begin(const std::string& peer, const std::string& name = "",
                              std::int64_t second = 0) {
    return table_.BeginCall(peer, name, second);
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
  EXPECT_FALSE(Begin("192.0.2.1:1").has_value());
  EXPECT_FALSE(Begin("192.0.2.1:1").has_value());
  ASSERT_TRUE(Begin("192.0.2.1:1").has_value());
  EXPECT_FALSE(Begin("192.0.2.1:1").has_value());
  EXPECT_EQ(Refused(ConnectionFault::kTooManyCalls), 1u);
}

TEST_F(ConnectionTableTest, CutsTheConnectionWithTheMostCallsIfThereAreTooManyInAll) {
  for (int host = 1; host <= 4; ++host) Add("192.0.2." + std::to_string(host) + ":1");
  for (const int host : {1, 1, 2, 3, 4, 2}) {
    EXPECT_FALSE(Begin("192.0.2." + std::to_string(host) + ":1").has_value());
  }
  const auto cut = Begin("192.0.2.3:1");
  ASSERT_TRUE(cut.has_value());
  EXPECT_LE(cut->fd, 3);
  EXPECT_EQ(table_.figures().calls, 7u);
}

TEST_F(ConnectionTableTest, CutsAConnectionThatMakesTooManyRareCallsInASecond) {
  ConnectionTable table({.rare_calls = 2});
  table.Add("192.0.2.1:1", {7, 0}, 0);
  for (const std::int64_t second : {1, 1, 2, 2}) {
    EXPECT_FALSE(table.NoteRareCall("192.0.2.1:1", second).has_value());
  }
  EXPECT_TRUE(table.NoteRareCall("192.0.2.1:1", 2).has_value());
  EXPECT_FALSE(table.NoteRareCall("192.0.2.1:1", 2).has_value()) << "once";
}

TEST_F(ConnectionTableTest, ACallThatIsOverCountsNoMore) {
  Add("192.0.2.1:1");
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(Begin("192.0.2.1:1").has_value());
    table_.EndCall("192.0.2.1:1");
  }
  EXPECT_EQ(table_.figures().calls, 0u);
}

// It may spread them over as many connections as it likes.
TEST_F(ConnectionTableTest, OnePeerHasHalfOfAllCallsAtMostAndTheOthersTheRest) {
  for (int port = 1; port <= 4; ++port) Add("192.0.2." + std::to_string(port) + ":1");
  for (const int port : {1, 2, 3}) {
    EXPECT_FALSE(Begin("192.0.2." + std::to_string(port) + ":1", "greedy").has_value());
  }
  EXPECT_EQ(Begin("192.0.2.3:1", "greedy")->fd, 3);
  EXPECT_EQ(Refused(ConnectionFault::kTooManyCallsOfPeer), 1u);
  EXPECT_FALSE(Begin("192.0.2.4:1", "honest").has_value());
  table_.EndCall("192.0.2.1:1");
  table_.EndCall("192.0.2.3:1");
  EXPECT_FALSE(Begin("192.0.2.2:1", "greedy").has_value()) << "its calls have ended";
}

TEST_F(ConnectionTableTest, WithoutTlsAnAddressHasHalfOfAllCallsAtMost) {
  for (int port = 1; port <= 4; ++port) AddSpeaking("192.0.2.1:" + std::to_string(port));
  for (int port = 1; port <= 3; ++port) {
    EXPECT_FALSE(Begin("192.0.2.1:" + std::to_string(port)).has_value());
  }
  EXPECT_TRUE(Begin("192.0.2.1:4").has_value());
}

TEST_F(ConnectionTableTest, ACutConnectionGivesItsPeersCallsBackWhenItCloses) {
  for (int port = 1; port <= 2; ++port) Add("192.0.2.1:" + std::to_string(port));
  Begin("192.0.2.1:1");
  Begin("192.0.2.1:1");
  ASSERT_TRUE(Begin("192.0.2.1:1").has_value());
  for (int i = 0; i < 3; ++i) table_.EndCall("192.0.2.1:1");
  table_.Sweep([](Socket socket) { return socket.fd != 1; });
  EXPECT_FALSE(Begin("192.0.2.1:2").has_value());
  EXPECT_FALSE(Begin("192.0.2.1:2").has_value());
}

// DeclineTask, Participate and refused calls in a loop cost gRPC's threads what the panels need.
TEST_F(ConnectionTableTest, CutsANameThatMakesTooManyCallsInASecondOverAllItsConnections) {
  const auto call = [this](int port, std::int64_t second) {
    const std::string peer = "192.0.2." + std::to_string(port) + ":1";
    const auto cut = Begin(peer, "loop", second);
    table_.EndCall(peer);
    return cut;
  };
  for (int port = 1; port <= 2; ++port) Add("192.0.2." + std::to_string(port) + ":1");
  for (int i = 0; i < 40; ++i) EXPECT_FALSE(call(1 + i % 2, 7).has_value());
  for (int i = 0; i < 40; ++i) EXPECT_FALSE(call(1 + i % 2, 8).has_value());
  EXPECT_EQ(call(2, 8)->fd, 2);
  EXPECT_FALSE(call(2, 8).has_value()) << "once";
  EXPECT_EQ(call(1, 8)->fd, 1) << "each that goes on";
  EXPECT_EQ(Refused(ConnectionFault::kCallRate), 2u);
}

TEST_F(ConnectionTableTest, CutsAllConnectionsOfANameWhoseCallsAreRefusedInALoop) {
  for (int port = 1; port <= 3; ++port) Add("192.0.2.1:" + std::to_string(port));
  for (int port = 1; port <= 2; ++port) Begin("192.0.2.1:" + std::to_string(port), "thief");
  Begin("192.0.2.1:3", "honest");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(table_.NoteRefusedCall("thief", 5).empty());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(table_.NoteRefusedCall("thief", 6).empty());
  EXPECT_TRUE(table_.NoteRefusedCall("nobody yet", 6).empty());
  std::set<int> cut;
  for (const Socket& each : table_.NoteRefusedCall("thief", 6)) cut.insert(each.fd);
  EXPECT_EQ(cut, (std::set{1, 2}));
  EXPECT_TRUE(table_.NoteRefusedCall("thief", 6).empty()) << "once";
}

TEST_F(ConnectionTableTest, CutsAllConnectionsOfANameWithTooManyCallsOfWhichOnlyHeadersCame) {
  for (int port = 1; port <= 3; ++port) Add("192.0.2.1:" + std::to_string(port));
  for (int port = 1; port <= 2; ++port) Begin("192.0.2.1:" + std::to_string(port), "evil");
  Begin("192.0.2.1:3", "honest");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(table_.NoteAdmittedCall("evil").empty());
  EXPECT_TRUE(table_.NoteAdmittedCall("honest").empty());
  EXPECT_TRUE(table_.NoteAdmittedCall("nobody yet").empty());
  std::set<int> cut;
  for (const Socket& each : table_.NoteAdmittedCall("evil")) cut.insert(each.fd);
  EXPECT_EQ(cut, (std::set{1, 2}));
  EXPECT_TRUE(table_.NoteAdmittedCall("evil").empty()) << "once";
  EXPECT_EQ(Refused(ConnectionFault::kHalfCalls), 2u);
}

TEST_F(ConnectionTableTest, ACallWhoseRequestHasComeIsHalfNoMore) {
  Add("192.0.2.1:1");
  Begin("192.0.2.1:1", "node");
  table_.EndCall("192.0.2.1:1");
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(table_.NoteAdmittedCall("node").empty()) << i;
    EXPECT_FALSE(Begin("192.0.2.1:1", "node", i).has_value());
    table_.EndCall("192.0.2.1:1");
  }
}

TEST_F(ConnectionTableTest, TenThousandNodesOfOneAddressMayJoinInASecondWithoutTls) {
  ConnectionTable table({.calls = 45'000});
  for (int channel = 0; channel < 20; ++channel)
    table.Add("192.0.2.1:" + std::to_string(channel), {channel, 0}, 0);
  for (int node = 0; node < 10'000; ++node) {
    const std::string peer = "192.0.2.1:" + std::to_string(node / 500);
    EXPECT_FALSE(table.BeginCall(peer, "", 1).has_value()) << node << " joins";
    EXPECT_FALSE(table.BeginCall(peer, "", 1).has_value()) << node << " sends its update";
  }
}

TEST_F(ConnectionTableTest, WhenMemoryRunsOutTheAddressThatSentMostIsCutAndWhoReportsComesLast) {
  const auto peer = [](int host, int port) {
    return "192.0.2." + std::to_string(host) + ":" + std::to_string(port);
  };
  AddSpeaking(peer(1, 1));  // a panel
  Begin(peer(1, 1));
  table_.NoteReport(peer(1, 1));
  AddSpeaking(peer(2, 2));  // a node that learns
  AddSpeaking(peer(3, 3));  // the one who sends, on two connections
  AddSpeaking(peer(3, 4));
  std::array<std::uint64_t, 5> received = {0, 5'000, 900, 800, 700};
  const auto now = [&](Socket socket) { return received[static_cast<std::size_t>(socket.fd)]; };
  table_.NoteSent(now);
  received = {0, 15'000, 1'000, 860, 760};
  table_.NoteSent(now);
  const auto fds = [](const std::vector<Socket>& sockets) {
    std::set<int> all;
    for (const Socket& each : sockets) all.insert(each.fd);
    return all;
  };
  EXPECT_EQ(fds(table_.TakeGreediest()), (std::set{3, 4}));
  EXPECT_EQ(fds(table_.TakeGreediest()), std::set{2});
  EXPECT_EQ(fds(table_.TakeGreediest()), std::set{1});
  EXPECT_TRUE(table_.TakeGreediest().empty());
  EXPECT_EQ(Refused(ConnectionFault::kMemory), 4u);
}

TEST_F(ConnectionTableTest, AReportThatHasEndedProtectsNothing) {
  AddSpeaking("192.0.2.1:1");
  AddSpeaking("192.0.2.2:2");
  for (const char* peer : {"192.0.2.1:1", "192.0.2.2:2"}) {
    Begin(peer);
    table_.NoteReport(peer);
  }
  table_.EndCall("192.0.2.2:2", true);
  EXPECT_EQ(table_.TakeGreediest().at(0).fd, 2);
}

TEST_F(ConnectionTableTest, UnixSocketsAreNotSilentBecauseTheirCallsCannotBeToldApart) {
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(Add("unix:" + std::to_string(i)), -1);
  EXPECT_EQ(table_.figures().silent, 0u);
}

// A peer that ends may reset all its streams at once; a flood goes on.
TEST_F(ConnectionTableTest, CutsTheConnectionThatResetsMoreStreamsInASecondThanItMayHave) {
  const ConnectionLimits limits;
  ASSERT_FALSE(table_.Add("192.0.2.1:1", {1, 11}, 0));
  for (std::size_t i = 0; i < limits.resets; ++i) EXPECT_FALSE(table_.NoteReset("192.0.2.1:1", false, 5));
  for (std::size_t i = 0; i < limits.resets; ++i) EXPECT_FALSE(table_.NoteReset("192.0.2.1:1", false, 6));
  EXPECT_EQ(table_.NoteReset("192.0.2.1:1", false, 6)->fd, 1);
  EXPECT_FALSE(table_.NoteReset("192.0.2.1:1", false, 6)) << "cut already";
  EXPECT_EQ(table_.figures().refused[static_cast<std::size_t>(ConnectionFault::kResets)], 1u);

  ASSERT_FALSE(table_.Add("192.0.2.1:2", {2, 12}, 0));
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

TEST_F(ConnectionTableTest, CutsAPeerWhoseReflectionStreamsFollowEachOtherTooFastOnAnyConnection) {
  const std::size_t limit = ConnectionLimits().reflections;
  for (const std::string peer : {"192.0.2.1:1", "192.0.2.1:2", "192.0.2.2:1"}) AddSpeaking(peer);
  for (std::size_t i = 0; i < limit; ++i) {
    EXPECT_FALSE(table_.NoteReflection(i % 2 == 0 ? "192.0.2.1:1" : "192.0.2.1:2", 7).has_value());
  }
  EXPECT_FALSE(table_.NoteReflection("192.0.2.2:1", 7).has_value()) << "another peer";
  EXPECT_EQ(table_.NoteReflection("192.0.2.1:2", 7)->fd, 2);
  EXPECT_EQ(Refused(ConnectionFault::kCallRate), 1u);
  EXPECT_FALSE(table_.NoteReflection("192.0.2.1:1", 8).has_value()) << "the next second";
}

TEST_F(ConnectionTableTest, HearsCallsAndMessages) {
  Add("192.0.2.1:1");
  EXPECT_EQ(table_.OpenConnections().front().heard, 0u);
  Begin("192.0.2.1:1");
  ++table_.PulseOf("192.0.2.1:1")->heard;
  EXPECT_EQ(table_.OpenConnections().front().heard, 2u);
  EXPECT_EQ(table_.PulseOf("192.0.2.9:1"), nullptr);
}

TEST_F(ConnectionTableTest, TakesWhoStallsOnce) {
  Add("192.0.2.1:1");
  AddSpeaking("192.0.2.2:1");
  std::vector<std::uint64_t> all;
  for (const ConnectionTable::Open& each : table_.OpenConnections()) all.push_back(each.number);
  EXPECT_EQ(table_.TakeStalling({all[0] + all[1] + 1}).size(), 0u) << "neither";
  EXPECT_EQ(table_.TakeStalling(all).size(), 2u);
  EXPECT_EQ(table_.TakeStalling(all).size(), 0u);
  EXPECT_TRUE(table_.OpenConnections().empty()) << "cut, and not closed yet";
  EXPECT_EQ(Refused(ConnectionFault::kStall), 2u);
}

TEST_F(ConnectionTableTest, TakesTheOtherConnectionsOfWhoStallsUnlessTheyReportOrUpload) {
  const auto peer = [](int port) { return "192.0.2.1:" + std::to_string(port); };
  for (int port = 1; port <= 4; ++port) AddSpeaking(peer(port));
  AddSpeaking("192.0.2.2:1");
  Begin(peer(3));
  table_.NoteReport(peer(3));
  ++table_.PulseOf(peer(4))->uploads;
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  for (const ConnectionTable::Open& each : table_.OpenConnections()) first = std::min(first, each.number);
  std::set<int> cut;
  for (const Socket& each : table_.TakeStalling({first})) cut.insert(each.fd);
  EXPECT_EQ(cut, (std::set{1, 2}));
}

// It waits for a task, for days.
TEST_F(ConnectionTableTest, LeavesWhoSendsPingsAlone) {
  ConnectionTable table{ConnectionLimits()};
  table.Add("192.0.2.1:1", {1, 0}, 0);
  table.BeginCall("192.0.2.1:1", "", 0);
  constexpr std::uint64_t kPingBytesPerLook = 5;
  const std::uint64_t looks = 10 * ConnectionLimits().unheard_bytes / kPingBytesPerLook;
  for (std::uint64_t look = 1; look <= looks; ++look) {
    const std::uint64_t received = 1'000 + look * kPingBytesPerLook;
    ASSERT_TRUE(table.TakeUnheard([received](Socket) { return received; }).empty()) << look;
  }
}

// It reads two thousand slots a second for a minute and asks for nothing else.
TEST_F(ConnectionTableTest, LeavesWatchersAlone) {
  constexpr std::uint64_t kSlotsPerLook = 500;
  constexpr std::uint64_t kWindowUpdates = 26;  // of the stream and of the connection, for each slot
  AddSpeaking("192.0.2.1:1");
  const auto pulse = table_.PulseOf("192.0.2.1:1");
  std::uint64_t received = 1'000;
  for (int look = 0; look < 240; ++look) {
    pulse->sent += kSlotsPerLook;
    received += kSlotsPerLook * kWindowUpdates;
    ASSERT_TRUE(table_.TakeUnheard([&](Socket) { return received; }).empty()) << look;
  }
  received += kSlotsPerLook * 240 * 6 + ConnectionLimits().unheard_bytes + 240 * 16 + 1'001;
  EXPECT_EQ(table_.TakeUnheard([&](Socket) { return received; }).size(), 1u) << "a header behind the slots";
}

// A header that grows slowly.
TEST_F(ConnectionTableTest, CutsWhoHasSentMoreThanAMessageSinceItWasHeard) {
  AddSpeaking("192.0.2.1:1");
  AddSpeaking("192.0.2.2:1");
  const auto pulse = table_.PulseOf("192.0.2.2:1");
  const auto look = [&](std::uint64_t received) {
    return table_.TakeUnheard([received](Socket) { return received; });
  };
  const ConnectionLimits limits;
  EXPECT_TRUE(look(1'000).empty()) << "what their calls took";
  ++pulse->uploads;
  EXPECT_TRUE(look(1'000 + limits.unheard_bytes).empty());
  const std::vector<Socket> cut = look(1'001 + limits.unheard_bytes);
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut.front().fd, 1);
  EXPECT_EQ(Refused(ConnectionFault::kNoCall), 1u);
  std::uint64_t received = 1'000 + limits.unheard_bytes + limits.unheard_bytes_of_upload;
  EXPECT_TRUE(look(received).empty()) << "half of its message may be on the way";
  ++pulse->heard;
  EXPECT_TRUE(look(received += limits.unheard_bytes_of_upload).empty()) << "the next one";
  --pulse->uploads;
  EXPECT_TRUE(look(received += limits.unheard_bytes).empty());
  EXPECT_EQ(look(received + 1).size(), 1u);
}

}  // namespace
}  // namespace tributary::server
