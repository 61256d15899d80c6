#include "aggregator/learning/service/gate.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "aggregator/learning/service/gate_fixture.h"

namespace tributary::learning {
namespace {

class GateTest : public GateFixture {
 protected:
  GateTest() : GateFixture(2) {}
  // Only then is nobody else using the places.
  ~GateTest() override { thread_.Stop(); }

  void Enter(const std::string& owner, std::size_t share = 1) {
    gate_.Enter(owner, share, [this, owner](std::optional<Gate::Place> place) {
      if (place) places_.push_back(*std::move(place));
      (place ? entered_ : sent_away_).push_back(owner);
    });
  }
  std::vector<std::string> Entered() {
    std::vector<std::string> entered;
    Do([] {});  // what a place that was given up has posted
    Do([&] { entered = entered_; });
    return entered;
  }

  std::vector<Gate::Place> places_;
  std::vector<std::string> entered_, sent_away_;
};

TEST_F(GateTest, AdmitsInTheOrderOfArrivalWhileThereIsRoom) {
  Enter("a");
  Enter("b");
  Enter("c");
  EXPECT_EQ(Entered(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(places_[0]->waited_for() && places_[1]->waited_for());
}

TEST_F(GateTest, AnOwnerThatHoldsLessComesFirst) {
  Enter("first", 2);
  Enter("greedy");
  Enter("greedy");
  Enter("modest");
  Entered();
  Do([&] { places_.clear(); });
  EXPECT_EQ(Entered(), (std::vector<std::string>{"first", "greedy", "modest"}));
}

// A thousand streams of one node that read nothing took all places: nobody else got a model for a minute.
TEST_F(GateTest, AnOwnerHoldsNoMoreThanHalf) {
  for (int i = 0; i < 5; ++i) Enter("greedy");
  EXPECT_EQ(Entered(), std::vector<std::string>{"greedy"});
  Enter("modest");
  EXPECT_EQ(Entered(), (std::vector<std::string>{"greedy", "modest"}));
  Do([&] { places_.erase(places_.begin()); });
  EXPECT_EQ(Entered(), (std::vector<std::string>{"greedy", "modest", "greedy"}));
}

// A slow upload was cut although nobody could have had its place: one owner waited behind its own others.
TEST_F(GateTest, AnOwnerThatHoldsItsHalfWaitsForItsOwnPlacesOnly) {
  for (int i = 0; i < 2; ++i) Enter("greedy");
  Enter("modest");
  Entered();
  EXPECT_TRUE(places_[0]->waited_for());
  EXPECT_FALSE(places_[1]->waited_for());
  Enter("third");
  Entered();
  EXPECT_TRUE(places_[1]->waited_for());
}

TEST_F(GateTest, ASmallShareEntersWhenTheLargeOneBeforeItIsSentAway) {
  Enter("a");
  Enter("large", 2);
  Entered();
  clock_.Advance(1);
  Enter("small");
  Entered();
  clock_.Advance(std::chrono::nanoseconds(Gate::kPatience).count() - 1);
  Do([&] { gate_.Expire(); });
  EXPECT_EQ(sent_away_, std::vector<std::string>{"large"});
  EXPECT_EQ(Entered(), (std::vector<std::string>{"a", "small"}));
}

TEST_F(GateTest, WhoIsSentAwayAndComesAgainGoesBeforeThoseWhoHadATurn) {
  Enter("a", 2);
  Enter("b", 2);
  Entered();
  clock_.Advance(std::chrono::nanoseconds(Gate::kPatience).count());
  Enter("a", 2);
  Do([&] { gate_.Expire(); });
  Enter("b", 2);
  Do([&] { places_.clear(); });
  EXPECT_EQ(Entered(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(GateTest, SendsThoseAwayWhoHaveWaitedTooLong) {
  Enter("a", 2);
  Enter("b");
  Entered();
  clock_.Advance(std::chrono::nanoseconds(Gate::kPatience).count());
  Do([&] { EXPECT_EQ(gate_.Expire(), CommandThread::kNever); });
  EXPECT_EQ(sent_away_, std::vector<std::string>{"b"});
  EXPECT_FALSE(places_[0]->waited_for());
}

TEST_F(GateTest, AnOwnerWithManyWhoWaitIsSentAwayAndTheOthersAreNot) {
  Enter("a", 2);
  for (std::size_t i = 0; i < FairQueue::kMaxWaitingOfOwner + 1; ++i) Enter("greedy");
  Enter("modest");
  Entered();
  EXPECT_EQ(sent_away_, std::vector<std::string>{"greedy"});
}

TEST_F(GateTest, SendsNewcomersAwayWhenTooManyWait) {
  Enter("a", 2);
  for (std::size_t i = 0; i < FairQueue::kMaxWaiting; ++i) Enter("node " + std::to_string(i));
  Entered();
  EXPECT_TRUE(sent_away_.empty());
  Enter("late");
  Entered();
  EXPECT_EQ(sent_away_, std::vector<std::string>{"late"});
}

TEST_F(GateTest, TenThousandOwnersWhoWaitHaveTheirTurnsInTheOrderOfArrival) {
  constexpr int kOwners = 10'000;
  for (int i = 0; i < kOwners; ++i) {
    gate_.Enter(std::to_string(i), 2, [this, i](std::optional<Gate::Place> place) {
      ASSERT_TRUE(place);
      entered_.push_back(std::to_string(i));
    });
  }
  while (Entered().size() < kOwners) std::this_thread::yield();
  for (int i = 0; i < kOwners; ++i) EXPECT_EQ(entered_[static_cast<std::size_t>(i)], std::to_string(i));
}

}  // namespace
}  // namespace tributary::learning
