#include "aggregator/server/held_back.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>

#include "aggregator/server/tcp_pair.h"

namespace tributary::server {
namespace {

using std::chrono::milliseconds;

class HeldBackTest : public ::testing::Test {
 protected:
  HeldBackTest() {
    for (const TcpPair& each : pairs_) {
      BeginReads(each.socket_of_own());
      each.Send(1);
    }
  }
  // Which of them nobody reads.
  std::array<bool, 3> Held() const {
    std::array<bool, 3> held{};
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      std::array<char, 2> room{};  // more than there is: its turn is not over
      iovec piece{room.data(), room.size()};
      msghdr message{};
      message.msg_iov = &piece;
      message.msg_iovlen = 1;
      held[i] = recvmsg(pairs_[i].own.get(), &message, MSG_PEEK) < 0;
    }
    return held;
  }
  OtherWork Work(milliseconds time, std::initializer_list<std::size_t> of) const {
    OtherWork work{.time = time, .of = {}};
    for (const std::size_t i : of) work.of.push_back(pairs_[i].socket_of_own());
    return work;
  }

  const std::array<TcpPair, 3> pairs_;
  HeldBack held_back_;
};

TEST_F(HeldBackTest, WhoHasMadeTooMuchWorkWaitsUntilThatIsMadeUpFor) {
  held_back_.Look(Work(HeldBack::kSavings, {0, 1}), milliseconds(5));
  EXPECT_EQ(Held(), (std::array{false, false, false})) << "a burst";
  held_back_.Look(Work(milliseconds(4), {0, 1}), milliseconds(0));
  EXPECT_EQ(Held(), (std::array{true, true, false}));
  held_back_.Look({}, milliseconds(3 * HeldBack::kPart));
  EXPECT_EQ(Held(), (std::array{true, true, false}));
  held_back_.Look({}, milliseconds(1 * HeldBack::kPart));
  EXPECT_EQ(Held(), (std::array{false, true, false})) << "one after the other";
  held_back_.Look(Work(milliseconds(1), {2}), milliseconds(0));
  EXPECT_EQ(Held(), (std::array{false, true, true}));
  held_back_.Look({}, milliseconds(2 * HeldBack::kPart));
  EXPECT_EQ(Held(), (std::array{false, false, true})) << "who waits longest comes first";
  EXPECT_EQ(held_back_.times(), 3u);
}

TEST_F(HeldBackTest, StartsAnewAfterItHasEnded) {
  held_back_.Look(Work(milliseconds(50), {0, 1, 2}), milliseconds(0));
  held_back_.End();
  EXPECT_EQ(Held(), (std::array{false, false, false}));
  held_back_.Look(Work(HeldBack::kSavings, {0}), milliseconds(0));
  EXPECT_EQ(Held(), (std::array{false, false, false})) << "nothing is left of what was too much";
}

TEST_F(HeldBackTest, NobodyWaitsWhenItEnds) {
  {
    HeldBack held_back;
    held_back.Look(Work(milliseconds(50), {0, 1, 2}), milliseconds(0));
    EXPECT_EQ(Held(), (std::array{true, true, true}));
  }
  EXPECT_EQ(Held(), (std::array{false, false, false}));
}

}  // namespace
}  // namespace tributary::server
