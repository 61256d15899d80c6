#include "aggregator/learning/service/gate.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

namespace tributary::learning {
namespace {

class GateTest : public ::testing::Test {
 protected:
  GateTest() {
    thread_.Start("gate", [] { return CommandThread::kNever; });
  }
  // Only then is nobody else using the places.
  ~GateTest() override { thread_.Stop(); }

  void Enter(const std::string& owner, std::size_t share = 1) {
    gate_.Enter(owner, share, [this, owner](std::optional<Gate::Place> place) {
      if (place) places_.push_back(*std::move(place));
      (place ? entered_ : sent_away_).push_back(owner);
    });
  }
  // Does this on the gate's thread, after all that was asked before.
  void Do(const std::function<void()>& what) {
    std::promise<void> done;
    thread_.Post([&] {
      what();
      done.set_value();
    });
    done.get_future().wait();
  }
  std::vector<std::string> Entered() {
    std::vector<std::string> entered;
    Do([] {});  // what a place that was given up has posted
    Do([&] { entered = entered_; });
    return entered;
  }

  runtime::ManualClock clock_{0};
  CommandThread thread_{clock_};
  Gate gate_{2, thread_, clock_};
  std::vector<Gate::Place> places_;
  std::vector<std::string> entered_, sent_away_;
};

TEST_F(GateTest, AdmitsInTheOrderOfArrivalWhileThereIsRoom) {
  Enter("a");
  Enter("b");
  Enter("c");
  EXPECT_EQ(Entered(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(gate_.waited_for());
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
  EXPECT_TRUE(gate_.waited_for());
  Enter("modest");
  EXPECT_EQ(Entered(), (std::vector<std::string>{"greedy", "modest"}));
  Do([&] { places_.erase(places_.begin()); });
  EXPECT_EQ(Entered(), (std::vector<std::string>{"greedy", "modest", "greedy"}));
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
  EXPECT_FALSE(gate_.waited_for());
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
