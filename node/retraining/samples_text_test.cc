#include "node/retraining/samples_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tributary::retraining {
namespace {

using ::testing::HasSubstr;

TEST(SamplesTextTest, ReadsTimeRangesAndPosition) {
  const auto sample = ParseSample("1660556544766000000,3.98,0.97,4.1e0,-1.5,2\r");
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(sample->unix_ns, 1'660'556'544'766'000'000);
  EXPECT_EQ(sample->ranges_m, (nn::BeaconInputs{3.98, 0.97, 4.1}));
  EXPECT_EQ(sample->position_m, (nn::BeaconOutputs{-1.5, 2}));
}

TEST(SamplesTextTest, SkipsEmptyLinesAndNeedsNoLastLineEnd) {
  const auto samples = ParseSamples("1,1,2,3,4,5\n\n\r\n2,1,2,3,4,5");
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_EQ(samples->size(), 2u);
  EXPECT_EQ(samples->back().unix_ns, 2);
  EXPECT_TRUE(ParseSamples("")->empty());
}

TEST(SamplesTextTest, SaysWhereALineIsWrong) {
  struct Case {
    const char* line;
    const char* said;
  };
  for (const Case& each : {
           Case{"1,2,3,4,5", "expected unix_ns,range,range,range,x,y, found 5 fields"},
           Case{"1,2,3,4,5,6,7", "found 7 fields"},
           Case{"", "found 1 fields"},
           Case{"-1,2,3,4,5,6", "column 1 (unix_ns): expected nanoseconds since 1970, found \"-1\""},
           Case{"99999999999999999999,2,3,4,5,6", "column 1 (unix_ns)"},
           Case{"1,2,nan,4,5,6", "column 3 (range): expected a number in m, found \"nan\""},
           Case{"1,2,3,4,5,6 ", "column 6 (y): expected a number in m, found \"6 \""},
           Case{"1,2,3,4,1e999,6", "column 5 (x)"},
           Case{"1,,3,4,5,6", "column 2 (range)"},
       }) {
    const auto sample = ParseSample(each.line);
    EXPECT_EQ(sample.status().code(), absl::StatusCode::kInvalidArgument) << each.line;
    EXPECT_THAT(std::string(sample.status().message()), HasSubstr(each.said));
  }
  EXPECT_THAT(std::string(ParseSamples("1,1,2,3,4,5\n1,1,2,x,4,5\n").status().message()),
              HasSubstr("line 2, column 4 (range)"));
  EXPECT_LT(ParseSample(std::string(100'000, 'x')).status().message().size(), 200u);
}

}  // namespace
}  // namespace tributary::retraining
