// What an aggregator writes into the log of those who take part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/link/federation_client.h"
#include "core/link/federation_server_fixture.h"
#include "core/runtime/captured_log.h"
#include "core/runtime/descriptor.h"

namespace tributary::link {
namespace {

using testing::FakeFederation;
using ::testing::HasSubstr;

// Sleeps by moving on.
class SwiftClock final : public runtime::Clock {
 public:
  std::int64_t UnixNs() const override { return now_ns_; }
  std::int64_t SteadyNs() const override { return now_ns_; }
  void SleepUntil(std::int64_t unix_ns, std::stop_token) const override { now_ns_ = unix_ns; }

 private:
  mutable std::atomic<std::int64_t> now_ns_ = 1;
};

// Accepts connections on the loopback and closes them.
class ClosingPeer {
 public:
  ClosingPeer() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(name);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&name), bytes), 0);
    EXPECT_EQ(listen(listener_.get(), SOMAXCONN), 0);
    EXPECT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&name), &bytes), 0);
    port_ = ntohs(name.sin_port);
    thread_ = std::jthread([this] {
      while (runtime::Descriptor(accept(listener_.get(), nullptr, nullptr)).open()) continue;
    });
  }
  ~ClosingPeer() { shutdown(listener_.get(), SHUT_RDWR); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  const runtime::Descriptor listener_;
  int port_ = 0;
  std::jthread thread_;
};

class FederationClientLogTest : public ::testing::Test {
 protected:
  FederationClientLogTest() {
    client_.emplace(
        FederationClientOptions{
            .aggregator = server_.address(), .tls = nullptr, .node = "south", .run = "run"},
        clock_);
  }

  // All that was written; ends the client.
  std::string Log() {
    client_.reset();
    return log_.text();
  }
  static std::ptrdiff_t Lines(const std::string& log) { return std::ranges::count(log, '\n'); }
  void AwaitStreams(std::uint64_t streams) {
    while (client_->counters().streams < streams) {
      server_.EndStreams();
      std::this_thread::yield();
    }
  }

  const runtime::CapturedLog log_;
  SwiftClock clock_;
  FakeFederation server_;
  std::optional<FederationClient> client_;
};

TEST_F(FederationClientLogTest, BacksOffAndWritesFewLinesWhenEveryStreamEndsAfterItsFirstAnswer) {
  v1::ParticipateResponse wait;
  wait.mutable_wait()->set_reason("hold on");
  server_.Push(wait);
  AwaitStreams(41);
  const std::string log = Log();
  // The last 35 of the 40 pauses are at least half the cap of 0.4 s.
  EXPECT_GE(clock_.SteadyNs(), 7'000'000'000);
  EXPECT_LE(Lines(log), 2) << log;
}

TEST_F(FederationClientLogTest, SaysWhyThereAreNoTasksAndWhenTheyComeAgain) {
  v1::ParticipateResponse wait;
  wait.mutable_wait()->set_reason("hold on");
  server_.Push(wait);
  AwaitStreams(2);
  const std::string log = Log();
  EXPECT_THAT(log, HasSubstr("no tasks from " + server_.address() + " for south: "));
  EXPECT_THAT(log, HasSubstr(server_.address() + " gives south its tasks again"));
}

// A connection that ends before its first answer looks like this.
TEST_F(FederationClientLogTest, AdvisesTlsWhereThePeerClosesTheConnection) {
  client_.reset();
  const ClosingPeer peer;
  client_.emplace(
      FederationClientOptions{.aggregator = peer.address(), .tls = nullptr, .node = "south", .run = "run"},
      clock_);
  while (client_->last_error().ok()) std::this_thread::yield();
  EXPECT_THAT(Log(), HasSubstr("if the aggregator wants TLS, fill [tls]"));
}

// The clock stands still meanwhile.
TEST_F(FederationClientLogTest, WritesTwentyLinesOfAFloodOfTasksThatItCannotDo) {
  v1::ParticipateResponse unknown;
  unknown.set_run("run");
  for (std::size_t task = 1; task <= 60; ++task) {
    server_.Push(unknown);
    server_.AwaitDecline(task);
  }
  EXPECT_EQ(Lines(Log()), 20);
}

// Steps of secure aggregation, of a round without keys.
TEST_F(FederationClientLogTest, WritesTwentyLinesOfAFloodOfRoundsWhoseKeysItDoesNotHave) {
  for (std::uint32_t round = 1; round <= 60; ++round) {
    v1::ParticipateResponse unmask;
    unmask.set_run("run");
    unmask.mutable_unmask()->set_round(round);
    unmask.mutable_unmask()->set_deadline_unix_ns(4'000'000'000'000'000'000);
    unmask.mutable_unmask()->add_survivors("south");
    server_.Push(unmask);
    server_.AwaitDecline(round);
  }
  EXPECT_EQ(Lines(Log()), 20);
}

}  // namespace
}  // namespace tributary::link
