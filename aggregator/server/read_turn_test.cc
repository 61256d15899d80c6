#include "aggregator/server/read_turn.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "aggregator/server/tcp_pair.h"
#include "core/runtime/descriptor.h"
#include "tests/support/process.h"

namespace tributary::server {
namespace {

// A connection over loopback with bytes in it, watched as gRPC watches: it is told of each arrival once.
struct Watched : TcpPair {
  runtime::Descriptor epoll{epoll_create1(EPOLL_CLOEXEC)};

  explicit Watched(std::size_t bytes) {
    Send(bytes);
    EXPECT_TRUE(testing::WaitFor([&] { return Unread() == bytes; }));
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
    EXPECT_EQ(epoll_ctl(epoll.get(), EPOLL_CTL_ADD, own.get(), &event), 0);
    if (bytes > 0) {
      EXPECT_TRUE(HasAnEvent());
    }
    EXPECT_FALSE(HasAnEvent()) << "it was told once";
  }
  std::size_t Unread() const {
    int unread = 0;
    EXPECT_EQ(ioctl(own.get(), FIONREAD, &unread), 0);
    return static_cast<std::size_t>(unread);
  }
  bool HasAnEvent() const {
    epoll_event event{};
    return epoll_wait(epoll.get(), &event, 1, 0) == 1;
  }
};

// Into pieces of these lengths, which are left as they were.
ssize_t Read(ReadTurn& turn, int fd, std::size_t most, const std::vector<std::size_t>& lengths = {64 << 10}) {
  std::vector<std::string> rooms;
  std::vector<iovec> pieces;
  for (const std::size_t length : lengths) rooms.emplace_back(length, '\0');
  for (std::string& room : rooms) pieces.push_back({room.data(), room.size()});
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  const ssize_t got = turn.Read(fd, &message, 0, most);
  EXPECT_EQ(message.msg_iovlen, lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) EXPECT_EQ(pieces[i].iov_len, lengths[i]) << i;
  return got;
}

constexpr auto kMost = static_cast<ssize_t>(ReadTurn::kMost);
constexpr auto kLeast = static_cast<ssize_t>(ReadTurn::kLeast);

TEST(ReadTurnTest, GivesWayAndIsToldAtOnceToGoOn) {
  const Watched connection(40'000);
  ReadTurn turn;
  EXPECT_FALSE(turn.IsOver(connection.own.get())) << "nothing was read";
  EXPECT_EQ(Read(turn, connection.own.get(), ReadTurn::kMost), kMost);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(turn.IsOver(connection.own.get())) << "gRPC asks twice";
    EXPECT_TRUE(connection.HasAnEvent());
  }
  EXPECT_FALSE(turn.IsOver(connection.own.get())) << "its next turn";
  EXPECT_EQ(Read(turn, connection.own.get(), ReadTurn::kMost), kMost);
}

TEST(ReadTurnTest, BeginsWithLittleAndTakesMoreOfMessages) {
  EXPECT_EQ(ReadTurn::Bytes(0, 0, false), ReadTurn::kLeast);
  EXPECT_EQ(ReadTurn::Bytes(ReadTurn::kBeginning - 1, 0, false), ReadTurn::kLeast);
  EXPECT_EQ(ReadTurn::Bytes(ReadTurn::kBeginning, 0, false), ReadTurn::kUsual);
  EXPECT_EQ(ReadTurn::Bytes(0, 5'000, false), 5'000u);
  EXPECT_EQ(ReadTurn::Bytes(ReadTurn::kBeginning, 5'000, false), 5'000u);
  EXPECT_EQ(ReadTurn::Bytes(0, 1 << 20, false), ReadTurn::kMost);
}

TEST(ReadTurnTest, APanelCatchesUpInOneTurn) {
  EXPECT_EQ(ReadTurn::Bytes(0, 0, true), ReadTurn::kMost);
  EXPECT_EQ(ReadTurn::Bytes(ReadTurn::kBeginning, 100, true), ReadTurn::kMost);
}

TEST(ReadTurnTest, ReadsIntoAllPiecesWithinItsTurn) {
  const Watched connection(40'000);
  ReadTurn turn;
  EXPECT_EQ(Read(turn, connection.own.get(), ReadTurn::kLeast, {600, 300, 600, 600}), kLeast);
  EXPECT_EQ(Read(turn, connection.own.get(), ReadTurn::kLeast, {600, 424, 600}), kLeast);
  EXPECT_EQ(Read(turn, connection.own.get(), ReadTurn::kLeast, {600, 300}), 900)
      << "there is room for no more";
  EXPECT_FALSE(turn.IsOver(connection.own.get())) << "its turn goes on";
  EXPECT_EQ(Read(turn, connection.own.get(), ReadTurn::kLeast), kLeast - 900);
  EXPECT_TRUE(turn.IsOver(connection.own.get()));
}

TEST(ReadTurnTest, AnothersTurnEndsItsRest) {
  const Watched first(40'000), second(40'000);
  ReadTurn turn;
  Read(turn, first.own.get(), ReadTurn::kLeast);
  EXPECT_FALSE(turn.IsOver(second.own.get()));
  Read(turn, second.own.get(), ReadTurn::kLeast);
  EXPECT_FALSE(turn.IsOver(first.own.get()));
}

// A panel that alone sends is not made to wait for each of its messages.
TEST(ReadTurnTest, WhoDidNotTakeAllOfItsTurnHasNotHadIt) {
  const Watched connection(100);
  ReadTurn turn;
  EXPECT_EQ(Read(turn, connection.own.get(), ReadTurn::kLeast), 100);
  EXPECT_EQ(send(connection.other.get(), "more", 4, 0), 4);
  ASSERT_TRUE(testing::WaitFor([&] { return connection.Unread() == 4; }));
  EXPECT_FALSE(turn.IsOver(connection.own.get()));
}

// Nothing would tell gRPC to go on.
TEST(ReadTurnTest, WithoutBytesOrOverAUnixSocketNobodyGivesWay) {
  const Watched connection(1'024);
  ReadTurn turn;
  EXPECT_EQ(Read(turn, connection.own.get(), ReadTurn::kLeast), kLeast);
  EXPECT_FALSE(turn.IsOver(connection.own.get())) << "the last byte was read";

  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const runtime::Descriptor own(ends[0]), other(ends[1]);
  const std::string text(4'000, 'a');
  ASSERT_EQ(send(other.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  EXPECT_EQ(Read(turn, own.get(), ReadTurn::kLeast), kLeast);
  EXPECT_FALSE(turn.IsOver(own.get()));
  EXPECT_FALSE(ReadTurn().IsOver(-1));
}

}  // namespace
}  // namespace tributary::server
