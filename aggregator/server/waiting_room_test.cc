#include "aggregator/server/waiting_room.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <utility>

#include "aggregator/server/first_words.h"
#include "tests/support/process.h"

namespace tributary::server {
namespace {

using runtime::Descriptor;
using testing::WaitFor;

const std::string& Preface() {
  static const std::string preface = std::string(kHttp2Preface) + std::string(kFrameHeaderBytes, 0);
  return preface;
}

class WaitingRoomTest : public ::testing::Test {
 protected:
  WaitingRoomTest() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(any));
    listen(listener_.get(), 16);
  }
  // A connection to the room; the peer's end.
  Descriptor Enter(std::int64_t now_ns = 0) {
    sockaddr_in to{};
    socklen_t bytes = sizeof(to);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&to), &bytes);
    Descriptor peer(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(peer.get(), reinterpret_cast<const sockaddr*>(&to), bytes), 0);
    Descriptor own(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    last_ = {own.get(), InodeOf(own.get())};
    room_.Enter(std::move(own), last_.inode, now_ns);
    return peer;
  }
  static void Say(const Descriptor& peer, const std::string& words) {
    EXPECT_EQ(send(peer.get(), words.data(), words.size(), MSG_NOSIGNAL), static_cast<ssize_t>(words.size()));
  }
  bool SomebodyIsReady() {
    return WaitFor([this] {
      room_.Listen();
      return room_.AnybodyReady();
    });
  }
  static bool Closed(const Descriptor& peer) {
    char byte = 0;
    return WaitFor([&] { return recv(peer.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0; });
  }

  Descriptor listener_;
  WaitingRoom room_;
  Socket last_;  // that entered
};

TEST_F(WaitingRoomTest, LetsInWhoHasBegunToSpeakInThatOrderAndKeepsTheirWords) {
  const Descriptor first = Enter();
  const Socket first_entered = last_;
  const Descriptor second = Enter();
  const Socket second_entered = last_;
  EXPECT_EQ(room_.Next(), -1);
  Say(second, Preface());
  ASSERT_TRUE(SomebodyIsReady());
  Say(first, Preface().substr(0, 20));
  room_.Listen();
  Descriptor let_in(room_.Next());
  EXPECT_EQ(let_in.get(), second_entered.fd);
  std::string words(Preface().size() + 1, 0);
  EXPECT_EQ(recv(let_in.get(), words.data(), words.size(), 0), static_cast<ssize_t>(Preface().size()));
  EXPECT_EQ(room_.Next(), -1);
  Say(first, Preface().substr(20));
  ASSERT_TRUE(SomebodyIsReady());
  let_in = Descriptor(room_.Next());
  EXPECT_EQ(let_in.get(), first_entered.fd);
}

TEST_F(WaitingRoomTest, ForgetsWhoHangsUpAlsoInTheMiddleOfAWord) {
  Descriptor silent = Enter(), half = Enter();
  const Socket entered = last_;
  Say(half, "PRI");
  silent.Close();
  half.Close();
  EXPECT_TRUE(WaitFor([&] {
    room_.Listen();
    return !IsOpen(entered);
  }));
  EXPECT_EQ(room_.Next(), -1);
  EXPECT_FALSE(room_.Close(entered));
}

TEST_F(WaitingRoomTest, ClosesWhoDoesNotBeginInTimeAndNamesThem) {
  const Descriptor old = Enter(100), ready = Enter(100), young = Enter(300);
  Say(ready, Preface());
  ASSERT_TRUE(SomebodyIsReady());
  const auto closed = room_.CloseOlderThan(200);
  ASSERT_EQ(closed.size(), 1u);
  EXPECT_EQ(closed.front().substr(0, 10), "127.0.0.1:");
  EXPECT_TRUE(Closed(old));
  const Descriptor let_in(room_.Next());
  EXPECT_TRUE(let_in.open()) << "it waits for us, not we for it";
  EXPECT_TRUE(room_.CloseOlderThan(300).empty());
}

TEST_F(WaitingRoomTest, ClosesOneThatMakesRoomEvenIfItIsReadyAndNoOtherOfTheSameDescriptor) {
  const Descriptor peer = Enter();
  Say(peer, Preface());
  ASSERT_TRUE(SomebodyIsReady());
  EXPECT_FALSE(room_.Close({last_.fd, last_.inode + 1}));
  EXPECT_TRUE(room_.Close(last_));
  EXPECT_TRUE(Closed(peer));
  EXPECT_EQ(room_.Next(), -1);
}

}  // namespace
}  // namespace tributary::server
