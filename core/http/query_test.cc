#include "core/http/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HttpRequest Asked(const std::string& query) { return *ParseHttpTarget("/page?" + query); }

TEST(QueryTest, AnAbsentParameterHasItsDefault) {
  const HttpRequest nothing = Asked("");
  EXPECT_EQ(*IntegerParameter(nothing, "limit", 100, 1, 1000), 100u);
  EXPECT_EQ(*NumberParameter(nothing, "rate_hz", 10, 0.01, 50), 10);
  EXPECT_FALSE(*FlagParameter(nothing, "truth"));
  EXPECT_TRUE(NumbersParameter(nothing, "subjects")->empty());
}

TEST(QueryTest, ReadsWhatIsAllowed) {
  EXPECT_EQ(*IntegerParameter(Asked("limit=1000"), "limit", 100, 1, 1000), 1000u);
  EXPECT_EQ(*NumberParameter(Asked("rate_hz=2.5"), "rate_hz", 10, 0.01, 50), 2.5);
  EXPECT_TRUE(*FlagParameter(Asked("truth=true"), "truth"));
  EXPECT_FALSE(*FlagParameter(Asked("truth=false"), "truth"));
  EXPECT_THAT(*NumbersParameter(Asked("subjects=3,0,4294967295"), "subjects"),
              ElementsAre(3u, 0u, 4294967295u));
}

TEST(QueryTest, RefusesAllElseAndNamesTheParameter) {
  for (const char* bad : {"0", "1001", "-1", "", "1.5", "1e2", "99999999999999999999999", "x"}) {
    const auto value = IntegerParameter(Asked(std::string("limit=") + bad), "limit", 100, 1, 1000);
    ASSERT_FALSE(value.ok()) << bad;
    EXPECT_THAT(std::string(value.status().message()),
                HasSubstr("limit: expected an integer from 1 to 1000"));
  }
  for (const char* bad : {"0", "51", "nan", "inf", "", "ten"}) {
    EXPECT_FALSE(NumberParameter(Asked(std::string("rate_hz=") + bad), "rate_hz", 10, 0.01, 50).ok()) << bad;
  }
  for (const char* bad : {"", "1", "True", "yes"}) {
    EXPECT_FALSE(FlagParameter(Asked(std::string("truth=") + bad), "truth").ok()) << bad;
  }
  for (const char* bad : {"", ",", "1,", "1,,2", "-1", "4294967296", "a"}) {
    EXPECT_FALSE(NumbersParameter(Asked(std::string("subjects=") + bad), "subjects").ok()) << bad;
  }
}

}  // namespace
}  // namespace tributary::http
