// What reading a connection costs, beside what comes of it.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "aggregator/server/connection_table.h"
#include "aggregator/server/connection_table_fixture.h"

namespace tributary::server {
namespace {

class CostTest : public ConnectionTableTest {
 protected:
  explicit CostTest(const ConnectionLimits& limits = Few()) : ConnectionTableTest(limits), limits_(limits) {}

  // Those that are cut, by their numbers, after each of the connections has cost so much more.
  std::set<int> Look(const std::map<int, std::chrono::nanoseconds>& costs, std::uint64_t bytes = 0,
                     std::int64_t second = 0, std::chrono::nanoseconds past = std::chrono::milliseconds(5)) {
    const auto cost = [&](Socket socket) -> std::optional<ReadCost> {
      const auto found = costs.find(socket.fd);
      if (found == costs.end()) return std::nullopt;
      ReadCost& all = costs_[socket.fd];
      all.processor += found->second;
      all.bytes += bytes;
      return all;
    };
    std::set<int> cut;
    for (const auto& [socket, peer] : table_.TakeCostly(cost, past, second)) cut.insert(socket.fd);
    return cut;
  }
  // Nothing happens for so long.
  void Wait(std::chrono::nanoseconds past, std::int64_t second = 0) { Look({}, 0, second, past); }

  const ConnectionLimits limits_;
  const std::chrono::nanoseconds half_ = limits_.unpaid / 2;
  std::map<int, ReadCost> costs_;
};

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
  const std::chrono::nanoseconds part = limits_.paid_by_call + limits_.unpaid * 3 / 10;
  EXPECT_EQ(Look({{1, part}, {2, part}, {3, part}, {5, part}}), std::set<int>());
  constexpr std::chrono::nanoseconds kNothing{0};
  AddSpeaking("192.0.2.1:5");
  table_.NoteReport("192.0.2.1:5");
  EXPECT_EQ(Look({{1, kNothing}, {2, kNothing}, {3, kNothing}, {4, part}, {6, kNothing}}),
            (std::set{1, 2, 3, 4}))
      << "not the one that reports and owes nothing";
  EXPECT_EQ(Refused(ConnectionFault::kStall), 4u);
}

class FleetCostTest : public CostTest {
 protected:
  FleetCostTest() : CostTest(ConnectionLimits()) {}
};

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
  Look({{1, limits_.silent_cost + 2 * limits_.paid_by_call}}, 0, 1);
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

TEST_F(CostTest, AnAddressHasOneAllowanceForAllThatMakeNoCall) {
  for (int port = 1; port <= 3; ++port) Add("192.0.2.1:" + std::to_string(port));
  Add("192.0.2.2:1");
  const std::chrono::nanoseconds third = limits_.silent_cost / 3;
  EXPECT_EQ(Look({{1, third}, {2, third}, {4, third}}), std::set<int>());
  Wait(third * 2 * limits_.silent_paid_by_time);
  EXPECT_EQ(Look({{1, third}, {2, third}, {4, third}}, 0, 1), std::set<int>()) << "time has paid";
  EXPECT_EQ(Look({{1, third}, {3, third / 2}}, 0, 1), (std::set{1, 2, 3}));
  EXPECT_TRUE(table_.IsQuarantined("192.0.2.1:9", 1));
  EXPECT_FALSE(table_.IsQuarantined("192.0.2.2:9", 1));
}

TEST_F(CostTest, AnAddressThatHasFloodedMaySpendLess) {
  const std::int64_t back = Quarantine::Limits().first_s;
  table_.KeepOut("192.0.2.1:1", 0);
  Add("192.0.2.1:1");
  Add("192.0.2.2:1");
  const std::chrono::nanoseconds more = limits_.silent_cost * 3 / 4;
  EXPECT_EQ(Look({{1, more}, {2, more}}, 0, back), std::set{1});
}

TEST_F(CostTest, AnAddressIsSuspectBeforeItsAllowanceIsSpentAndUntilItsCallsCome) {
  for (int i = 1; i <= 2; ++i) Add("192.0.2.1:" + std::to_string(i));
  const std::chrono::nanoseconds much = limits_.suspect_cost() * 2 / 3;
  ASSERT_LE(much, limits_.handshake());
  Look({{1, much}}, 0, 1);
  EXPECT_FALSE(table_.IsSuspect("192.0.2.1:9", 1));
  Look({{2, much}}, 0, 1);
  EXPECT_TRUE(table_.IsSuspect("192.0.2.1:9", 1));
  EXPECT_FALSE(table_.IsSuspect("192.0.2.2:9", 1));
  EXPECT_TRUE(table_.IsSuspect("192.0.2.1:9", 2)) << "until time has paid";
  Begin("192.0.2.1:1", "", 2);
  EXPECT_FALSE(table_.IsSuspect("192.0.2.1:9", 2));
}

TEST_F(CostTest, NoMoreOfAnAddressBeginWhenItsAllowanceIsNearlySpent) {
  Add("192.0.2.1:1");
  Look({{1, limits_.waiting_cost()}}, 0, 1);
  EXPECT_TRUE(table_.MayBegin("192.0.2.1", 1));
  Look({{1, limits_.notable()}}, 0, 1);
  EXPECT_FALSE(table_.MayBegin("192.0.2.1", 1));
  EXPECT_TRUE(table_.MayBegin("192.0.2.2", 1));
  EXPECT_FALSE(table_.MayBegin("192.0.2.1", 2)) << "in the next second";
  Begin("192.0.2.1:1");
  EXPECT_TRUE(table_.MayBegin("192.0.2.1", 1)) << "a handshake is forgiven";
}

// Each is ended by gRPC after some pings, before it has cost much.
TEST_F(FleetCostTest, WhoComesAgainAndAgainWithoutACallWaitsUntilTimeHasPaid) {
  constexpr std::chrono::microseconds kEach{300};
  constexpr std::chrono::milliseconds kPast{10};
  const auto begun_in_a_second = [&](std::int64_t second) {
    int begun = 0;
    for (int i = 0; i < 100; ++i) {
      if (!table_.MayBegin("192.0.2.1", second)) {
        Wait(kPast, second);
        continue;
      }
      Add("192.0.2.1:" + std::to_string(i), second);
      Look({{last_, kEach}}, 0, second, kPast);
      table_.Sweep([](Socket) { return false; });
      ++begun;
    }
    return begun;
  };
  EXPECT_EQ(begun_in_a_second(1), 100) << "a crowd whose connections fail once";
  for (std::int64_t second = 2; second < 5; ++second) begun_in_a_second(second);
  const auto paid = static_cast<int>(std::chrono::milliseconds(1'000) / limits_.silent_paid_by_time / kEach);
  EXPECT_NEAR(begun_in_a_second(5), paid, 1);
  EXPECT_FALSE(table_.IsQuarantined("192.0.2.1:1", 5));
}

// A fleet comes back.
TEST_F(CostTest, HandshakesOfWhoMakesACallAreForgotten) {
  for (int i = 1; i <= 50; ++i) {
    const std::string peer = "192.0.2.1:" + std::to_string(i);
    Add(peer);
    EXPECT_EQ(Look({{i, limits_.notable()}}), std::set<int>());
    Begin(peer);
    table_.EndCall(peer);
    table_.Sweep([](Socket) { return false; });
  }
}

TEST_F(CostTest, ACallExcusesNoMoreThanAHandshakeAndNotManyMoreThanAFleetHas) {
  Add("192.0.2.1:1");
  EXPECT_EQ(Look({{1, limits_.silent_cost}}), std::set<int>());
  Begin("192.0.2.1:1");
  Add("192.0.2.1:2");
  EXPECT_EQ(Look({{2, limits_.handshake() * 3 / 2}}), std::set{2});

  const auto handshakes = static_cast<int>(limits_.handshakes() / limits_.handshake());
  const auto excused = static_cast<int>(limits_.silent_cost / limits_.handshake());
  for (int i = 1; i <= handshakes + excused + 1; ++i) {
    const std::string peer = "192.0.2.2:" + std::to_string(i);
    Add(peer);
    Look({{i + 2, limits_.handshake()}});
    Begin(peer);
    table_.EndCall(peer);
    table_.Sweep([](Socket) { return false; });
    EXPECT_EQ(table_.IsQuarantined(peer, 0), i == handshakes + excused + 1) << i;
  }
}

// Each is gone before it has cost too much.
TEST_F(CostTest, WhoGoesLeavesItsDebtBehind) {
  int number = 0;
  for (; number < 100 && !table_.IsQuarantined("192.0.2.1:1", 0); ++number) {
    const std::string peer = "192.0.2.1:" + std::to_string(number);
    AddSpeaking(peer);
    Look({{number + 1, limits_.paid_by_call + limits_.notable() - std::chrono::microseconds(10)}});
    table_.Sweep([](Socket) { return false; });
  }
  EXPECT_EQ(number, static_cast<int>(limits_.silent_cost / limits_.notable()) + 2) << "seen at the next look";
}

TEST_F(CostTest, WhatOneCostLongAgoExcusesNobody) {
  Add("192.0.2.1:1");
  EXPECT_EQ(Look({{1, limits_.silent_cost}}), std::set<int>());
  Wait(limits_.silent_cost * limits_.silent_paid_by_time, 8);
  Add("192.0.2.1:2", 8);
  EXPECT_EQ(Look({{2, limits_.silent_cost}}, 0, 8), std::set<int>());
  Begin("192.0.2.1:1", "", 11);
  EXPECT_EQ(Look({{2, limits_.silent_cost / 100}}, 0, 11), std::set{2});
}

}  // namespace
}  // namespace tributary::server
