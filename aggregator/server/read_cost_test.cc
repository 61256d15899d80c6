#include "aggregator/server/read_cost.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "aggregator/server/connection_table.h"
#include "aggregator/server/read_turn.h"
#include "aggregator/server/tcp_pair.h"
#include "core/runtime/descriptor.h"
#include "tests/support/process.h"

namespace tributary::server {
namespace {

using std::chrono::nanoseconds;

constexpr auto kTurn = static_cast<ssize_t>(ReadTurn::kLeast);

// Two ends of a connection, and reads of one of them.
class ReadCostTest : public ::testing::Test {
 protected:
  ReadCostTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    own_ = runtime::Descriptor(ends[0]);
    other_ = runtime::Descriptor(ends[1]);
    socket_ = {own_.get(), InodeOf(own_.get())};
  }
  // What recv() does is not counted: gRPC reads by recvmsg().
  ssize_t Read(std::size_t room = ReadTurn::kMost) const {
    std::string bytes(room, '\0');
    iovec piece{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    return recvmsg(own_.get(), &message, 0);
  }
  void Send(std::size_t bytes) const {
    const std::string text(bytes, 'a');
    ASSERT_EQ(send(other_.get(), text.data(), text.size(), 0), static_cast<ssize_t>(bytes));
  }
  static void Work(nanoseconds least) {
    const auto used = [] {
      timespec time{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return nanoseconds(time.tv_sec * 1'000'000'000LL + time.tv_nsec);
    };
    for (const nanoseconds begin = used(); used() - begin < least;) {
    }
  }

  runtime::Descriptor own_{-1}, other_{-1};
  Socket socket_;
};

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

// With a real connection: pairs of sockets do not give way.
class ReadTurnsTest : public ReadCostTest {
 protected:
  ReadTurnsTest() {
    TcpPair pair;
    own_ = std::move(pair.own);
    other_ = std::move(pair.other);
    socket_ = {own_.get(), InodeOf(own_.get())};
  }
};

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

// A record of TLS is read whole, whatever a turn is.
class OtherReadsTest : public ReadTurnsTest {
 protected:
  OtherReadsTest() {
    BeginReads(socket_);
    NoteSpeaking(socket_);
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
    EXPECT_EQ(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, own_.get(), &event), 0);
  }
  ~OtherReadsTest() override { AllowOtherReads(nanoseconds::max()); }
  bool HasEvent() const {
    epoll_event event{};
    return epoll_wait(epoll_.get(), &event, 1, 100) == 1;
  }
  // Reads what has come, and works long for it.
  void ReadAndWork() const {
    std::thread([this] {
      CountReads();
      EXPECT_EQ(Read(), 10);
      Work(std::chrono::milliseconds(3));
      EndRead();
    }).join();
  }
  const runtime::Descriptor epoll_{epoll_create1(EPOLL_CLOEXEC)};
};

TEST_F(OtherReadsTest, WaitOnceTheyHaveCostMoreThanTheyMay) {
  AllowOtherReads(std::chrono::milliseconds(1));
  Send(10);
  EXPECT_TRUE(HasEvent());
  ReadAndWork();
  Send(10);
  EXPECT_TRUE(HasEvent());
  EXPECT_EQ(Read(), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_FALSE(HasEvent());
  RankReads(socket_, ReadRank::kPanel);
  EXPECT_EQ(Read(), 10) << "a panel's";
  RankReads(socket_, ReadRank::kOther);
  Send(10);
  EXPECT_TRUE(HasEvent());
  EXPECT_EQ(Read(), -1);
  AllowOtherReads(std::chrono::milliseconds(1));
  EXPECT_TRUE(HasEvent()) << "gRPC is told to go on";
  EXPECT_EQ(Read(), 10);
}

// A crowd makes no watcher wait that costs a little too much.
TEST_F(OtherReadsTest, PanelsAndWatchersAreToldFirst) {
  constexpr std::size_t kCrowd = 100;
  const runtime::Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  const auto told = [&epoll] {
    std::array<epoll_event, kCrowd + 1> events{};
    std::set<int> all;
    const int count = epoll_wait(epoll.get(), events.data(), kCrowd + 1, 100);
    for (int i = 0; i < count; ++i) all.insert(events[static_cast<std::size_t>(i)].data.fd);
    return all;
  };
  const auto wait = [&epoll](int fd, int other) {
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.fd = fd}};
    EXPECT_EQ(epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event), 0);
    EXPECT_EQ(send(other, "a", 1, 0), 1);
    EXPECT_TRUE(testing::WaitFor([fd] { return HasBytes(fd); }));
    char byte = 0;
    iovec piece{&byte, 1};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    EXPECT_EQ(recvmsg(fd, &message, 0), -1);
  };
  AllowOtherReads(nanoseconds(0));
  std::array<TcpPair, kCrowd> crowd;
  for (const TcpPair& each : crowd) {
    const Socket socket{each.own.get(), InodeOf(each.own.get())};
    BeginReads(socket);
    NoteSpeaking(socket);
    wait(each.own.get(), each.other.get());
  }
  RankReads(socket_, ReadRank::kOwing);
  wait(socket_.fd, other_.get());
  EXPECT_EQ(told().size(), kCrowd + 1) << "of what came";
  AllowOtherReads(nanoseconds(0));
  const std::set<int> first = told();
  EXPECT_TRUE(first.contains(socket_.fd));
  EXPECT_LT(first.size(), kCrowd / 2) << "some at a time";
  RankReads({crowd.back().own.get(), InodeOf(crowd.back().own.get())}, ReadRank::kPanel);
  EXPECT_EQ(told(), std::set{crowd.back().own.get()}) << "at once";
  AllowOtherReads(nanoseconds::max());
  EXPECT_EQ(told().size(), kCrowd - first.size()) << "nobody waits any more";
}

TEST_F(OtherReadsTest, WaitAlsoToEnd) {
  AllowOtherReads(nanoseconds(0));
  for (const bool reset : {false, true}) {
    if (reset) {
      TcpPair pair;
      own_ = std::move(pair.own);
      other_ = std::move(pair.other);
      socket_ = {own_.get(), InodeOf(own_.get())};
      BeginReads(socket_);
      NoteSpeaking(socket_);
      epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
      ASSERT_EQ(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, own_.get(), &event), 0);
      const linger at_once{1, 0};
      ASSERT_EQ(setsockopt(other_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    }
    AllowOtherReads(nanoseconds(0));
    other_.Close();
    EXPECT_TRUE(HasEvent());
    EXPECT_EQ(Read(), -1);
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_FALSE(HasEvent());
    AllowOtherReads(std::chrono::milliseconds(1));
    EXPECT_TRUE(HasEvent()) << reset;
    EXPECT_EQ(Read(), reset ? -1 : 0);
    if (reset) {
      EXPECT_NE(errno, EAGAIN);
    }
  }
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
