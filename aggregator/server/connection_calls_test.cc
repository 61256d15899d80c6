// Calls: how many, how fast, whose.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/server/connection_table.h"
#include "aggregator/server/connection_table_fixture.h"
#include "aggregator/server/counted_call.h"
#include "aggregator/server/front_door.h"

namespace tributary::server {
namespace {

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

// gRPC takes its time to end the calls of a flood from three addresses.
TEST_F(ConnectionTableTest, CallsOfConnectionsThatWereCutCostNobodyElseTheirs) {
  const std::string panel = "192.0.2.9:1";
  Add(panel);
  Begin(panel);
  table_.NoteReport(panel);
  for (int host = 1; host <= 3; ++host) {
    const std::string peer = "192.0.2." + std::to_string(host) + ":1";
    Add(peer);
    for (int call = 0; call < 3; ++call) Begin(peer);
    for (int call = 0; call < 3; ++call) EXPECT_FALSE(Begin(peer).has_value()) << "cut already";
  }
  EXPECT_EQ(table_.figures().calls, 1u + 3 * 6);
  EXPECT_FALSE(Begin(panel).has_value());
  EXPECT_EQ(Refused(ConnectionFault::kTooManyCalls), 3u);
}

TEST_F(ConnectionTableTest, NoReportIsCutForTooManyCallsInAll) {
  ConnectionTable table({.calls = 4});
  for (int host = 1; host <= 4; ++host) {
    const std::string peer = "192.0.2." + std::to_string(host) + ":1";
    table.Add(peer, {host, 0}, 0);
    EXPECT_FALSE(table.BeginCall(peer, "", 0).has_value());
    table.NoteReport(peer);
  }
  const auto cut = table.BeginCall("192.0.2.2:1", "", 0);
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->fd, 2) << "with a call beside its report";
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

TEST_F(ConnectionTableTest, CutsAPeerWhoseReportsEndWithoutAHelloOnEverNewConnections) {
  ConnectionTable table({.fruitless_reports = 2});
  for (int i = 1; i <= 3; ++i) {
    const std::string peer = fmt::format("192.0.2.1:{}", i);
    table.Add(peer, {i, 0}, 0);
    table.BeginCall(peer, "", 0);
  }
  table.NoteReport("192.0.2.1:3");
  for (const std::int64_t second : {1, 1, 2, 2}) {
    EXPECT_TRUE(table.NoteFruitlessReport("192.0.2.1:1", second).empty());
  }
  std::set<int> cut;
  for (const Socket& each : table.NoteFruitlessReport("192.0.2.1:2", 2)) cut.insert(each.fd);
  EXPECT_EQ(cut, (std::set{1, 2})) << "a board behind the same address goes on reporting";
  EXPECT_TRUE(table.NoteFruitlessReport("192.0.2.1:1", 2).empty()) << "once";
  table.Add("192.0.2.1:5", {5, 0}, 0);
  table.BeginCall("192.0.2.1:5", "", 0);
  EXPECT_EQ(table.NoteFruitlessReport("192.0.2.1:5", 2).size(), 1u) << "each that goes on";
  EXPECT_TRUE(table.NoteFruitlessReport("192.0.2.1:3", 2).empty()) << "it reports";
  EXPECT_TRUE(table.NoteFruitlessReport("192.0.2.9:1", 2).empty()) << "closed already";
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
  Add("192.0.2.1:4");
  Begin("192.0.2.1:4", "thief");
  EXPECT_TRUE(table_.NoteRefusedCall("thief", 6).empty())
      << "not for each call are all connections looked at";
  EXPECT_EQ(table_.NoteRefusedCall("thief", 6).size(), 1u) << "the limit of 3 exceeded once more";
}

TEST_F(ConnectionTableTest, KeepsOutWhoHasClosedTheConnectionThatItFloodedBy) {
  ConnectionTable table({.reflections = 0});
  table.Add("192.0.2.1:1", {-1, 0}, 0);
  CountedCall call(table, "ipv4:192.0.2.1:1", "");
  EXPECT_FALSE(table.IsQuarantined("192.0.2.1:2", FrontDoor::Second()));
  call.CountAsReflection();
  EXPECT_TRUE(table.IsQuarantined("192.0.2.1:2", FrontDoor::Second()));
}

TEST_F(ConnectionTableTest, CutsTheIdleConnectionsOfANameWhoseHeadersComeTooFast) {
  for (const auto& [port, name] : {std::pair(1, "thief"), {2, "thief"}, {3, "honest"}}) {
    Add("192.0.2.1:" + std::to_string(port));
    Begin("192.0.2.1:" + std::to_string(port), name);
  }
  table_.NoteReport("192.0.2.1:2");
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(table_.NoteAdmittedCall("thief", 5).empty());
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(table_.NoteAdmittedCall("thief", 6).empty());
  EXPECT_TRUE(table_.NoteAdmittedCall("nobody yet", 6).empty());
  const std::vector<Socket> cut = table_.NoteAdmittedCall("thief", 6);
  ASSERT_EQ(cut.size(), 1u) << "the other one reports";
  EXPECT_EQ(cut.front().fd, 1);
  EXPECT_TRUE(table_.NoteAdmittedCall("thief", 6).empty()) << "once";
  EXPECT_EQ(Refused(ConnectionFault::kCallRate), 1u);
}

TEST_F(ConnectionTableTest, CutsTheCrowdOfWhoCostsTooMuchWhateverItsCalls) {
  for (int port = 1; port <= 3; ++port) AddSpeaking("192.0.2.1:" + std::to_string(port));
  Begin("192.0.2.1:3");
  table_.NoteReport("192.0.2.1:3");
  const auto unread = [](Socket) { return ConnectionTable::kCrowd; };
  EXPECT_TRUE(table_.TakeCrowd("192.0.2.1:1", unread).empty());
  std::set<int> cut;
  for (const Socket& each : table_.TakeCrowd("192.0.2.1:1", unread, ConnectionFault::kStall))
    cut.insert(each.fd);
  EXPECT_EQ(cut, (std::set{1, 2})) << "the third reports";
}

TEST_F(ConnectionTableTest, CutsTheCrowdOfAPeerThatHasMoreCallsThanItsShare) {
  ConnectionTable table({.calls = 8});  // four for each peer
  const auto peer = [](int port) { return "192.0.2.1:" + std::to_string(port); };
  for (int port = 1; port <= 5; ++port) table.Add(peer(port), {port, std::uint64_t(port)}, 0);
  table.Add("192.0.2.2:1", {9, 9}, 0);
  const auto unread = [](Socket socket) -> std::uint64_t { return socket.fd == 4 ? 20 : 4096; };
  for (int port = 1; port <= 4; ++port) EXPECT_FALSE(table.BeginCall(peer(port), "", 1)) << port;
  EXPECT_FALSE(table.BeginCall("192.0.2.2:1", "", 1));
  table.NoteReport(peer(3));
  EXPECT_TRUE(table.TakeCrowd(peer(1), unread).empty()) << "within its share";
  ASSERT_TRUE(table.BeginCall(peer(1), "", 1)) << "beyond it";
  std::set<int> cut;
  for (const Socket& each : table.TakeCrowd(peer(1), unread)) cut.insert(each.fd);
  // 1 was cut before, 3 reports, nothing waits of 4, 5 has made no call, 9 is somebody else's.
  EXPECT_EQ(cut, std::set{2});
  EXPECT_TRUE(table.TakeCrowd(peer(1), unread).empty()) << "once";
}

TEST_F(ConnectionTableTest, TenThousandNodesOfOneAddressMayJoinInASecondWithoutTls) {
  ConnectionTable table({.calls = 45'000});
  for (int channel = 0; channel < 100; ++channel)
    table.Add("192.0.2.1:" + std::to_string(channel), {channel, 0}, 0);
  for (int node = 0; node < 10'000; ++node) {
    const std::string peer = "192.0.2.1:" + std::to_string(node / 100);
    EXPECT_FALSE(table.BeginCall(peer, "", 1).has_value()) << node << " joins";
    EXPECT_FALSE(table.BeginCall(peer, "", 1).has_value()) << node << " sends its update";
  }
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

TEST_F(ConnectionTableTest, CutsAPeerThatGoesOnWithRequestsThatNoNodeMakes) {
  for (const std::string peer : {"192.0.2.1:1", "192.0.2.1:2", "192.0.2.2:1"}) AddSpeaking(peer);
  for (std::size_t i = 0; i < ConnectionLimits().malformed; ++i) {
    EXPECT_FALSE(table_.NoteMalformed(i % 2 == 0 ? "192.0.2.1:1" : "192.0.2.1:2", 7).has_value());
  }
  EXPECT_FALSE(table_.NoteMalformed("192.0.2.2:1", 7).has_value()) << "another peer";
  EXPECT_EQ(table_.NoteMalformed("192.0.2.1:2", 7)->fd, 2);
  EXPECT_EQ(Refused(ConnectionFault::kMalformed), 1u);
  EXPECT_FALSE(table_.NoteMalformed("192.0.2.1:1", 8).has_value()) << "the next second";
}

TEST_F(ConnectionTableTest, CutsWhoReportsNothingAllTheTime) {
  const ConnectionLimits limits;
  ConnectionTable table(limits);
  table.Add("192.0.2.1:1", {1, 0}, 0);
  table.BeginCall("192.0.2.1:1", "", 0);
  for (std::int64_t second = 0; second < 3; ++second) {
    for (std::size_t i = 0; i < limits.empty_messages; ++i)
      ASSERT_FALSE(table.NoteEmptyMessage("192.0.2.1:1", second).has_value());
  }
  EXPECT_TRUE(table.NoteEmptyMessage("192.0.2.1:1", 2).has_value());
  EXPECT_EQ(table.figures().refused[static_cast<std::size_t>(ConnectionFault::kMalformed)], 1u);
}

}  // namespace
}  // namespace tributary::server
