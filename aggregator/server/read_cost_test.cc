#include "aggregator/server/read_cost.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "aggregator/server/connection_table.h"
#include "aggregator/server/first_words.h"
#include "aggregator/server/ingest_server.h"
#include "core/runtime/clock.h"
#include "core/runtime/descriptor.h"
#include "tests/support/process.h"

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

  runtime::Descriptor own_{-1}, other_{-1};
  Socket socket_;
};

TEST_F(ReadCostTest, ChargesTheTimeFromOneReadToTheNextWhileItIsMeasured) {
  MeasureReads(true);
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
    MeasureReads(false);
    Send(10);
    EXPECT_EQ(Read(), 10);
    Work(std::chrono::milliseconds(50));
    EXPECT_EQ(Read(), -1);
  }).join();
  const auto cost = ReadCostOf(socket_);
  ASSERT_TRUE(cost.has_value());
  EXPECT_EQ(cost->bytes, 75u);
  EXPECT_GE(cost->processor, std::chrono::milliseconds(3));
  EXPECT_LT(cost->processor, std::chrono::milliseconds(50))
      << "neither without a read nor after an event, nor unmeasured";
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

// gRPC reads by the function that is defined here. The peer is none of gRPC's: any thread that waits in gRPC
// reads any of its connections.
TEST(ReadsOfGrpcTest, AreCharged) {
  runtime::SystemClock clock;
  publish::AggregatorState state{clock};
  IngestOptions options;
  options.listen = "127.0.0.1:0";
  const std::unique_ptr<IngestServer> server = *IngestServer::Start(options, state);
  const runtime::Descriptor peer(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(server->port()));
  ASSERT_EQ(connect(peer.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  const std::string settings("\0\0\0\4\0\0\0\0\0", kFrameHeaderBytes);
  const std::string words = std::string(kHttp2Preface) + settings;
  ASSERT_EQ(send(peer.get(), words.data(), words.size(), 0), static_cast<ssize_t>(words.size()));
  EXPECT_TRUE(testing::WaitFor([&] {
    send(peer.get(), settings.data(), settings.size(), MSG_NOSIGNAL);
    for (int fd = 0; fd < 1024; ++fd) {
      const std::optional<ReadCost> cost = ReadCostOf({fd, InodeOf(fd)});
      if (cost && cost->bytes > words.size()) return true;
    }
    return false;
  }));
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
  EXPECT_EQ(limits.paid_by_time, ConnectionLimits().paid_by_time)
      << "a part of the time is one on any processor";
}

}  // namespace
}  // namespace tributary::server
