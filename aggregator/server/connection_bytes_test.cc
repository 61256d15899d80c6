// Bytes of which nothing comes, and those that take the memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
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
  EXPECT_TRUE(look().empty()) << "its call may not have begun";
  EXPECT_EQ(look().size(), 1u) << "a header behind the slots";
}

TEST_F(ConnectionTableTest, GrantsAPingAtRegularLooksAlone) {
  ConnectionTable table({.unheard_bytes = 100, .unheard_bytes_per_look = 10});
  table.Add("192.0.2.1:1", {1, 0}, 0);
  table.BeginCall("192.0.2.1:1", "", 0);
  std::uint64_t received = 1'000;
  const auto look = [&](bool between) {
    return table.TakeUnheard([&](Socket) { return received; }, between);
  };
  EXPECT_TRUE(look(false).empty());
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(look(true).empty());
  received += 110;
  EXPECT_TRUE(look(false).empty());
  EXPECT_TRUE(look(true).empty());
  ++received;
  EXPECT_TRUE(look(true).empty());
  EXPECT_EQ(look(true).size(), 1u);
}

// A step of secure aggregation.
TEST_F(ConnectionTableTest, LeavesALargeRequestTimeToCome) {
  AddSpeaking("192.0.2.1:1");
  const ConnectionLimits limits;
  std::uint64_t received = 1'000;
  const auto look = [&] { return table_.TakeUnheard([&](Socket) { return received; }); };
  EXPECT_TRUE(look().empty());
  std::optional<CountedCall> call(std::in_place, table_, "ipv4:192.0.2.1:1", "");
  call->CountAsLargeRequest();
  received += limits.unheard_bytes + limits.unheard_bytes_of_request;
  EXPECT_TRUE(look().empty());
  call->CountMessage();
  EXPECT_EQ(table_.PulseOf("192.0.2.1:1")->requests, 0u);
  EXPECT_TRUE(look().empty());
  received += limits.unheard_bytes;
  EXPECT_TRUE(look().empty());
  call->CountAsLargeRequest();
  call.reset();
  EXPECT_EQ(table_.PulseOf("192.0.2.1:1")->requests, 0u);
  ++received;
  EXPECT_TRUE(look().empty());
  EXPECT_EQ(look().size(), 1u);
}

// gRPC reads on while the thread that begins calls waits for a processor.
TEST_F(ConnectionTableTest, LeavesALargeRequestWhoseCallHasNotBegun) {
  AddSpeaking("192.0.2.1:1");
  std::uint64_t received = 1'000;
  const auto look = [&] { return table_.TakeUnheard([&](Socket) { return received; }, true); };
  EXPECT_TRUE(look().empty());
  received += 500 << 10;
  EXPECT_TRUE(look().empty());
  CountedCall call(table_, "ipv4:192.0.2.1:1", "");
  call.CountAsLargeRequest();
  EXPECT_TRUE(look().empty());
  received += 1'300 << 10;
  EXPECT_EQ(look().size(), 1u) << "more than any request, at once";
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
  EXPECT_TRUE(look(1'001 + limits.unheard_bytes).empty());
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
  EXPECT_TRUE(look(received + 1).empty());
  EXPECT_EQ(look(received + 1).size(), 1u);
}

}  // namespace
}  // namespace tributary::server
