#include "aggregator/server/read_cost.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <string>
#include <thread>

#include "core/runtime/descriptor.h"

namespace tributary::server {
namespace {

using std::chrono::nanoseconds;

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
  ssize_t Read() const {
    std::array<char, 100> bytes{};
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

  runtime::Descriptor own_, other_;
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
    EndRead();
    Work(std::chrono::milliseconds(50));
    EXPECT_EQ(Read(), -1);
  }).join();
  const auto cost = ReadCostOf(socket_);
  ASSERT_TRUE(cost.has_value());
  EXPECT_EQ(cost->bytes, 65u);
  EXPECT_GE(cost->processor, std::chrono::milliseconds(3));
  EXPECT_LT(cost->processor, std::chrono::milliseconds(50)) << "neither without a read nor after an event";
}

TEST_F(ReadCostTest, CountsForOneConnectionAndInThreadsThatFuseAlone) {
  BeginReads(socket_);
  Send(10);
  EXPECT_EQ(Read(), 10);
  EXPECT_EQ(ReadCostOf(socket_)->bytes, 0u);
  EXPECT_FALSE(ReadCostOf({socket_.fd, socket_.inode + 1}).has_value()) << "another one had the descriptor";
  EXPECT_FALSE(ReadCostOf({-1, 0}).has_value());
  EXPECT_FALSE(ReadCostOf({1 << 16, 0}).has_value());
}

}  // namespace
}  // namespace tributary::server
