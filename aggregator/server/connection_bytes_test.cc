// Bytes of which nothing comes, and those that take the memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "aggregator/server/connection_table.h"
#include "aggregator/server/connection_table_fixture.h"
#include "aggregator/server/counted_call.h"

namespace tributary::server {
namespace {

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
  std::array<std::uint64_t, 5> received = {0, 5'000, 90'000, 80'000, 70'000};
  const auto now = [&](Socket socket) { return received[static_cast<std::size_t>(socket.fd)]; };
  table_.NoteSent(now, true);
  EXPECT_TRUE(table_.TakeGreediest().sockets.empty()) << "what came before counts for nobody";
  received = {0, 1 << 20, 95'000, 86'000, 76'000};
  table_.NoteSent(now, false);
  const auto fds = [](const std::vector<Socket>& sockets) {
    std::set<int> all;
    for (const Socket& each : sockets) all.insert(each.fd);
    return all;
  };
  EXPECT_EQ(fds(table_.TakeGreediest().sockets), (std::set{3, 4}));
  EXPECT_EQ(fds(table_.TakeGreediest().sockets), std::set{2});
  EXPECT_TRUE(table_.TakeGreediest().sockets.empty()) << "those cut have not gone";
  table_.Sweep([](Socket socket) { return socket.fd == 1; });
  const ConnectionTable::Greediest last = table_.TakeGreediest();
  EXPECT_EQ(fds(last.sockets), std::set{1});
  EXPECT_TRUE(last.report);
  EXPECT_TRUE(table_.TakeGreediest().sockets.empty());
  EXPECT_EQ(Refused(ConnectionFault::kMemory), 4u);
}

TEST_F(ConnectionTableTest, AFloodFromManyAddressesIsCutInOneLookAndWhoSendsNothingIsNot) {
  ConnectionTable table({});
  for (int host = 0; host <= 100; ++host) table.Add("192.0.2." + std::to_string(host) + ":1", {host, 0}, 0);
  table.NoteSent([](Socket) { return 0; }, true);
  table.NoteSent(
      [](Socket socket) { return socket.fd == 0 ? 0 : 10'000 + static_cast<std::uint64_t>(socket.fd); },
      false);
  EXPECT_EQ(table.TakeGreediest().sockets.size(), 100u);
  EXPECT_TRUE(table.TakeGreediest().sockets.empty());
}

// Half a message that does not go on keeps its memory.
TEST_F(ConnectionTableTest, WhoHasSentMuchAndSendsNoMoreIsCutBeforeWhoSendsALittle) {
  AddSpeaking("192.0.2.1:1");
  AddSpeaking("192.0.2.2:1");
  std::array<std::uint64_t, 3> received = {0, 0, 0};
  const auto now = [&](Socket socket) { return received[static_cast<std::size_t>(socket.fd)]; };
  table_.NoteSent(now, true);
  received[1] = 3'000'000;
  table_.NoteSent(now, false);
  for (int look = 0; look < 50; ++look) {
    received[2] += 5'000;
    table_.NoteSent(now, false);
  }
  const ConnectionTable::Greediest greediest = table_.TakeGreediest();
  ASSERT_EQ(greediest.sockets.size(), 1u);
  EXPECT_EQ(greediest.sockets[0].fd, 1);
}

TEST_F(ConnectionTableTest, WhoReportsLittleIsNeverCutForMemory) {
  AddSpeaking("192.0.2.1:1");
  Begin("192.0.2.1:1");
  table_.NoteReport("192.0.2.1:1");
  table_.NoteSent([](Socket) { return 0; }, true);
  table_.NoteSent([](Socket) { return ConnectionTable::kGreedy; }, false);
  EXPECT_TRUE(table_.TakeGreediest().sockets.empty());
}

TEST_F(ConnectionTableTest, AReportThatHasEndedProtectsNothing) {
  AddSpeaking("192.0.2.1:1");
  AddSpeaking("192.0.2.2:2");
  for (const char* peer : {"192.0.2.1:1", "192.0.2.2:2"}) {
    Begin(peer);
    table_.NoteReport(peer);
  }
  table_.EndCall("192.0.2.2:2", true);
  table_.NoteSent([](Socket) { return 0; }, true);
  table_.NoteSent([](Socket) { return 10'000; }, false);
  EXPECT_EQ(table_.TakeGreediest().sockets.at(0).fd, 2);
}

TEST_F(ConnectionTableTest, CutsASilentConnectionThatTalksAndNoneThatHasMadeACall) {
  Add("192.0.2.1:1");
  Add("192.0.2.1:2");
  AddSpeaking("192.0.2.1:3");
  const auto talks = [](Socket socket) { return socket.fd != 1; };
  constexpr std::chrono::milliseconds kSpent{5};
  for (auto spent = kSpent; spent < ConnectionTable::kPatience; spent += kSpent) {
    EXPECT_TRUE(table_.TakeTalkers(talks, kSpent).empty()) << spent.count();
  }
  const auto talkers = table_.TakeTalkers(talks, kSpent);
  ASSERT_EQ(talkers.size(), 1u);
  EXPECT_EQ(talkers[0].fd, 2);
  EXPECT_EQ(Refused(ConnectionFault::kNoCall), 1u);
  EXPECT_EQ(table_.figures().connections, 2u);
}

// The thread that looks may not have run for long, and the connection may have begun just before.
TEST_F(ConnectionTableTest, OneLookUsesUpNobodysPatience) {
  Add("192.0.2.1:1");
  const auto talks = [](Socket) { return true; };
  EXPECT_TRUE(table_.TakeTalkers(talks, std::chrono::seconds(1)).empty());
  EXPECT_EQ(table_.TakeTalkers(talks, std::chrono::seconds(1)).size(), 1u);
}

TEST_F(ConnectionTableTest, HearsCallsAndMessages) {
  Add("192.0.2.1:1");
  EXPECT_EQ(table_.PulseOf("192.0.2.1:1")->heard, 0u);
  Begin("192.0.2.1:1");
  CountedCall(table_, "ipv4:192.0.2.1:1", "").CountMessage();
  EXPECT_EQ(table_.PulseOf("192.0.2.1:1")->heard, 3u);
  EXPECT_EQ(table_.PulseOf("192.0.2.9:1"), nullptr);
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
TEST_F(ConnectionTableTest, LeavesWatchersAloneWhoseAnswersComeLate) {
  constexpr std::uint64_t kSlotsPerLook = 500;
  // For each slot one of the stream and one of the connection, in records of TLS.
  constexpr std::uint64_t kWindowUpdates = 2 * (13 + 22);
  AddSpeaking("192.0.2.1:1");
  const auto pulse = table_.PulseOf("192.0.2.1:1");
  std::uint64_t received = 1'000;
  for (int look = 0; look < 240; ++look) {
    if (look % 4 == 0) pulse->sent += 4 * kSlotsPerLook;
    if (look % 4 == 3) received += 4 * kSlotsPerLook * kWindowUpdates;
    ASSERT_TRUE(table_.TakeUnheard([&](Socket) { return received; }).empty()) << look;
  }
}

TEST_F(ConnectionTableTest, AWatcherThatDoesNotAnswerMaySendOneMessageMoreAndNotAWeeksAnswers) {
  AddSpeaking("192.0.2.1:1");
  const auto pulse = table_.PulseOf("192.0.2.1:1");
  std::uint64_t received = 1'000;
  const auto look = [&] { return table_.TakeUnheard([&](Socket) { return received; }); };
  EXPECT_TRUE(look().empty());
  pulse->sent += 1'000'000'000;
  EXPECT_TRUE(look().empty());
  received += ConnectionLimits().late_answers + ConnectionLimits().unheard_bytes;
  EXPECT_TRUE(look().empty());
  ++received;
  EXPECT_EQ(look().size(), 1u) << "a header behind the slots";
}

// A header that grows slowly.
TEST_F(ConnectionTableTest, CutsWhoHasSentMoreThanMessagesSinceItWasHeard) {
  AddSpeaking("192.0.2.1:1");
  AddSpeaking("192.0.2.2:1");
  const auto pulse = table_.PulseOf("192.0.2.2:1");
  const auto look = [&](std::uint64_t received) {
    return table_.TakeUnheard([received](Socket) { return received; });
  };
  const std::uint64_t most = ConnectionLimits().unheard_bytes;
  EXPECT_TRUE(look(1'000).empty()) << "what their calls took";
  EXPECT_TRUE(look(1'000 + most).empty());
  ++pulse->heard;
  const std::vector<Socket> cut = look(1'001 + most);
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut.front().fd, 1);
  EXPECT_EQ(Refused(ConnectionFault::kNoCall), 1u);
  EXPECT_TRUE(look(1'001 + 2 * most).empty());
  EXPECT_EQ(look(1'002 + 2 * most).size(), 1u);
}

}  // namespace
}  // namespace tributary::server
