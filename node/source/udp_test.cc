#include "node/source/udp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tributary::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr estimate::Epoch kNow = 100'000;
constexpr std::int64_t kNowNs = estimate::SlotLength().StartNs(kNow);

constexpr std::int64_t kLatestNs = std::numeric_limits<std::int64_t>::max();

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

UdpFragment Fragment(estimate::Epoch epoch, std::uint32_t subject, std::uint16_t first = 0,
                     std::uint16_t count = 4) {
  return {.panel = 3,
          .epoch = epoch,
          .captured_unix_ns = std::min(estimate::SlotLength().StartNs(epoch), kLatestNs - 77) + 77,
          .subject = subject,
          .subjects = 2,
          .width = 4,
          .first = first,
          .count = count,
          .payload = {}};
}

// Features are subject · 10 + index.
std::string Datagram(UdpFragment fragment) {
  std::vector<float> features;
  for (std::uint16_t i = 0; i < fragment.count; ++i) {
    features.push_back(static_cast<float>(fragment.subject * 10 + fragment.first + i));
  }
  return EncodeUdpFragment(fragment, features);
}

class UdpAssemblerTest : public testing::Test {
 protected:
  // Why it was not used; empty if it was.
  std::string Add(const UdpFragment& fragment) { return Add(Datagram(fragment)); }
  std::string Add(const std::string& datagram) {
    const std::optional<UdpRefusal> refusal = assembler_.Add(Bytes(datagram), kNowNs);
    return refusal ? std::string(UdpFaultName(refusal->fault)) : "";
  }

  UdpAssembler assembler_{{.panel = 3, .width = 4, .max_subjects = 2}};
  SensorFrame frame_;
};

TEST(UdpDatagramTest, IsReadBack) {
  for (const UdpEncoding encoding : {UdpEncoding::kFloat32, UdpEncoding::kInt16}) {
    UdpFragment fragment = Fragment(kNow, 5, 1, 3);
    fragment.encoding = encoding;
    fragment.scale = 0.5f;
    const std::string datagram = Datagram(fragment);
    EXPECT_EQ(datagram.size(), kUdpHeaderBytes + 3 * (encoding == UdpEncoding::kInt16 ? 2 : 4));
    const auto result = DecodeUdpFragment(Bytes(datagram));
    ASSERT_TRUE(std::holds_alternative<UdpFragment>(result));
    const auto* decoded = &std::get<UdpFragment>(result);
    EXPECT_EQ(decoded->epoch, kNow);
    EXPECT_EQ(decoded->captured_unix_ns, kNowNs + 77);
    EXPECT_EQ(decoded->subject, 5);
    float features[3];
    EXPECT_TRUE(decoded->CopyFeatures(features));
    EXPECT_THAT(features, ElementsAre(51, 52, 53));
  }
}

TEST(UdpDatagramTest, RefusesEachFieldThatIsWrong) {
  const std::string good = Datagram(Fragment(kNow, 5));
  const auto error = [&](std::size_t offset, char value) {
    std::string bad = good;
    bad[offset] = value;
    const auto result = DecodeUdpFragment(Bytes(bad));
    const auto* refusal = std::get_if<UdpRefusal>(&result);
    return refusal == nullptr ? "" : std::string(UdpFaultName(refusal->fault)) + ": " + refusal->message;
  };
  EXPECT_THAT(error(0, 'X'), HasSubstr("magic: found 58 52 42 43, expected 54 52 42 43"));
  EXPECT_THAT(error(4, 2), HasSubstr("version: found 2, expected 1"));
  EXPECT_THAT(error(5, 2), HasSubstr("encoding: found 2"));
  EXPECT_THAT(error(28, 0), HasSubstr("subjects: found 0"));
  EXPECT_THAT(error(32, 1), HasSubstr("size: features 1 to 5 of 4"));
  EXPECT_THAT(error(34, 0), HasSubstr("size: count is 0"));
  EXPECT_THAT(error(34, 3), HasSubstr("size: payload of 16 bytes"));
  EXPECT_THAT(error(39, static_cast<char>(0xBF)), HasSubstr("scale"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_TRUE(std::holds_alternative<UdpRefusal>(DecodeUdpFragment(Bytes(good).first(size)))) << size;
  }
}

TEST_F(UdpAssemblerTest, PutsFragmentsInAnyOrderTogether) {
  Add(Fragment(kNow, 8, 2, 2));
  Add(Fragment(kNow, 7));
  EXPECT_FALSE(assembler_.Take(frame_));
  Add(Fragment(kNow, 8, 0, 2));
  ASSERT_TRUE(assembler_.Take(frame_));
  EXPECT_EQ(frame_.epoch, kNow);
  EXPECT_EQ(frame_.captured_unix_ns, kNowNs + 77);
  EXPECT_THAT(frame_.subjects, ElementsAre(8, 7));
  EXPECT_THAT(frame_.features, ElementsAre(80, 81, 82, 83, 70, 71, 72, 73));
}

TEST_F(UdpAssemblerTest, NewerSlotGivesOutTheOlderWithWhatIsComplete) {
  Add(Fragment(kNow, 7));
  Add(Fragment(kNow, 8, 0, 3));
  Add(Fragment(kNow + 1, 7));
  Add(Fragment(kNow + 1, 8));
  ASSERT_TRUE(assembler_.Take(frame_));
  EXPECT_EQ(frame_.epoch, kNow);
  EXPECT_THAT(frame_.subjects, ElementsAre(7));
  ASSERT_TRUE(assembler_.Take(frame_));
  EXPECT_EQ(frame_.epoch, kNow + 1);
  EXPECT_EQ(assembler_.TakeLosses().lost_subjects, 1);
  EXPECT_EQ(Add(Fragment(kNow, 8, 3, 1)), "late");
}

TEST_F(UdpAssemblerTest, HoldsABoundedNumberOfSlots) {
  for (estimate::Epoch i = 0; i < 100; ++i) Add(Fragment(kNow + i, 7, 0, 1));
  EXPECT_FALSE(assembler_.Take(frame_));
  EXPECT_EQ(assembler_.TakeLosses().lost_slots, 100 - UdpAssembler::kOpenSlots);
  EXPECT_EQ(Add(Fragment(kNow + 90, 7, 1, 1)), "late");
}

TEST_F(UdpAssemblerTest, SaysWhyItCannotUseADatagram) {
  EXPECT_EQ(Add("noise"), "header");
  EXPECT_EQ(Add(Fragment(kNow, 7)), "");
  EXPECT_EQ(Add(Fragment(kNow, 7)), "duplicate");
  UdpFragment other = Fragment(kNow, 7);
  other.panel = 4;
  other.width = 5;
  EXPECT_EQ(Add(other), "panel") << "it may have another model";
  EXPECT_EQ(Add(Fragment(kNow + estimate::SlotLength().SlotsIn(UdpAssembler::kMaxDistanceNs) + 1, 7)),
            "epoch");
  EXPECT_EQ(Add(Fragment(std::numeric_limits<estimate::Epoch>::max(), 7)), "epoch");
  UdpFragment many = Fragment(kNow, 7);
  many.subjects = 3;
  EXPECT_EQ(Add(many), "subjects");
  many.subjects = 1;
  EXPECT_EQ(Add(many), "subjects") << "the slot's first datagram said 2";
  UdpFragment wide = Fragment(kNow, 9);
  wide.width = 5;
  EXPECT_EQ(Add(wide), "width");
  const std::vector<float> nan(4, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(Add(EncodeUdpFragment(Fragment(kNow, 8), nan)), "not_finite");
  EXPECT_EQ(Add(Fragment(kNow, 9)), "subjects") << "a third where two were announced: 8 has been seen";
}

TEST_F(UdpAssemblerTest, RefusesACaptureFarFromItsSlot) {
  const auto captured = [&](std::int64_t unix_ns) {
    UdpFragment fragment = Fragment(kNow, 7);
    fragment.captured_unix_ns = unix_ns;
    return Add(fragment);
  };
  const std::int64_t end_ns = estimate::SlotLength().EndNs(kNow);
  for (const std::int64_t hostile :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0},
        kNowNs - UdpAssembler::kMaxDistanceNs - 1, end_ns + UdpAssembler::kMaxDistanceNs,
        std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(captured(hostile), "captured") << hostile;
  }
  EXPECT_EQ(captured(kNowNs - UdpAssembler::kMaxDistanceNs), "");
  EXPECT_EQ(captured(end_ns + UdpAssembler::kMaxDistanceNs - 1), "duplicate") << "its time is good";
}

class UdpReportTest : public testing::Test {
 protected:
  void Lose(UdpFault fault, const std::string& message) {
    report_.Note({fault, message}, [this] {
      ++senders_asked_;
      return "10.0.0.9 port 5000";
    });
    UdpCounters unused;
    unused.of(fault) = 1;
    report_.Add(unused, now_ns_);
  }
  std::string SaidAfter(std::int64_t ns) {
    now_ns_ += ns;
    return now_ns_ >= report_.due_ns() ? report_.Take(now_ns_) : "";
  }

  UdpReport report_;
  std::int64_t now_ns_ = 77;
  int senders_asked_ = 0;
};

TEST_F(UdpReportTest, SaysEachReasonOnceWithItsCountAndAnExample) {
  EXPECT_EQ(report_.due_ns(), UdpReport::kNever);
  for (int i = 0; i < 100; ++i)
    Lose(UdpFault::kWidth, "found " + std::to_string(512 + i) + ", expected 1024");
  for (int i = 0; i < 450; ++i) Lose(UdpFault::kSender, "front_end is 10.0.0.2");
  EXPECT_EQ(SaidAfter(UdpReport::kFirstNs),
            "550 datagrams in the last 1.0 s not used: "
            "450 sender (front_end is 10.0.0.2, from 10.0.0.9 port 5000), "
            "100 width (found 512, expected 1024, from 10.0.0.9 port 5000)");
  EXPECT_EQ(senders_asked_, 2);
}

TEST_F(UdpReportTest, SaysASingleLossInTheSingular) {
  Lose(UdpFault::kMagic, "found");
  report_.Add({.lost_subjects = 1, .kernel_drops = 1}, now_ns_);
  EXPECT_EQ(SaidAfter(UdpReport::kFirstNs),
            "1 datagram in the last 1.0 s not used: 1 magic (found, from 10.0.0.9 port 5000); "
            "1 datagram dropped by the kernel: the panel is too slow; "
            "1 subject incomplete when the slot was handed on");
}

TEST_F(UdpReportTest, WritesOneLineInTenSecondsAtMostAndLosesNoCount) {
  Lose(UdpFault::kMagic, "first");
  ASSERT_THAT(SaidAfter(UdpReport::kFirstNs), HasSubstr("1 magic (first"));
  for (int i = 0; i < 9; ++i) {
    Lose(UdpFault::kMagic, "again");
    EXPECT_EQ(SaidAfter(1'000'000'000), "");
  }
  EXPECT_THAT(SaidAfter(1'000'000'000), HasSubstr("9 magic (again"));
  EXPECT_EQ(report_.due_ns(), UdpReport::kNever) << "nothing was lost since";
}

TEST_F(UdpReportTest, SaysWhatTheKernelDroppedAndWhatStayedIncomplete) {
  report_.Add({.lost_subjects = 3, .kernel_drops = 12}, now_ns_);
  const std::string said = SaidAfter(UdpReport::kFirstNs);
  EXPECT_THAT(said, HasSubstr("12 datagrams dropped by the kernel"));
  EXPECT_THAT(said, HasSubstr("3 subjects incomplete"));
}

// In a slot of a minute, five seconds from the clock is a matter of time, not of epochs.
TEST(UdpWindowTest, JudgesASlotByItsTime) {
  const estimate::SlotLength minute = *estimate::SlotLength::FromMs(60'000);
  const estimate::Epoch now = 28'000'000;
  const auto taken = [&](estimate::Epoch epoch, std::int64_t after_start_ns) {
    UdpAssembler assembler({.panel = 3, .width = 4, .max_subjects = 2, .slot = minute});
    UdpFragment fragment = Fragment(epoch, 7);
    fragment.captured_unix_ns = minute.StartNs(epoch);
    return !assembler.Add(Bytes(Datagram(fragment)), minute.StartNs(now) + after_start_ns);
  };
  EXPECT_TRUE(taken(now, 59'000'000'000)) << "the slot began 59 s ago and lasts";
  EXPECT_TRUE(taken(now - 1, 4'999'999'999));
  EXPECT_FALSE(taken(now - 1, 5'000'000'000)) << "ended 5 s ago";
  EXPECT_TRUE(taken(now + 1, 55'000'000'000));
  EXPECT_FALSE(taken(now + 1, 54'999'999'999)) << "begins in more than 5 s";
  for (const estimate::Epoch hostile :
       {estimate::Epoch{0}, estimate::Epoch{1} << 60, std::numeric_limits<estimate::Epoch>::max()}) {
    EXPECT_FALSE(taken(hostile, 0)) << hostile;
  }
}

class UdpSourceTest : public testing::Test {
 protected:
  void Send(std::uint16_t port, const std::string& datagram) {
    const int sender = socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sendto(sender, datagram.data(), datagram.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
    close(sender);
  }

  runtime::ManualClock clock_{kNowNs};
  SensorFrame frame_;
};

TEST_F(UdpSourceTest, ReceivesASlotOverLoopback) {
  auto source = CreateUdp({.assembler = {.panel = 3, .width = 4, .max_subjects = 2}}, clock_);
  ASSERT_TRUE(source.ok()) << source.status();
  Send((*source)->udp_account()->port(), "noise");
  Send((*source)->udp_account()->port(), Datagram(Fragment(kNow, 7)));
  Send((*source)->udp_account()->port(), Datagram(Fragment(kNow, 8)));
  ASSERT_TRUE((*source)->Next({}, frame_).ok());
  EXPECT_THAT(frame_.subjects, ElementsAre(7, 8));
  UdpCounters counters = (*source)->udp_account()->counters();
  EXPECT_EQ(counters.datagrams, 3);
  EXPECT_EQ(counters.of(UdpFault::kHeader), 1);
  EXPECT_EQ(counters.all_unused(), 1);
}

TEST_F(UdpSourceTest, ListensToItsFrontEndOnly) {
  // Loopback senders are 127.0.0.1.
  auto closed = CreateUdp({.front_end = "127.0.0.2", .assembler = {.panel = 3, .width = 4}}, clock_);
  ASSERT_TRUE(closed.ok()) << closed.status();
  Send((*closed)->udp_account()->port(), Datagram(Fragment(kNow, 7)));
  std::stop_source stop;
  std::jthread reader([&] {
    SensorFrame frame;
    EXPECT_EQ((*closed)->Next(stop.get_token(), frame).code(), absl::StatusCode::kCancelled);
  });
  // Another thread reads it while the panel's waits for a frame.
  const auto account = (*closed)->udp_account();
  while (account->counters().of(UdpFault::kSender) == 0) std::this_thread::yield();
  stop.request_stop();
  reader.join();
  EXPECT_EQ(account->counters().all_unused(), 1);
  closed->reset();
  EXPECT_EQ(account->counters().of(UdpFault::kSender), 1) << "the counts outlive the source";
}

// A receive buffer overflows when nobody reads.
TEST_F(UdpSourceTest, CountsWhatTheKernelDropped) {
  auto source = CreateUdp({.assembler = {.panel = 3, .width = 4, .max_subjects = 2}}, clock_);
  ASSERT_TRUE(source.ok()) << source.status();
  const std::string noise(32'000, 'x');
  constexpr int kSent = 2'000;  // 64 MB, where 4 MiB were asked for
  for (int i = 0; i < kSent; ++i) Send((*source)->udp_account()->port(), noise);
  std::stop_source stop;
  std::jthread reader([&] {
    SensorFrame frame;
    EXPECT_EQ((*source)->Next(stop.get_token(), frame).code(), absl::StatusCode::kCancelled);
  });
  // The kernel tells with the next datagram that finds room.
  const auto account = (*source)->udp_account();
  while (account->counters().kernel_drops == 0) Send((*source)->udp_account()->port(), "x");
  stop.request_stop();
  reader.join();
  UdpCounters counters = account->counters();
  EXPECT_GE(counters.kernel_drops + counters.of(UdpFault::kMagic), kSent);
}

TEST_F(UdpSourceTest, RefusesAddressesThatAreNotNumeric) {
  EXPECT_EQ(CreateUdp({.address = "localhost"}, clock_).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CreateUdp({.front_end = "panel"}, clock_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::source
