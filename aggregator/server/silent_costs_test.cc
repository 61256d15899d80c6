// What connections of an address cost that make no call, begin or end.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "aggregator/server/connection_costs_fixture.h"

namespace tributary::server {
namespace {

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
  EXPECT_EQ(Look({{2, limits_.handshake() * 2}}), std::set{2});

  const auto handshakes = static_cast<int>(limits_.handshakes() / limits_.handshake());
  const auto excused = static_cast<int>(limits_.silent_cost / (limits_.handshake() - limits_.beginning()));
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
    Look({{number + 1, limits_.paid_by_call}});
    Look({{number + 1, limits_.notable()}});
    table_.Sweep([](Socket) { return false; });
  }
  EXPECT_NEAR(number, limits_.silent_cost / (limits_.notable() - limits_.end()), 2)
      << "seen at the next look";
}

// All its links drop at once, and gRPC takes a millisecond to end each.
TEST_F(FleetCostTest, AFleetThatHasWorkedForAWhileComesBackAtOnce) {
  for (const std::int64_t life_s : {1, 100}) {
    const std::string address = "192.0.2." + std::to_string(life_s);
    const int first = last_ + 1;
    std::map<int, std::chrono::nanoseconds> costs;
    for (int i = 0; i < 400; ++i) {
      const std::string peer = address + ":" + std::to_string(i);
      Add(peer);
      Begin(peer, "board-" + peer);
      table_.EndCall(peer);
    }
    for (int i = first; i <= last_; ++i) costs[i] = limits_.paid_by_call;
    Look(costs);  // their handshakes
    for (auto& [number, cost] : costs) cost = limits_.begun;
    Look(costs, 0, life_s);
    table_.Sweep([](Socket) { return false; });
    EXPECT_EQ(table_.MayBegin(address, life_s), life_s == 100) << life_s;
  }
}

// A loop of commands with TLS: each is over before anybody has looked.
TEST_F(CostTest, HandshakesAndEndsAreNoFloodButComeInSlowly) {
  int number = 0;
  for (; number < 1'000 && table_.MayBegin("192.0.2.1", 0); ++number) {
    AddSpeaking("192.0.2.1:" + std::to_string(number));
    Look({{number + 1, limits_.paid_by_call + limits_.beginning() / 2 + limits_.end()}});
    table_.Sweep([](Socket) { return false; });
    ASSERT_FALSE(table_.IsQuarantined("192.0.2.1:1", 0)) << number;
  }
  EXPECT_GT(number, limits_.handshakes() / limits_.beginning()) << "a fleet comes in at once";
  EXPECT_LT(number, 1'000);
}

TEST_F(FleetCostTest, WhoHasWaitedForLongBeginsAllTheSame) {
  constexpr std::int64_t kLater = 20;
  for (int i = 1; i <= 30; ++i) Add("192.0.2.1:" + std::to_string(i), 0);
  for (int i = 1; i <= 30; ++i) {
    table_.NoteBegun("192.0.2.1:" + std::to_string(i), kLater);
    EXPECT_EQ(Look({{i, limits_.beginning()}}, 0, kLater), std::set<int>()) << i;
  }
  EXPECT_FALSE(table_.MayBegin("192.0.2.1", kLater));
  for (int i = 1; i <= 30; ++i) Begin("192.0.2.1:" + std::to_string(i), "", kLater + 1);
  EXPECT_TRUE(table_.MayBegin("192.0.2.1", kLater + 1));
}

TEST_F(FleetCostTest, NoMoreHasToBePaidByTimeThanAMinute) {
  for (int i = 1; i <= 20; ++i) {
    Add("192.0.2.1:" + std::to_string(i));
    Look({{i, limits_.unpaid * 3 / 4}});
  }
  Wait(std::chrono::seconds(60));
  EXPECT_TRUE(table_.MayBegin("192.0.2.1", 60));
}

TEST_F(FleetCostTest, WhoHasToWaitAndHangsUpTooOftenIsKeptOut) {
  Add("192.0.2.1:1");
  Look({{1, limits_.silent_cost}});
  table_.NoteGaveUp("192.0.2.1", limits_.gave_up, 1);
  table_.NoteGaveUp("192.0.2.1", limits_.gave_up, 2);
  Wait(limits_.silent_cost * limits_.silent_paid_by_time, 2);
  EXPECT_FALSE(table_.IsQuarantined("192.0.2.1:2", 2));
  table_.NoteGaveUp("192.0.2.1", 1, 2);
  EXPECT_TRUE(table_.IsQuarantined("192.0.2.1:2", 2));
  EXPECT_EQ(Refused(ConnectionFault::kGaveUp), 2 * limits_.gave_up + 1);
}

TEST_F(FleetCostTest, WhoHasBegunIsTakenToCostUntilItHas) {
  std::map<int, std::chrono::nanoseconds> costs;
  int begun = 0;
  for (; begun < 100 && table_.MayBegin("192.0.2.1", 1); ++begun) {
    const std::string peer = "192.0.2.1:" + std::to_string(begun);
    Add(peer, 1);
    table_.NoteBegun(peer, 1);
    costs[last_] = std::chrono::nanoseconds(0);
    Look(costs, 0, 1);
    EXPECT_EQ(table_.IsSuspect(peer, 1), (begun + 1) * limits_.begun > limits_.suspect_cost()) << begun;
  }
  EXPECT_EQ(begun, limits_.waiting_cost() / limits_.begun + 1);
  for (int i = 0; i < begun; ++i) Begin("192.0.2.1:" + std::to_string(i), "", 1);
  Look(costs, 0, 1);
  EXPECT_TRUE(table_.MayBegin("192.0.2.1", 1)) << "they have made a call";
}

TEST_F(CostTest, WhatOneCostLongAgoExcusesNobody) {
  Add("192.0.2.1:1");
  EXPECT_EQ(Look({{1, limits_.silent_cost}}), std::set<int>());
  Wait(limits_.silent_cost * limits_.silent_paid_by_time, 8);
  Add("192.0.2.1:2", 8);
  EXPECT_EQ(Look({{2, limits_.silent_cost}}, 0, 8), std::set<int>());
  Begin("192.0.2.1:1", "", 11);
  EXPECT_EQ(Look({{2, limits_.silent_cost / 4}}, 0, 11), std::set{2});
}

}  // namespace
}  // namespace tributary::server
