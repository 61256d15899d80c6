// What reading a connection costs, beside what comes of it.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "aggregator/server/connection_costs_fixture.h"
#include "aggregator/server/connection_table.h"

namespace tributary::server {
namespace {

TEST_F(CostTest, CutsWhoCostsMoreThanComesOfIt) {
  AddSpeaking("192.0.2.1:1");
  AddSpeaking("192.0.2.2:1");
  EXPECT_EQ(Look({{1, half_}, {2, half_}}), std::set<int>());
  table_.PulseOf("192.0.2.2:1")->heard += static_cast<std::uint64_t>(half_ / limits_.paid_by_message) + 1;
  EXPECT_EQ(Look({{1, half_}, {2, half_}}), std::set<int>()) << "paid by messages";
  EXPECT_EQ(Look({{1, half_}, {2, half_}}), std::set{1});
  EXPECT_EQ(Look({{1, half_}}), std::set<int>()) << "once";
  EXPECT_EQ(Refused(ConnectionFault::kStall), 1u);
  EXPECT_FALSE(table_.IsQuarantined("192.0.2.1:2", 0)) << "the door's work";
}

// They are read in turns, so each is found late.
TEST_F(CostTest, APeerHasOneAllowanceForAllItsConnections) {
  for (int port = 1; port <= 4; ++port) AddSpeaking("192.0.2.1:" + std::to_string(port));
  AddSpeaking("192.0.2.2:1");
  table_.NoteReport("192.0.2.1:4");
  const std::chrono::nanoseconds part = limits_.paid_by_call + limits_.unpaid * 7 / 20;
  EXPECT_EQ(Look({{1, part}, {2, part}, {3, part}, {5, part}}), std::set<int>());
  constexpr std::chrono::nanoseconds kNothing{0};
  AddSpeaking("192.0.2.1:5");
  table_.NoteReport("192.0.2.1:5");
  EXPECT_EQ(Look({{1, kNothing}, {2, kNothing}, {3, kNothing}, {4, part}, {6, kNothing}}),
            (std::set{1, 2, 3, 4}))
      << "not the one that reports and owes nothing";
  EXPECT_EQ(Refused(ConnectionFault::kStall), 4u);
}

// A fleet with one certificate comes back.
TEST_F(FleetCostTest, WhatAHandshakeCostsDoesNotAddUp) {
  std::map<int, std::chrono::nanoseconds> costs;
  for (int port = 1; port <= 60; ++port) {
    const std::string peer = "192.0.2." + std::to_string(port) + ":1";
    Add(peer);
    Begin(peer, "fleet");
    costs[port] = limits_.paid_by_call + limits_.notable() - std::chrono::nanoseconds(1);
  }
  EXPECT_EQ(Look(costs), std::set<int>());
}

// They are read at the same instant, and each costs little.
TEST_F(FleetCostTest, WhatManyConnectionsOfAPeerCostLaterAddsUp) {
  const auto all_cost = [](std::chrono::nanoseconds each) {
    std::map<int, std::chrono::nanoseconds> costs;
    for (int port = 1; port <= 100; ++port) costs[port] = each;
    return costs;
  };
  for (int port = 1; port <= 100; ++port) AddSpeaking("192.0.2.1:" + std::to_string(port));
  const std::chrono::nanoseconds first = limits_.paid_by_call + limits_.noticed() * 2;
  EXPECT_EQ(Look(all_cost(first)), std::set<int>()) << "handshakes";
  EXPECT_EQ(Look(all_cost(limits_.noticed() * 9 / 10)), std::set<int>());
  EXPECT_EQ(Look(all_cost(limits_.noticed() * 9 / 10)).size(), 100u);
}

TEST_F(CostTest, WhatAHelloMakesAThreadDoIsCharged) {
  AddSpeaking("192.0.2.1:1");
  constexpr std::chrono::nanoseconds kNothing{0};
  EXPECT_EQ(Look({{1, kNothing}}), std::set<int>());
  const auto pulse = table_.PulseOf("192.0.2.1:1");
  pulse->work_ns += half_.count();
  EXPECT_EQ(Look({{1, kNothing}}), std::set<int>());
  EXPECT_EQ(Look({{1, kNothing}}), std::set<int>()) << "once";
  pulse->work_ns += half_.count() + half_.count() / 10;
  EXPECT_EQ(Look({{1, kNothing}}), std::set{1});
}

// A chunk of a model on a slow processor, and window updates of a watcher.
TEST_F(CostTest, BytesAndMessagesToItPay) {
  AddSpeaking("192.0.2.1:1");
  const auto pulse = table_.PulseOf("192.0.2.1:1");
  for (int look = 0; look < 20; ++look) {
    EXPECT_EQ(Look({{1, 100 * limits_.paid_by_sent + 1'000 * limits_.paid_by_byte}}, 1'000), std::set<int>());
    pulse->sent += 100;
  }
}

// What it brings cannot be told, so it pays for nothing: a panel of 2,000 slots/s for a minute.
TEST_F(CostTest, LeavesAUnixSocketAloneUnlessItsHeaderIsLong) {
  Add("unix:1");
  constexpr std::chrono::microseconds kFortyFrames{40 * 4};
  for (int look = 0; look < 3'000; ++look) ASSERT_EQ(Look({{1, kFortyFrames}}), std::set<int>()) << look;
  costs_[1].long_header = true;
  EXPECT_EQ(Look({{1, kFortyFrames}}), std::set{1});
}

// It has ended by itself, and its address may have boards that do better.
TEST_F(CostTest, ALongHandshakeIsCountedAndKeepsNobodyOut) {
  Add("192.0.2.1:1");
  costs_[1].long_handshake = true;
  for (int look = 0; look < 2; ++look) EXPECT_EQ(Look({{1, half_ / 4}}), std::set<int>());
  EXPECT_EQ(Refused(ConnectionFault::kLongHandshake), 1u);
  EXPECT_FALSE(table_.IsQuarantined("192.0.2.1:2", 0));
}

TEST_F(CostTest, WhatIsNotSpentIsNotSavedUp) {
  AddSpeaking("192.0.2.1:1");
  table_.PulseOf("192.0.2.1:1")->heard += 1'000'000;
  EXPECT_EQ(Look({{1, half_}}), std::set<int>());
  EXPECT_EQ(Look({{1, 3 * half_}}), std::set{1});
}

class FruitlessHeadersTest : public CostTest {
 protected:
  // After each of the connections has sent so many headers.
  std::set<int> LookAtHeaders(const std::map<int, std::uint64_t>& headers, std::int64_t second) {
    std::map<int, std::chrono::nanoseconds> costs;
    for (const auto& [number, more] : headers) {
      costs_[number].headers += more;
      costs[number] = std::chrono::nanoseconds(0);
    }
    return Look(costs, 0, second);
  }
  const std::uint64_t most_ = limits_.fruitless_headers;
};

TEST_F(FruitlessHeadersTest, CutAPeersConnectionsIfThereAreTooManyInASecond) {
  for (int port = 1; port <= 3; ++port) AddSpeaking("192.0.2.1:" + std::to_string(port));
  AddSpeaking("192.0.2.1:4");
  table_.NoteReport("192.0.2.1:4");
  AddSpeaking("192.0.2.2:1");
  LookAtHeaders({{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}, 0);  // of their calls
  EXPECT_EQ(LookAtHeaders({{1, most_ / 2}, {2, most_ / 2}, {5, most_}}, 0), std::set<int>());
  EXPECT_EQ(LookAtHeaders({{1, most_ / 2}, {2, most_ / 2}, {3, 0}, {5, most_}}, 1), std::set<int>())
      << "in another second";
  EXPECT_EQ(LookAtHeaders({{1, 1}, {2, 0}, {3, 0}, {4, 1}, {5, 0}}, 1), (std::set{1, 2}))
      << "not who sent none, nor who reports, nor another peer";
  EXPECT_EQ(Refused(ConnectionFault::kNoCall), 2u);
}

TEST_F(FruitlessHeadersTest, CutWhoReportsIfItHasSentManyItself) {
  for (int port = 1; port <= 2; ++port) {
    AddSpeaking("192.0.2.1:" + std::to_string(port));
    table_.NoteReport("192.0.2.1:" + std::to_string(port));
  }
  LookAtHeaders({{1, 1}, {2, 1}}, 0);  // of their calls
  EXPECT_EQ(LookAtHeaders({{1, most_ + 1}, {2, limits_.fruitless_of_report()}}, 0), std::set{1});
}

class EarlierConnectionTest : public CostTest {
 protected:
  // A connection with the same port whose successor is there before anybody has looked.
  EarlierConnectionTest() {
    AddSpeaking("192.0.2.1:1");
    Look({{1, limits_.paid_by_call}});
    Begin("192.0.2.1:1");
    pulse_ = table_.PulseOf("192.0.2.1:1");
    AddSpeaking("192.0.2.1:1");
  }
  std::shared_ptr<ConnectionPulse> pulse_;
};

TEST_F(EarlierConnectionTest, LeavesItsDebtToItsAddress) {
  EXPECT_EQ(table_.figures().connections, 2u);
  Look({{1, limits_.silent_cost + limits_.notable()}}, 0, 1);
  table_.EndCall("192.0.2.1:1", false, pulse_.get());
  table_.Sweep([](Socket socket) { return socket.fd == 2; });
  EXPECT_EQ(table_.figures().connections, 1u);
  Look({}, 0, 1);
  EXPECT_TRUE(table_.IsQuarantined("192.0.2.1:9", 1));
}

TEST_F(EarlierConnectionTest, HasItsOwnCalls) {
  Begin("192.0.2.1:1");
  EXPECT_EQ(table_.figures().calls, 2u);
  table_.EndCall("192.0.2.1:1", false, pulse_.get());
  EXPECT_EQ(table_.figures().calls, 1u);
  table_.EndCall("192.0.2.1:1", false, pulse_.get());
  EXPECT_EQ(table_.figures().calls, 1u) << "the other one is its successor's";
  table_.EndCall("192.0.2.1:1", false, table_.PulseOf("192.0.2.1:1").get());
  EXPECT_EQ(table_.figures().calls, 0u);
}

TEST_F(FruitlessHeadersTest, CallsThatBeginLateAreNotAmongThem) {
  AddSpeaking("192.0.2.1:1");
  const auto pulse = table_.PulseOf("192.0.2.1:1");
  LookAtHeaders({{1, 1}}, 0);
  for (int look = 0; look < 10; ++look) {
    EXPECT_EQ(LookAtHeaders({{1, most_ / 2}}, 1), std::set<int>()) << look;
    pulse->heard += most_ / 2;
    pulse->calls += most_ / 2;
  }
}

TEST_F(CostTest, TellsTheWorkThatIsNeitherPanelsNorWatchersNorHandshakes) {
  constexpr std::chrono::milliseconds kMuch{3};
  for (int host = 1; host <= 4; ++host) AddSpeaking("192.0.2." + std::to_string(host) + ":1");
  Add("192.0.2.5:1");
  table_.NoteReport("192.0.2.2:1");
  const std::map<int, std::chrono::nanoseconds> costs{{1, kMuch}, {2, kMuch}, {3, kMuch}, {5, kMuch}};
  Look(costs);
  EXPECT_EQ(table_.TakeOtherWork().time.count(), 0) << "a handshake";
  for (const char* peer : {"192.0.2.1:1", "192.0.2.2:1"}) table_.PulseOf(peer)->heard += 1'000;
  table_.PulseOf("192.0.2.3:1")->sent += static_cast<std::uint64_t>(kMuch / limits_.paid_by_sent) + 1;
  Look(costs);
  const OtherWork work = table_.TakeOtherWork();
  EXPECT_GT(work.time, kMuch * 9 / 10) << "what messages pay for is work, too";
  EXPECT_LE(work.time, kMuch);
  ASSERT_EQ(work.of.size(), 1u);
  EXPECT_EQ(work.of[0].fd, 1);
  EXPECT_EQ(table_.TakeOtherWork().time.count(), 0);
}

// A stolen board's report pays for nothing else.
TEST_F(CostTest, WhoReportsAndOwesIsNotFavouredAndMayWait) {
  using enum ReadRank;
  bool any_reports = false;
  const auto ranks = [&] {
    std::map<int, ReadRank> all;
    any_reports = table_.TellRanks([&](Socket socket, ReadRank rank) { all[socket.fd] = rank; });
    return all;
  };
  for (int host = 1; host <= 3; ++host) AddSpeaking("192.0.2." + std::to_string(host) + ":1");
  EXPECT_EQ(ranks(), (std::map<int, ReadRank>{{1, kOther}, {2, kOther}, {3, kOther}}));
  EXPECT_FALSE(any_reports);
  for (const char* peer : {"192.0.2.1:1", "192.0.2.2:1"}) table_.NoteReport(peer);
  EXPECT_EQ(ranks(), (std::map<int, ReadRank>{{1, kPanel}, {2, kPanel}, {3, kOther}}));
  EXPECT_TRUE(any_reports);
  constexpr std::chrono::nanoseconds kNothing{0};
  table_.PulseOf("192.0.2.3:1")->sent += 1;  // a slot: it watches
  Look({{1, kNothing}, {2, kNothing}, {3, kNothing}});
  const auto pulse = table_.PulseOf("192.0.2.1:1");
  pulse->heard += 1'000;
  pulse->empty += 1'000;
  table_.PulseOf("192.0.2.2:1")->heard += 1'000;
  const std::chrono::nanoseconds more = limits_.notable() * 2;
  EXPECT_EQ(Look({{1, more}, {2, more}}), std::set<int>());
  EXPECT_EQ(ranks(), (std::map<int, ReadRank>{{1, kOwing}, {2, kPanel}, {3, kWatcher}}))
      << "empty messages pay nothing";
  const OtherWork work = table_.TakeOtherWork();
  ASSERT_EQ(work.of.size(), 1u);
  EXPECT_EQ(work.of[0].fd, 1);
  EXPECT_EQ(Look({{1, limits_.unpaid}}), std::set{1});
  for (int look = 0; look < 400; ++look) Look({{3, kNothing}});
  EXPECT_EQ(ranks().at(3), kOther) << "it watches no more";
}

}  // namespace
}  // namespace tributary::server
