#include "aggregator/server/frame_scan.h"

#include <gtest/gtest.h>

#include <string>

namespace tributary::server {
namespace {

constexpr char kData = 0, kHeaders = 1, kSettings = 4, kContinuation = 9;

std::string Frame(char type, std::size_t bytes) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(bytes >> shift);
  frame += type;
  return frame + std::string(5, '\0') + std::string(bytes, 'a');
}

class FrameScanTest : public ::testing::Test {
 protected:
  FrameScanTest() { EXPECT_TRUE(Read(std::string(kHttp2Preface) + Frame(kSettings, 0))); }

  bool Read(const std::string& bytes) {
    return scan_.Read({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}) ==
           FrameScan::Fault::kNone;
  }
  bool ReadTimes(std::size_t times, const std::string& bytes) {
    bool good = true;
    for (std::size_t i = 0; i < times; ++i) good = Read(bytes);
    return good;
  }

  FrameScan scan_;
};

TEST_F(FrameScanTest, TellsHowMuchOfAMessageIsLeft) {
  EXPECT_EQ(scan_.message_bytes_left(), 0u);
  const std::string data = Frame(kData, 1'000);
  EXPECT_TRUE(Read(data.substr(0, 8)));
  EXPECT_EQ(scan_.message_bytes_left(), 0u) << "its header is not whole";
  EXPECT_TRUE(Read(data.substr(8, 101)));
  EXPECT_EQ(scan_.message_bytes_left(), 900u);
  EXPECT_TRUE(Read(data.substr(109) + data.substr(0, 9)));
  EXPECT_EQ(scan_.message_bytes_left(), 1'000u);
  EXPECT_TRUE(Read(data.substr(9) + Frame(kSettings, 6).substr(0, 9)));
  EXPECT_EQ(scan_.message_bytes_left(), 0u) << "of settings";
}

TEST_F(FrameScanTest, BoundsNeitherMessagesNorTheNumberOfHeaders) {
  EXPECT_TRUE(ReadTimes(100, Frame(kHeaders, 300) + Frame(kData, 16'384)));
  EXPECT_EQ(scan_.headers(), 100u);
}

TEST_F(FrameScanTest, BoundsTheHeadersThatComeAtOnce) {
  std::string most;
  for (std::size_t i = 0; i < FrameScan::kMostHeadersAtOnce; ++i) most += Frame(kHeaders, 2);
  EXPECT_TRUE(Read(most));
  EXPECT_TRUE(Read(most)) << "later";
  const std::string more = most + Frame(kHeaders, 2);
  EXPECT_EQ(scan_.Read({reinterpret_cast<const std::uint8_t*>(more.data()), more.size()}),
            FrameScan::Fault::kCrowd);
  EXPECT_FALSE(Read(Frame(kHeaders, 2))) << "for good";
}

TEST_F(FrameScanTest, BoundsAHeaderInOneFrame) {
  EXPECT_TRUE(Read(Frame(kHeaders, FrameScan::kMostHeaderBytes)));
  EXPECT_FALSE(Read(Frame(kHeaders, FrameScan::kMostHeaderBytes + 1).substr(0, 9)))
      << "before its bytes come";
}

TEST_F(FrameScanTest, BoundsAHeaderInSeveralFrames) {
  EXPECT_TRUE(Read(Frame(kHeaders, 10'000) + Frame(kContinuation, FrameScan::kMostHeaderBytes - 10'000)));
  EXPECT_TRUE(Read(Frame(kHeaders, 10'000))) << "another one";
  EXPECT_FALSE(Read(Frame(kContinuation, FrameScan::kMostHeaderBytes - 9'999)));
  EXPECT_FALSE(Read(Frame(kData, 1))) << "for good";
}

TEST_F(FrameScanTest, BoundsTheFramesOfAHeader) {
  EXPECT_TRUE(Read(Frame(kHeaders, 1)));
  EXPECT_TRUE(ReadTimes(FrameScan::kMostHeaderFrames - 1, Frame(kContinuation, 1)));
  EXPECT_FALSE(Read(Frame(kContinuation, 0)));
}

}  // namespace
}  // namespace tributary::server
