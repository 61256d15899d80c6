#include "aggregator/server/front_door.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aggregator/server/first_words.h"
#include "core/runtime/captured_log.h"
#include "core/runtime/mutex.h"
#include "tests/support/process.h"

namespace tributary::server {
namespace {

using runtime::Descriptor;
using ::testing::HasSubstr;
using testing::WaitFor;

constexpr std::chrono::nanoseconds kFree{0};

class FrontDoorTest : public ::testing::Test {
 protected:
  void Open(const ConnectionLimits& limits) {
    Open(limits, [this](int fd) { Take(fd); });
  }
  void Open(const ConnectionLimits& limits, const FrontDoor::HandOver& hand_over) {
    const auto used = [this] { return used_.load(); };
    auto door = FrontDoor::Listen("127.0.0.1:0", limits, MemoryWatch(kMemory, used, used), clock_);
    ASSERT_TRUE(door.ok()) << door.status();
    door_ = *std::move(door);
    door_->Open(hand_over, [] { return std::vector<std::int64_t>{0}; });
  }
  void Take(int fd) {
    const runtime::MutexLock lock(mutex_);
    taken_.emplace_back(fd);
  }
  ~FrontDoorTest() override { door_.reset(); }

  // A peer that says nothing waits at the door.
  Descriptor ConnectSilently() const {
    Descriptor fd = TryToConnect();
    EXPECT_TRUE(fd.open());
    return fd;
  }
  // Closed if nobody answers.
  Descriptor TryToConnect() const {
    Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{0, 500'000};
    setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<std::uint16_t>(door_->port()));
    if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) fd.Close();
    return fd;
  }
  bool Answers() const { return TryToConnect().open(); }
  Descriptor Connect() const {
    Descriptor fd = ConnectSilently();
    SayFirstWords(fd);
    return fd;
  }
  static void SayFirstWords(const Descriptor& fd) {
    const std::string words = std::string(kHttp2Preface) + std::string(kFrameHeaderBytes, 0);
    EXPECT_EQ(send(fd.get(), words.data(), words.size(), MSG_NOSIGNAL), static_cast<ssize_t>(words.size()));
  }
  // One that has made a call.
  Descriptor ConnectAndCall() {
    const std::size_t before = taken();
    Descriptor fd = Connect();
    EXPECT_TRUE(WaitFor([&] { return taken() == before + 1; }));
    door_->connections().BeginCall(PeerOf(fd), "", 0);
    door_->connections().EndCall(PeerOf(fd));
    return fd;
  }
  // As the aggregator names it.
  static std::string PeerOf(const Descriptor& fd) {
    sockaddr_in own{};
    socklen_t bytes = sizeof(own);
    getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &bytes);
    return "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
  }
  // Whether the other side has closed it.
  static bool Closed(const Descriptor& fd) {
    char byte = 0;
    return recv(fd.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }
  std::size_t taken() const {
    const runtime::MutexLock lock(mutex_);
    return taken_.size();
  }
  // As gRPC reads; each piece takes two milliseconds of the processor.
  void ReadTakenSlowly(std::size_t which) {
    const runtime::MutexLock lock(mutex_);
    std::string read(1 << 10, 0);
    iovec piece{read.data(), read.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (recvmsg(taken_[which].get(), &message, MSG_DONTWAIT) <= 0) return;
    const auto used = [] {
      timespec time{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
    };
    const auto piece_ns = static_cast<std::int64_t>(2e6 * slowness_);
    for (const std::int64_t until = used() + piece_ns; used() < until;) {
    }
  }
  // As gRPC reads what makes it grow.
  void DrainTaken() {
    const runtime::MutexLock lock(mutex_);
    std::array<char, 1 << 10> bytes{};
    for (const Descriptor& each : taken_) {
      while (recv(each.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
      }
    }
  }
  void CloseAllTaken() {
    const runtime::MutexLock lock(mutex_);
    taken_.clear();
  }
  std::uint64_t Refused(ConnectionFault fault) const {
    return door_->connections().figures().refused[static_cast<std::size_t>(fault)];
  }

  static constexpr std::uint64_t kMemory = 1 << 30;
  std::atomic<std::uint64_t> used_ = 0;  // bytes
  const double slowness_ = ProcessorSlowness();
  runtime::SystemClock clock_;
  mutable runtime::Mutex mutex_;
  std::vector<Descriptor> taken_ GUARDED_BY(mutex_);
  std::unique_ptr<FrontDoor> door_;
};

TEST_F(FrontDoorTest, HandsOverWhatIsWithinTheLimitsAndClosesTheRest) {
  Open({.connections = 16, .of_address = 3});
  std::vector<Descriptor> peers;
  for (int i = 0; i < 3; ++i) peers.push_back(ConnectAndCall());
  for (int i = 0; i < 2; ++i) peers.push_back(Connect());
  EXPECT_TRUE(WaitFor([&] { return Closed(peers[3]) && Closed(peers[4]); }));
  EXPECT_EQ(taken(), 3u);
  EXPECT_EQ(Refused(ConnectionFault::kTooManyOfAddress), 2u);
}

TEST_F(FrontDoorTest, TakesConnectionsAgainAfterOthersWereClosed) {
  Open({.connections = 16, .of_address = 2});
  const Descriptor first = ConnectAndCall(), second = ConnectAndCall();
  const Descriptor refused = Connect();
  EXPECT_TRUE(WaitFor([&] { return Closed(refused); }));
  CloseAllTaken();
  EXPECT_TRUE(WaitFor([&] {
    const Descriptor again = Connect();
    return WaitFor([&] { return taken() == 1; }, std::chrono::milliseconds(200));
  }));
}

TEST_F(FrontDoorTest, CutsTheOldestSilentConnection) {
  Open({.connections = 16, .of_address = 16, .silent = 16, .silent_of_address = 2});
  const Descriptor oldest = Connect(), second = Connect();
  ASSERT_TRUE(WaitFor([&] { return taken() == 2; }));
  const Descriptor third = Connect();
  EXPECT_TRUE(WaitFor([&] { return Closed(oldest); }));
  EXPECT_FALSE(Closed(second));
  EXPECT_FALSE(Closed(third));
}

TEST_F(FrontDoorTest, HandsOverNobodyWhoHasNotBegunToSpeak) {
  Open({.connections = 16, .of_address = 16, .silent = 16, .silent_of_address = 3});
  const Descriptor oldest = ConnectSilently(), half = ConnectSilently(), third = ConnectSilently();
  ASSERT_EQ(send(half.get(), "PRI *", 5, MSG_NOSIGNAL), 5);
  const Descriptor honest = Connect();
  EXPECT_TRUE(WaitFor([&] { return taken() == 1; })) << "at once";
  EXPECT_TRUE(WaitFor([&] { return Closed(oldest); })) << "made room";
  EXPECT_FALSE(Closed(half));
  EXPECT_EQ(Refused(ConnectionFault::kTooManySilentOfAddress), 1u);
  EXPECT_EQ(taken(), 1u);
}

TEST_F(FrontDoorTest, LetsACrowdInBySomeAtATime) {
  Open({.connections = 1000, .of_address = 1000, .silent = 1000, .silent_of_address = 1000, .begun = kFree});
  std::vector<Descriptor> peers;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 60; ++i) peers.push_back(Connect());
  ASSERT_TRUE(WaitFor([&] { return taken() == 60; }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(60));
}

// gRPC's own listener does not accept again after the process ran out of descriptors.
TEST_F(FrontDoorTest, AcceptsAgainAfterTheProcessRanOutOfDescriptors) {
  Open({});
  std::vector<Descriptor> peers;
  for (int i = 0; i < 3; ++i) peers.emplace_back(socket(AF_INET, SOCK_STREAM, 0));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = open("/dev/null", O_RDONLY);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next);
  close(next);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(door_->port()));
  for (const Descriptor& each : peers)
    connect(each.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  EXPECT_TRUE(WaitFor([&] { return Refused(ConnectionFault::kNoDescriptor) == 3; }));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const Descriptor honest = Connect();
  EXPECT_TRUE(WaitFor([&] { return taken() == 1; }, std::chrono::seconds(1)));
}

TEST_F(FrontDoorTest, SaysWhichAddressIsTaken) {
  Open({});
  const std::string address = "127.0.0.1:" + std::to_string(door_->port());
  const auto second = FrontDoor::Listen(address, {}, MemoryWatch(kMemory), clock_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(second.status().message().find(address), std::string::npos) << second.status();
}

TEST_F(FrontDoorTest, CutsWhoSendsMostAndTakesNobodyWhileMemoryHasNearlyRunOut) {
  Open({});
  const Descriptor greedy = ConnectAndCall();
  used_ = kMemory / 8 * 5;
  const std::jthread sender([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && send(greedy.get(), "data", 4, MSG_NOSIGNAL) == 4) {
      DrainTaken();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const Descriptor another = ConnectAndCall();
  EXPECT_EQ(Refused(ConnectionFault::kMemory), 0u) << "it is scarce";
  used_ = kMemory / 8 * 7;
  EXPECT_TRUE(WaitFor([&] { return Closed(greedy); }));
  const std::uint64_t cut = Refused(ConnectionFault::kMemory);
  EXPECT_GE(cut, 1u);
  EXPECT_TRUE(WaitFor([&] { return !Answers(); })) << "and stays out";
  EXPECT_TRUE(WaitFor([&] { return Refused(ConnectionFault::kQuarantined) > 0; }));
}

TEST_F(FrontDoorTest, TheLogSaysWhoStaysOutAndWhy) {
  const runtime::CapturedLog log;
  Open({});
  ASSERT_TRUE(Answers());
  door_->connections().KeepOut("127.0.0.1:1", FrontDoor::Second());
  ASSERT_TRUE(WaitFor([&] { return !Answers(); }));
  door_.reset();
  EXPECT_THAT(log.text(),
              HasSubstr("127.0.0.1 floods this port (no_call: it sends more than any call begins "
                        "with, and no call comes of it): new connections from there get no answer "
                        "for 10 s"));
}

TEST_F(FrontDoorTest, WhoStaysOutGetsNoAnswerAndIsCounted) {
  Open({.quarantine = {.first_s = 2}});
  ASSERT_TRUE(Answers());
  door_->connections().KeepOut("127.0.0.1:1", FrontDoor::Second());
  ASSERT_TRUE(WaitFor([&] { return !Answers(); }));
  EXPECT_TRUE(WaitFor([&] { return Refused(ConnectionFault::kQuarantined) > 0; }));
  EXPECT_TRUE(WaitFor([&] { return Answers(); })) << "two seconds later at the latest";
}

// The door itself has more to turn away than the kernel takes.
TEST_F(FrontDoorTest, WhoStaysOutIsTurnedAwayNoFasterThanAFloodMayBe) {
  Open({.quarantine = {.filtered = 0}});
  door_->connections().KeepOut("127.0.0.1:1", FrontDoor::Second());
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    const Descriptor next = ConnectSilently();
    ASSERT_TRUE(WaitFor([&] { return Closed(next); }));
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(19 * 5)) << "one in a pause";
  EXPECT_EQ(Refused(ConnectionFault::kQuarantined), 20u);
}

TEST_F(FrontDoorTest, WhoWaitsWhenAnAddressIsKeptOutStaysOutToo) {
  Open({});
  const Descriptor waiting = ConnectSilently();
  ASSERT_TRUE(WaitFor([&] { return door_->connections().figures().connections == 1; }));
  door_->connections().KeepOut("127.0.0.1:1", FrontDoor::Second());
  SayFirstWords(waiting);
  EXPECT_TRUE(WaitFor([&] { return Closed(waiting); }));
  EXPECT_EQ(Refused(ConnectionFault::kQuarantined), 1u);
  EXPECT_EQ(taken(), 0u);
}

TEST_F(FrontDoorTest, LetsInOneAtATimeOfAnAddressThatHasFlooded) {
  Open({.begun = kFree, .quarantine = {.first_s = 0}});
  door_->connections().KeepOut("127.0.0.1:1", FrontDoor::Second());
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Descriptor> back;
  for (int i = 0; i < 20; ++i) back.push_back(Connect());
  EXPECT_TRUE(WaitFor([&] { return taken() == 20; }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(19 * 10));
}

// The reader, in gRPC's place, works long for each piece that it takes.
TEST_F(FrontDoorTest, CutsWhoHoldsAThreadThatFuses) {
  Open({});
  const Descriptor stalling = ConnectAndCall(), panel = ConnectAndCall();
  door_->connections().NoteReport(PeerOf(panel));
  std::jthread reader([this](const std::stop_token& stop) {
    CountReads();
    while (!stop.stop_requested()) ReadTakenSlowly(0);
  });
  const std::string some(8 << 10, 'a');
  EXPECT_TRUE(WaitFor([&] {
    return send(stalling.get(), some.data(), some.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ||
           Closed(stalling);
  }));
  EXPECT_EQ(Refused(ConnectionFault::kStall), 1u);
  EXPECT_FALSE(Closed(panel));
  EXPECT_TRUE(
      WaitFor([&] { return door_->connections().IsQuarantined("127.0.0.1:1", FrontDoor::Second()); }));
}

// gRPC begins to read when it is given a connection.
TEST_F(FrontDoorTest, WhoHoldsTheDoorItselfComesInSlowly) {
  Open({.begun = kFree}, [this](int fd) {
    Take(fd);
    ReadTakenSlowly(taken() - 1);
  });
  std::vector<Descriptor> flood;
  for (int i = 0; i < 100; ++i) flood.push_back(Connect());
  EXPECT_TRUE(WaitFor([&] { return !door_->connections().MayBegin("127.0.0.1", FrontDoor::Second()); }));
  EXPECT_GT(taken(), 0u);
  EXPECT_LT(taken(), 40u) << "of two seconds at the most";
  flood.clear();
  EXPECT_TRUE(WaitFor([&] { return Refused(ConnectionFault::kGaveUp) > 0; }));
}

// A pause of the process lets dead connections pile up.
TEST_F(FrontDoorTest, WhoHasGoneBeforeItWasTakenInCountsForNobody) {
  Open({.silent_of_address = 4, .silent_cuts = 1});
  for (int i = 0; i < 20; ++i) {
    const Descriptor gone = ConnectSilently();
    shutdown(gone.get(), SHUT_RDWR);
  }
  const Descriptor next = Connect();
  EXPECT_TRUE(WaitFor([&] { return taken() == 1; }));
  EXPECT_FALSE(door_->connections().IsQuarantined("127.0.0.1:1", FrontDoor::Second()));
}

}  // namespace
}  // namespace tributary::server
