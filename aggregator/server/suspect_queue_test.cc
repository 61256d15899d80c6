#include "aggregator/server/suspect_queue.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

namespace tributary::server {
namespace {

bool Anybody(const std::string&) { return true; }

// Connections over the loopback, known by the order in which they are made.
class SuspectQueueTest : public ::testing::Test {
 protected:
  SuspectQueueTest() {
    EXPECT_EQ(listen(listener_.get(), 16), 0);
    socklen_t size = sizeof(address_);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address_), &size);
  }
  void Enter(const std::string& address) {
    peers_.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(peers_.back().get(), reinterpret_cast<sockaddr*>(&address_), sizeof(address_)), 0);
    runtime::Descriptor accepted(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    fds_.push_back(accepted.get());
    queue_.Enter(address, std::move(accepted));
  }
  // Which connection is next; -1: none.
  int Next(const std::function<bool(const std::string&)>& may = Anybody) {
    const runtime::Descriptor next = queue_.Next(may);
    for (std::size_t i = 0; i < fds_.size(); ++i) {
      if (next.open() && fds_[i] == next.get()) return static_cast<int>(i);
    }
    return -1;
  }

  const runtime::Descriptor listener_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address_{};
  std::vector<runtime::Descriptor> peers_;
  std::vector<int> fds_;
  SuspectQueue queue_;
};

TEST_F(SuspectQueueTest, GivesEachAddressItsTurn) {
  for (const char* address : {"crowd", "crowd", "crowd", "single"}) Enter(address);
  for (const int expected : {0, 3, 1, 2, -1}) EXPECT_EQ(Next(), expected);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(SuspectQueueTest, PassesOverWhoMayNotBegin) {
  for (const char* address : {"costly", "costly", "cheap", "cheap"}) Enter(address);
  const auto cheap = [](const std::string& address) { return address == "cheap"; };
  for (const int expected : {2, 3, -1}) EXPECT_EQ(Next(cheap), expected);
  EXPECT_FALSE(queue_.empty());
  EXPECT_EQ(Next(), 0);
}

TEST_F(SuspectQueueTest, ForgetsWhoWasCutOrHasGone) {
  for (const char* address : {"a", "a", "b"}) Enter(address);
  shutdown(fds_[0], SHUT_RDWR);
  peers_[2].Close();
  EXPECT_EQ(queue_.ForgetGone(), (std::unordered_map<std::string, std::size_t>{{"b", 1}}));
  EXPECT_EQ(Next(), 1);
  EXPECT_TRUE(queue_.empty());
}

}  // namespace
}  // namespace tributary::server
