// Connections whose reads cost something, for tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "aggregator/server/read_cost.h"
#include "aggregator/server/read_turn.h"
#include "aggregator/server/tcp_pair.h"
#include "core/runtime/descriptor.h"

namespace tributary::server {

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
  static void Work(std::chrono::nanoseconds least) {
    const auto used = [] {
      timespec time{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return std::chrono::nanoseconds(time.tv_sec * 1'000'000'000LL + time.tv_nsec);
    };
    for (const std::chrono::nanoseconds begin = used(); used() - begin < least;) {
    }
  }

  runtime::Descriptor own_{-1}, other_{-1};
  Socket socket_;
};

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

}  // namespace tributary::server
