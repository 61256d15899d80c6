// The fusion block against its golden model.
#include <bit>
#include <cmath>
#include <deque>
#include <iostream>
#include <limits>
#include <random>

#include "Vfusion.h"
#include "fpga/model/fusion_model.h"
#include "fpga/tb/common/clock.h"
#include "fpga/tb/common/coverage.h"
#include "fpga/tb/common/stream.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

// For four panels. [LIS], table 7.1, has 160 and 283.
constexpr std::uint64_t kInterval = 145;
constexpr std::uint64_t kLatency = 158;

using Words = std::array<std::uint64_t, 3>;

std::uint64_t Pair(float low, float high) {
  return static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(high)) << 32 |
         std::bit_cast<std::uint32_t>(low);
}

Words WordsOf(const FusionTuple& tuple) {
  return {Pair(tuple.x, tuple.y), Pair(tuple.l11, tuple.l21), Pair(tuple.l22, 0.0f)};
}

class FusionTest : public testing::Test {
 protected:
  FusionTest() : random_(40), in_(41, 100), out_(42, 100) {
    clock_->cfg_panels_i = 4;
    clock_->cfg_softplus_i = 0;
    clock_.Reset();
  }

  // Call only while nothing is inside.
  void Configure(unsigned panels, bool raw) {
    clock_->cfg_panels_i = panels;
    clock_->cfg_softplus_i = raw;
    raw_ = raw;
  }

  void Offer(const std::vector<FusionTuple>& panels) {
    for (const FusionTuple& tuple : panels) {
      Words words = WordsOf(tuple);
      words[2] |= static_cast<std::uint64_t>(random_()) << 32;  // the padding is not looked at
      for (const std::uint64_t word : words) in_.Push(word);
    }
    expected_.push_back(WordsOf(Fuse(panels, raw_)));
  }

  void Drain() {
    while (!expected_.empty() && clock_.Running()) Cycle();
  }

  void Cycle() {
    in_.Drive();
    out_.Drive();
    clock_->in_data_i = in_.word();
    clock_->in_valid_i = in_.valid();
    clock_->out_ready_i = out_.ready();
    clock_.Settle();
    if (in_.Sample(clock_->in_ready_o)) first_in_ = first_in_ == 0 ? clock_.cycle() : first_in_;
    in_waited_ += in_.valid() && !clock_->in_ready_o;
    out_waited_ += clock_->out_valid_o && !out_.ready();
    if (out_.Sample(clock_->out_valid_o, clock_->out_data_o) && out_.words().size() == 3) Compare();
    clock_.Edge();
  }

  void Compare() {
    const std::vector<std::uint64_t> words = out_.Take();
    ASSERT_FALSE(expected_.empty());
    const Words& expected = expected_.front();
    if (!std::equal(words.begin(), words.end(), expected.begin()) && ++failures_ <= 3) {
      ADD_FAILURE() << "fusion " << compared_ << std::hex << ": " << testing::PrintToString(words)
                    << ", expected " << testing::PrintToString(expected);
    }
    refused_ +=
        expected[0] == Pair(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN());
    ++compared_;
    out_cycles_.push_back(clock_.cycle());
    expected_.pop_front();
  }

  // 10^low … 10^high
  float Magnitude(double low, double high) {
    return static_cast<float>(std::pow(10.0, std::uniform_real_distribution<double>(low, high)(random_)));
  }
  float Between(float low, float high) { return std::uniform_real_distribution<float>(low, high)(random_); }
  float Signed(float magnitude) { return random_() % 2 != 0 ? magnitude : -magnitude; }

  // Covariances from 1e-5 to 1e3 m² ([LIS], figure 5.1).
  FusionTuple Ordinary() {
    const float l11 = raw_ ? Between(-6, 30) : Magnitude(-2.5, 1.5);
    const float l22 = raw_ ? Between(-6, 30) : Magnitude(-2.5, 1.5);
    return {Between(-10, 10), Between(-10, 10), l11, Signed(Magnitude(-2.5, 1.5)), l22};
  }

  // Any value of single precision, with a preference for the ends of the range.
  float Any() {
    constexpr float kEnds[] = {0.0f,   -0.0f,           1.0f,      -1.0f,    31.99999f, 32.0f,
                               -32.0f, 1.17549435e-38f, 3.4e38f,   -3.4e38f, 1e-45f,    2.0f,
                               0.5f,   1.9999999f,      -0.03125f, 16.0f,    4.0f};
    if (random_() % 3 == 0) return kEnds[random_() % std::size(kEnds)];
    return std::bit_cast<float>(static_cast<std::uint32_t>(random_()));
  }
  float AnyPositive() { return std::abs(Any()); }
  FusionTuple Corner() {
    const bool keep_positive = random_() % 4 != 0;
    return {Any(), Any(), keep_positive ? AnyPositive() : Any(), Any(),
            keep_positive ? AnyPositive() : Any()};
  }

  std::mt19937 random_;
  Clock<Vfusion> clock_;
  StreamSource in_;
  StreamSink out_;
  bool raw_ = false;
  std::deque<Words> expected_;
  std::uint64_t compared_ = 0, refused_ = 0, in_waited_ = 0, out_waited_ = 0, first_in_ = 0;
  std::vector<std::uint64_t> out_cycles_;
  int failures_ = 0;
};

TEST_F(FusionTest, MatchesTheGoldenModelUnderRandomBackPressure) {
  Coverage coverage;
  std::uint64_t& compared = coverage.Point("fusions compared", 10'000);
  std::uint64_t& refused = coverage.Point("results that are not a number", 200);
  std::uint64_t& corners = coverage.Point("corner cases", 3'000);
  std::uint64_t& equal_panels = coverage.Point("all panels alike", 300);
  std::uint64_t& raw = coverage.Point("with softplus", 4'000);
  std::uint64_t& in_waited = coverage.Point("input waits", 1'000);
  std::uint64_t& out_waited = coverage.Point("output waits", 1'000);
  std::array<std::uint64_t*, 5> by_panels = {};
  for (unsigned n = 1; n <= 4; ++n) by_panels[n] = &coverage.Point(std::to_string(n) + " panels", 1'000);
  for (int batch = 0; batch < 108 && failures_ < 10; ++batch) {
    const unsigned panels = 1 + batch % 4;
    Configure(panels, batch / 4 % 2 != 0);
    in_.set_offer_percent(20 + random_() % 81);
    out_.set_accept_percent(batch % 9 == 0 ? 2 : 30 + random_() % 71);
    for (int i = 0; i < 100; ++i) {
      std::vector<FusionTuple> tuples(panels);
      for (FusionTuple& tuple : tuples) tuple = i % 3 == 0 ? Corner() : Ordinary();
      if (i % 20 == 1) std::fill(tuples.begin(), tuples.end(), tuples[0]);
      corners += i % 3 == 0;
      equal_panels += i % 20 == 1;
      raw += raw_;
      ++*by_panels[panels];
      Offer(tuples);
    }
    Drain();
  }
  compared = compared_;
  refused = refused_;
  in_waited = in_waited_;
  out_waited = out_waited_;
}

// The first offset in a segment of the softplus whose polynomial would carry into its result if it were one
// unit larger; 0 if none does.
std::uint64_t OffsetBelowACarry(const FunctionSegment& segment) {
  constexpr std::int64_t kOnes = 0x1fff;  // the bits that are cut off
  for (std::int64_t offset = 1; offset < 1 << 17; offset += 2) {
    const std::int64_t slope = ((segment.c1 << 17) + segment.c2 * offset) >> 17;
    if (((slope * offset) & kOnes) == kOnes) return static_cast<std::uint64_t>(offset);
  }
  return 0;
}

TEST_F(FusionTest, MatchesTheGoldenModelAtTheEdgesOfTheSoftplusTable) {
  constexpr std::size_t kSegments = 512;
  Configure(1, true);
  for (std::size_t i = 0; i < kSegments; ++i) {
    for (const std::uint64_t offset : {std::uint64_t{0}, OffsetBelowACarry(FusionFunctionTable()[i])}) {
      const float z = std::ldexp(static_cast<float>(i << 17 | offset), -21);
      Offer({{1, 2, -z, 0.5f, -z}});
      Offer({{1, 2, z, 0.5f, z}});
    }
    Drain();
  }
  EXPECT_EQ(compared_, 4 * kSegments);
}

// A reset in the middle of a fusion, with a half of the next one's tuples inside.
TEST_F(FusionTest, BeginsAnewAfterAReset) {
  for (int cycles : {20, 60, 100, 140}) {
    for (std::uint64_t word = 0; word < 12 + 7; ++word) in_.Push(word);
    for (int i = 0; i < cycles; ++i) Cycle();
    ASSERT_TRUE(in_.empty());
    clock_->in_valid_i = 0;
    clock_.Reset();
    for (int i = 0; i < 5; ++i) Offer({Ordinary(), Ordinary(), Ordinary(), Ordinary()});
    Drain();
  }
  EXPECT_EQ(compared_, 4u * 5);
}

TEST_F(FusionTest, FusesFourPanelsEvery145CyclesAndAnswersWithin158) {
  Configure(4, true);
  Offer({Ordinary(), Ordinary(), Ordinary(), Ordinary()});
  Drain();
  const std::uint64_t latency = out_cycles_[0] - first_in_;
  constexpr int kFusions = 50;
  for (int i = 0; i < kFusions; ++i) Offer({Ordinary(), Ordinary(), Ordinary(), Ordinary()});
  Drain();
  ASSERT_EQ(out_cycles_.size(), 1u + kFusions);
  std::uint64_t interval = 0;
  for (std::size_t i = 2; i < out_cycles_.size(); ++i) {
    interval = std::max(interval, out_cycles_[i] - out_cycles_[i - 1]);
  }
  std::cout << "fusion: four panels every " << interval << " cycles, latency " << latency
            << " cycles from the first input word in to the last result word out\n";
  EXPECT_LE(interval, kInterval);
  EXPECT_LE(latency, kLatency);
}

}  // namespace
}  // namespace tributary::fpga
