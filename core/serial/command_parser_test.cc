#include "core/serial/command_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace tributary::serial {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;

class CommandParserTest : public ::testing::Test {
 protected:
  // All that comes of these bytes, a tenth of a millisecond apart.
  std::vector<Parsed> Take(const std::string& bytes) {
    std::vector<Parsed> all;
    for (const char byte : bytes) {
      now_ns_ += kMs / 10;
      if (auto parsed = parser_.Take(byte, now_ns_)) all.push_back(*std::move(parsed));
    }
    return all;
  }
  // The one fault of these bytes.
  Fault FaultOf(const std::string& bytes) {
    const std::vector<Parsed> all = Take(bytes);
    if (all.size() != 1 || !std::holds_alternative<Fault>(all[0])) {
      ADD_FAILURE() << all.size() << " of " << bytes;
      return {};
    }
    return std::get<Fault>(all[0]);
  }
  template <class Kind>
  Kind CommandOf(const std::string& bytes) {
    const std::vector<Parsed> all = Take(bytes);
    if (all.size() != 1 || !std::holds_alternative<Command>(all[0])) {
      ADD_FAILURE() << all.size() << " of " << bytes;
      return {};
    }
    return std::get<Kind>(std::get<Command>(all[0]));
  }

  std::int64_t now_ns_ = 0;
  CommandParser parser_{1000 * kMs};
};

TEST_F(CommandParserTest, ReadsWhatItsWriterWrites) {
  std::mt19937 random(1);
  const auto word = [&](Word least, Word most) {
    return std::uniform_int_distribution<Word>(least, most)(random);
  };
  for (int i = 0; i < 50; ++i) {
    SetLayer set{static_cast<std::size_t>(i % 2 + 1), {}};
    set.weights.resize(kLayerWeights[set.layer - 1]);
    for (Word& each : set.weights) each = word(kLeastWeight, kMostWeight);
    const auto layer = CommandOf<SetLayer>(CommandText(set));
    EXPECT_EQ(layer.layer, set.layer);
    EXPECT_EQ(layer.weights, set.weights);
    Compute compute{std::vector<Inputs>(static_cast<std::size_t>(word(1, 15)))};
    for (Inputs& each : compute.inputs) {
      for (Word& value : each) value = word(kLeastValue, kMostValue);
    }
    EXPECT_EQ(CommandOf<Compute>(CommandText(compute)).inputs, compute.inputs);
    Retrain retrain{std::vector<Sample>(static_cast<std::size_t>(word(1, 200)))};
    for (Sample& each : retrain.samples) each = {{word(-9, 9), -1024, 1023}, {word(-9, 9), 0}};
    EXPECT_EQ(CommandOf<Retrain>(CommandText(retrain)).samples, retrain.samples);
  }
  CommandOf<AskVersion>("?");
}

TEST_F(CommandParserTest, TakesTheFormatsOfTheReport) {
  EXPECT_EQ(CommandOf<Compute>("2\n 1, 2, 3\n -4, -5, -6\n").inputs,
            (std::vector<Inputs>{{1, 2, 3}, {-4, -5, -6}}));
  EXPECT_EQ(CommandOf<Compute>("\r\n1\r\n0,0,1023\r\n").inputs, (std::vector<Inputs>{{0, 0, 1023}}));
  EXPECT_EQ(CommandOf<Retrain>("0 1 1,2,3,4,5\n").samples, (std::vector<Sample>{{{1, 2, 3}, {4, 5}}}));
}

TEST_F(CommandParserTest, NamesThePositionOfWhatIsOutOfRange) {
  const Fault fault = FaultOf("2\n1,2,3\n4,1024,6\n");
  EXPECT_EQ(fault.kind, FaultKind::kRange);
  EXPECT_EQ(fault.position, 5U);
  EXPECT_EQ(fault.what, "a value is 1024, it must be from -1024 to 1023");
  now_ns_ += 200 * kMs;
  EXPECT_EQ(FaultOf("16\n").position, 0U);
  now_ns_ += 200 * kMs;
  EXPECT_EQ(FaultOf("-3\n").what, "a command word is -3, it must be from -2 to 15");
  now_ns_ += 200 * kMs;
  EXPECT_THAT(FaultOf("0\n0\n").what, HasSubstr("a number of samples is 0"));
  now_ns_ += 200 * kMs;
  EXPECT_EQ(FaultOf("-1\n1 2 32768\n").position, 3U);
  now_ns_ += 200 * kMs;
  EXPECT_EQ(FaultOf("0\n4097\n").position, 1U);
}

TEST_F(CommandParserTest, RefusesIntegersBeyond32Bits) {
  for (const std::string number : {"99999999999", "2147483648", "-2147483649", "000000000000000000001"}) {
    EXPECT_EQ(FaultOf(number + "\n").what, "a number of more than 32 bits") << number;
    now_ns_ += 200 * kMs;
  }
  EXPECT_EQ(FaultOf("1 - 2 3").what, "a sign without a number");
}

TEST_F(CommandParserTest, FindsTheNextCommandAfterNoiseWhenTheLineWasQuiet) {
  EXPECT_EQ(FaultOf("1\n1,\x93,3\n5\n").what, "byte 0x93 belongs to no number");
  EXPECT_TRUE(Take("2\n1,2,3\n4,5,6\n").empty()) << "the line has not been quiet";
  EXPECT_GT(parser_.ignored_bytes(), 0U);
  now_ns_ += 100 * kMs;
  EXPECT_EQ(CommandOf<Compute>("1\n1,2,3\n").inputs.size(), 1U);
}

TEST_F(CommandParserTest, FindsTheNextCommandAfterAnEmptyLine) {
  FaultOf("1\n1,x,3\n");
  EXPECT_EQ(CommandOf<Compute>("\n1\n1,2,3\n").inputs.size(), 1U);
}

TEST_F(CommandParserTest, GivesUpACommandThatStops) {
  EXPECT_TRUE(Take("-1\n1 2 3 4").empty());
  EXPECT_FALSE(parser_.Idle(now_ns_ + 999 * kMs));
  const auto fault = parser_.Idle(now_ns_ + 1000 * kMs);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kTimeout);
  EXPECT_EQ(fault->position, 4U);
  EXPECT_EQ(fault->what, "nothing for 1000 ms, 4 of 41 numbers are here");
  now_ns_ += 1001 * kMs;
  EXPECT_EQ(CommandOf<Compute>("1 1 2 3\n").inputs.size(), 1U) << "at once: the line is quiet";
  EXPECT_FALSE(parser_.Idle(now_ns_ + 5000 * kMs)) << "nothing is under way";
}

}  // namespace
}  // namespace tributary::serial
