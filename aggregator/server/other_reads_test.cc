// Who waits so that panels and watchers do not.
#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <set>
#include <thread>
#include <utility>

#include "aggregator/server/read_cost_fixture.h"
#include "tests/support/process.h"

namespace tributary::server {
namespace {

using std::chrono::nanoseconds;

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
  // What comes afterwards is not read.
  void CostMoreThanAllowed() const {
    Send(10);
    EXPECT_TRUE(HasEvent());
    ReadAndWork();
    Send(10);
    EXPECT_TRUE(HasEvent());
    EXPECT_EQ(Read(), -1);
  }
  const runtime::Descriptor epoll_{epoll_create1(EPOLL_CLOEXEC)};
};

TEST_F(OtherReadsTest, WaitOnceTheyHaveCostMoreThanTheyMay) {
  AllowOtherReads(std::chrono::milliseconds(1));
  CostMoreThanAllowed();
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

TEST_F(OtherReadsTest, HandshakesWaitForABudgetOfTheirOwn) {
  BeginReads(socket_);
  AllowOtherReads(nanoseconds(0));
  AllowHandshakes(std::chrono::milliseconds(1));
  CostMoreThanAllowed();
  AllowHandshakes(nanoseconds(0));
  EXPECT_FALSE(HasEvent()) << "it has cost three, of two that were saved";
  for (int i = 0; i < 4; ++i) AllowHandshakes(std::chrono::milliseconds(1));
  EXPECT_TRUE(HasEvent()) << "gRPC is told to go on";
  EXPECT_EQ(Read(), 10);
  AllowHandshakes(nanoseconds::max());
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

}  // namespace
}  // namespace tributary::server
