#include "node/source/udp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <limits>
#include <stop_token>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tributary {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Epoch kNow = 100'000;
constexpr std::int64_t kNowNs = SlotLength().StartNs(kNow);

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

UdpFragment Fragment(Epoch epoch, std::uint32_t subject, std::uint16_t first = 0, std::uint16_t count = 4) {
  return {.panel = 3,
          .epoch = epoch,
          .captured_unix_ns = 77,
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
  void Add(const UdpFragment& fragment) { assembler_.Add(Bytes(Datagram(fragment)), kNowNs); }
  const UdpCounters& counters() { return assembler_.counters(); }

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
    const auto decoded = DecodeUdpFragment(Bytes(datagram));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->epoch, kNow);
    EXPECT_EQ(decoded->captured_unix_ns, 77);
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
    return std::string(DecodeUdpFragment(Bytes(bad)).status().message());
  };
  EXPECT_THAT(error(0, 'X'), HasSubstr("magic"));
  EXPECT_THAT(error(4, 2), HasSubstr("version 2"));
  EXPECT_THAT(error(5, 2), HasSubstr("encoding 2"));
  EXPECT_THAT(error(28, 0), HasSubstr("subjects"));
  EXPECT_THAT(error(32, 1), HasSubstr("features 1 to 5 of 4"));
  EXPECT_THAT(error(34, 0), HasSubstr("features"));
  EXPECT_THAT(error(34, 3), HasSubstr("payload of 16 bytes"));
  EXPECT_THAT(error(39, static_cast<char>(0xBF)), HasSubstr("scale"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(DecodeUdpFragment(Bytes(good).first(size)).ok());
  }
}

TEST_F(UdpAssemblerTest, PutsFragmentsInAnyOrderTogether) {
  Add(Fragment(kNow, 8, 2, 2));
  Add(Fragment(kNow, 7));
  EXPECT_FALSE(assembler_.Take(frame_));
  Add(Fragment(kNow, 8, 0, 2));
  ASSERT_TRUE(assembler_.Take(frame_));
  EXPECT_EQ(frame_.epoch, kNow);
  EXPECT_EQ(frame_.captured_unix_ns, 77);
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
  EXPECT_EQ(counters().lost_subjects, 1);
  Add(Fragment(kNow, 8, 3, 1));
  EXPECT_EQ(counters().late, 1);
}

TEST_F(UdpAssemblerTest, HoldsABoundedNumberOfSlots) {
  for (Epoch i = 0; i < 100; ++i) Add(Fragment(kNow + i, 7, 0, 1));
  EXPECT_FALSE(assembler_.Take(frame_));
  EXPECT_EQ(counters().lost_slots, 100 - UdpAssembler::kOpenSlots);
  Add(Fragment(kNow + 90, 7, 1, 1));
  EXPECT_EQ(counters().late, 1);
}

TEST_F(UdpAssemblerTest, CountsWhatItCannotUse) {
  Add(Fragment(kNow, 7));
  Add(Fragment(kNow, 7));
  EXPECT_EQ(counters().duplicate, 1);
  UdpFragment other = Fragment(kNow, 7);
  other.panel = 4;
  Add(other);
  EXPECT_EQ(counters().foreign, 1);
  Add(Fragment(kNow + SlotLength().SlotsIn(UdpAssembler::kMaxDistanceNs) + 1, 7));
  Add(Fragment(std::numeric_limits<Epoch>::max(), 7));
  EXPECT_EQ(counters().out_of_window, 2);
  UdpFragment many = Fragment(kNow, 7);
  many.subjects = 3;
  Add(many);
  UdpFragment wide = Fragment(kNow, 9);
  wide.width = 5;
  Add(wide);
  const std::vector<float> nan(4, std::numeric_limits<float>::quiet_NaN());
  assembler_.Add(Bytes(EncodeUdpFragment(Fragment(kNow, 8), nan)), kNowNs);
  EXPECT_EQ(counters().malformed, 3);
  Add(Fragment(kNow, 9));  // a third subject where two were announced: 8 has been seen
  EXPECT_EQ(counters().malformed, 4);
}

// In a slot of a minute, five seconds from the clock is a matter of time, not of epochs.
TEST(UdpWindowTest, JudgesASlotByItsTime) {
  const SlotLength minute = *SlotLength::FromMs(60'000);
  const Epoch now = 28'000'000;
  const auto taken = [&](Epoch epoch, std::int64_t after_start_ns) {
    UdpAssembler assembler({.panel = 3, .width = 4, .max_subjects = 2, .slot = minute});
    assembler.Add(Bytes(Datagram(Fragment(epoch, 7))), minute.StartNs(now) + after_start_ns);
    return assembler.counters().out_of_window == 0;
  };
  EXPECT_TRUE(taken(now, 59'000'000'000)) << "the slot began 59 s ago and lasts";
  EXPECT_TRUE(taken(now - 1, 4'999'999'999));
  EXPECT_FALSE(taken(now - 1, 5'000'000'000)) << "ended 5 s ago";
  EXPECT_TRUE(taken(now + 1, 55'000'000'000));
  EXPECT_FALSE(taken(now + 1, 54'999'999'999)) << "begins in more than 5 s";
  for (const Epoch hostile : {Epoch{0}, Epoch{1} << 60, std::numeric_limits<Epoch>::max()}) {
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

  ManualClock clock_{kNowNs};
  SensorFrame frame_;
};

TEST_F(UdpSourceTest, ReceivesASlotOverLoopback) {
  auto source = UdpSource::Create({.assembler = {.panel = 3, .width = 4, .max_subjects = 2}}, clock_);
  ASSERT_TRUE(source.ok()) << source.status();
  Send((*source)->port(), "noise");
  Send((*source)->port(), Datagram(Fragment(kNow, 7)));
  Send((*source)->port(), Datagram(Fragment(kNow, 8)));
  ASSERT_TRUE((*source)->Next({}, frame_).ok());
  EXPECT_THAT(frame_.subjects, ElementsAre(7, 8));
  EXPECT_EQ((*source)->counters().malformed, 1);
}

TEST_F(UdpSourceTest, ListensToItsFrontEndOnly) {
  // Loopback senders are 127.0.0.1.
  auto closed = UdpSource::Create({.front_end = "127.0.0.2", .assembler = {.panel = 3, .width = 4}}, clock_);
  ASSERT_TRUE(closed.ok()) << closed.status();
  Send((*closed)->port(), Datagram(Fragment(kNow, 7)));
  std::stop_source stop;
  std::jthread reader([&] {
    SensorFrame frame;
    EXPECT_EQ((*closed)->Next(stop.get_token(), frame).code(), absl::StatusCode::kCancelled);
  });
  stop.request_stop();
  reader.join();
  EXPECT_EQ((*closed)->counters().malformed + (*closed)->counters().lost_slots, 0);
}

TEST_F(UdpSourceTest, RefusesAddressesThatAreNotNumeric) {
  EXPECT_EQ(UdpSource::Create({.address = "localhost"}, clock_).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(UdpSource::Create({.front_end = "panel"}, clock_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary
