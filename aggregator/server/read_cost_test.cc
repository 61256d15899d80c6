#include "aggregator/server/read_cost.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "aggregator/server/connection_table.h"
#include "aggregator/server/read_cost_fixture.h"
#include "tests/support/process.h"

namespace tributary::server {
namespace {

using std::chrono::nanoseconds;

constexpr auto kTurn = static_cast<ssize_t>(ReadTurn::kLeast);

TEST_F(ReadCostTest, ChargesTheTimeFromOneReadToTheNext) {
  BeginReads(socket_);
  std::thread([this] {
    CountReads();
    Send(60);
    EXPECT_EQ(Read(), 60);
    Work(std::chrono::milliseconds(3));
    EXPECT_EQ(Read(), -1) << "nothing is left";
    Work(std::chrono::milliseconds(50));
    Send(5);
    EXPECT_EQ(Read(), 5);
    Work(std::chrono::milliseconds(3));
    EndRead();
    Work(std::chrono::milliseconds(50));
  }).join();
  const auto cost = ReadCostOf(socket_);
  ASSERT_TRUE(cost.has_value());
  EXPECT_EQ(cost->bytes, 65u);
  EXPECT_GE(cost->processor, std::chrono::milliseconds(6)) << "also what was done before an event";
  EXPECT_LT(cost->processor, std::chrono::milliseconds(50)) << "neither without a read nor after an event";
}

TEST_F(ReadCostTest, MeasuresAPanelAfterTheBeginningIfItIsToldTo) {
  BeginReads(socket_);
  NoteSpeaking(socket_);
  RankReads(socket_, ReadRank::kPanel);
  const auto work = [this] {
    Send(10);
    EXPECT_EQ(Read(), 10);
    Work(std::chrono::milliseconds(20));
    EXPECT_EQ(Read(), -1);
  };
  std::thread([&] {
    CountReads();
    for (std::uint64_t read = 0; read < ReadTurn::kBeginning; read += 100) {
      Send(100);
      EXPECT_EQ(Read(), 100);
    }
    EXPECT_EQ(Read(), -1);
    const nanoseconds beginning = ReadCostOf(socket_)->processor;
    work();
    EXPECT_EQ(ReadCostOf(socket_)->processor, beginning);
    MeasureReads(true);
    work();
    MeasureReads(false);
    EXPECT_GE(ReadCostOf(socket_)->processor - beginning, std::chrono::milliseconds(20));
  }).join();
}

// gRPC asks for more before it parses.
TEST_F(ReadTurnsTest, ChargesOnWhenAConnectionGivesWay) {
  BeginReads(socket_);
  Send(3 * ReadTurn::kLeast);
  std::thread([this] {
    CountReads();
    EXPECT_EQ(Read(), kTurn);
    EXPECT_EQ(Read(), -1);
    EXPECT_EQ(errno, EAGAIN);
    Work(std::chrono::milliseconds(3));
    EXPECT_EQ(Read(), -1) << "gRPC asks twice";
    EndRead();
  }).join();
  EXPECT_GE(ReadCostOf(socket_)->processor, std::chrono::milliseconds(3));
}

// gRPC has a thread of its own for connections that another thread writes to.
TEST_F(ReadTurnsTest, GiveWayInEveryThread) {
  BeginReads(socket_);
  Send(3 * ReadTurn::kLeast);
  std::thread([this] {
    EXPECT_EQ(Read(), kTurn);
    EXPECT_EQ(Read(), -1);
    Work(std::chrono::milliseconds(3));
    EXPECT_EQ(Read(), -1);
    EXPECT_EQ(Read(), kTurn) << "the next turn";
  }).join();
  EXPECT_EQ(ReadCostOf(socket_)->bytes, 2 * ReadTurn::kLeast);
  EXPECT_EQ(ReadCostOf(socket_)->processor, nanoseconds(0)) << "it does not fuse";
}

TEST_F(ReadTurnsTest, NobodyReadsAConnectionThatIsHeldUntilItIsReleased) {
  const runtime::Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  const auto has_event = [&] {
    epoll_event event{};
    return epoll_wait(epoll.get(), &event, 1, 0) == 1;
  };
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
  ASSERT_EQ(epoll_ctl(epoll.get(), EPOLL_CTL_ADD, own_.get(), &event), 0);
  BeginReads(socket_);
  Send(30);
  EXPECT_TRUE(testing::WaitFor(has_event));
  HoldReads(socket_);
  EXPECT_EQ(Read(), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_FALSE(has_event());
  ReleaseReads(socket_);
  EXPECT_TRUE(has_event()) << "gRPC is told to go on";
  EXPECT_EQ(Read(), 30);

  HoldReads(socket_);
  other_.Close();
  EXPECT_TRUE(testing::WaitFor(has_event));
  EXPECT_EQ(Read(), -1);
  ReleaseReads(socket_);
  EXPECT_TRUE(has_event()) << "of its end, too";
  EXPECT_EQ(Read(), 0);
}

TEST_F(ReadTurnsTest, WhatIsCutWhileItIsHeldEnds) {
  const runtime::Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
  ASSERT_EQ(epoll_ctl(epoll.get(), EPOLL_CTL_ADD, own_.get(), &event), 0);
  BeginReads(socket_);
  HoldReads(socket_);
  Cut(socket_);
  EXPECT_EQ(epoll_wait(epoll.get(), &event, 1, 1000), 1);
  EXPECT_EQ(Read(), -1);
  ReleaseReads(socket_);
  EXPECT_EQ(epoll_wait(epoll.get(), &event, 1, 0), 1) << "gRPC would keep it";
  EXPECT_EQ(Read(), 0);
}

TEST_F(ReadTurnsTest, WhatComesBehindALongHandshakeIsReadOnceItSpeaks) {
  BeginReads(socket_);
  Send(kMostOfAHandshake + 100);
  std::thread([this] {
    std::uint64_t read = 0;
    for (int reads = 0; read < kMostOfAHandshake && reads < 100; ++reads) {
      const ssize_t got = Read();
      read += got > 0 ? static_cast<std::uint64_t>(got) : 0;
    }
    ASSERT_EQ(read, kMostOfAHandshake);
    NoteSpeaking(socket_);
    ssize_t got = -1;
    for (int reads = 0; got < 0 && reads < 10; ++reads) got = Read();
    EXPECT_EQ(got, 100);
  }).join();
  EXPECT_FALSE(ReadCostOf(socket_)->long_handshake);
}

// Nobody does a handshake for it.
TEST_F(ReadTurnsTest, WhoHangsUpBeforeItSpeaksIsNotRead) {
  BeginReads(socket_);
  Send(10);
  ASSERT_EQ(shutdown(other_.get(), SHUT_WR), 0);
  ASSERT_TRUE(testing::WaitFor([this] { return PeerHasClosed(socket_.fd); }));
  EXPECT_EQ(Read(), 0);
  EXPECT_EQ(ReadCostOf(socket_)->bytes, 0u);
}

// Many small certificates cost as much as large ones.
TEST_F(ReadTurnsTest, ALongHandshakeIsNotReadToItsEnd) {
  BeginReads(socket_);
  Send(kMostOfAHandshake + 2 * ReadTurn::kLeast);
  std::thread([this] {
    std::uint64_t read = 0;
    ssize_t got = -1;
    for (int reads = 0; got != 0 && reads < 100; ++reads) {
      got = Read();
      read += got > 0 ? static_cast<std::uint64_t>(got) : 0;
    }
    EXPECT_EQ(got, 0) << "as if it had ended";
    EXPECT_EQ(read, kMostOfAHandshake);
  }).join();
  EXPECT_TRUE(ReadCostOf(socket_)->long_handshake);
}

TEST_F(ReadTurnsTest, AnEndIsChargedToWhoseItIs) {
  BeginReads(socket_);
  other_.Close();
  std::thread([this] {
    CountReads();
    EXPECT_EQ(Read(), 0);
    Work(std::chrono::milliseconds(3));
    EndRead();
    Work(std::chrono::milliseconds(3));
    BeginEnd(socket_);
    Work(std::chrono::milliseconds(3));
    EndRead();
  }).join();
  EXPECT_GE(ReadCostOf(socket_)->ends, std::chrono::milliseconds(6));
  EXPECT_LT(ReadCostOf(socket_)->ends, std::chrono::milliseconds(8));
  EXPECT_LT(ReadCostOf(socket_)->processor, std::chrono::milliseconds(1));
}

TEST_F(ReadTurnsTest, AreOfConnectionsThatAreKnown) {
  BeginReads({socket_.fd, socket_.inode + 1});  // which has ended
  Send(300);
  EXPECT_EQ(Read(100), 100);
  EXPECT_EQ(Read(100), 100) << "no turns: it may be another server's";
}

TEST_F(ReadCostTest, RemembersWhoHadTheDescriptorBeforeUntilAllAreLookedAt) {
  BeginReads(socket_);
  std::thread([this] {
    CountReads();
    Send(60);
    EXPECT_EQ(Read(), 60);
    EndRead();
  }).join();
  const Socket later{socket_.fd, socket_.inode + 1};
  BeginReads(later);
  EXPECT_EQ(ReadCostOf(later)->bytes, 0u);
  ASSERT_TRUE(ReadCostOf(socket_).has_value());
  EXPECT_EQ(ReadCostOf(socket_)->bytes, 60u);
  ForgetEnded();
  EXPECT_FALSE(ReadCostOf(socket_).has_value());
  EXPECT_TRUE(ReadCostOf(later).has_value());
}

TEST_F(ReadCostTest, IsOfOneConnection) {
  BeginReads(socket_);
  EXPECT_FALSE(ReadCostOf({socket_.fd, socket_.inode + 1}).has_value()) << "another one had the descriptor";
  EXPECT_FALSE(ReadCostOf({-1, 0}).has_value());
  EXPECT_FALSE(ReadCostOf({1 << 16, 0}).has_value());
}

TEST(ProcessorSlownessTest, IsOfThisMachine) {
  const double slowness = ProcessorSlowness();
  EXPECT_GE(slowness, 1);
  EXPECT_LT(slowness, 100) << "nothing would be cut";
}

TEST(ProcessorSlownessTest, LetsEverybodySpendMore) {
  ConnectionLimits limits;
  limits.Slow(10);
  EXPECT_EQ(limits.unpaid, 10 * ConnectionLimits().unpaid);
  EXPECT_EQ(limits.paid_by_byte, 10 * ConnectionLimits().paid_by_byte);
  EXPECT_EQ(limits.paid_by_time, ConnectionLimits().paid_by_time / 10) << "a ping takes as much longer";
}

}  // namespace
}  // namespace tributary::server
