#include "core/survey/survey_file.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tributary::survey {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kAnchorAndTag = "[[anchor]]\nposition = [100, 200, 0]\n[[tag]]\nposition = [1, 2, 3]\n";

std::string FaultsOf(const std::string& text) {
  return std::string(ParseSurvey(text, "hall.toml").status().message());
}

TEST(SurveyFileTest, TheBuiltInOneIsThatOfTheExampleRecordings) {
  const auto survey = ReadSurvey("");
  ASSERT_TRUE(survey.ok()) << survey.status();
  ASSERT_EQ(survey->anchors_m.size(), 8u);
  ASSERT_EQ(survey->tags_m.size(), 3u);
  EXPECT_EQ(survey->anchors_m[4], (scene::Point3{3.5674, -3.0087, 1.0443}));
  EXPECT_EQ(survey->tags_m[2], (scene::Point3{0.2034, 0.1451, -0.0008}));
  EXPECT_EQ(survey->Column(7, 2), 23u);
  // Half a turn about x.
  EXPECT_EQ(survey->turn[0], (scene::Point3{1, 0, 0}));
  EXPECT_NEAR(survey->turn[1][1], -1, 1e-15);
  EXPECT_NEAR(survey->turn[1][2], 0, 1e-15);
  EXPECT_NEAR(survey->turn[2][2], -1, 1e-15);
}

TEST(SurveyFileTest, UnitsAndOrderAreThoseOfTheFile) {
  const auto survey = ParseSurvey(
      absl::StrCat("unit = \"cm\"\n[ranges]\nunit = \"mm\"\norder = \"tags\"\n[truth]\nunit = \"cm\"\n"
                   "quaternion = \"xyzw\"\n",
                   kAnchorAndTag, "[[anchor]]\nposition = [0, 0, 0]\n"),
      "hall.toml");
  ASSERT_TRUE(survey.ok()) << survey.status();
  EXPECT_DOUBLE_EQ(survey->anchors_m[0][1], 2.0);
  EXPECT_DOUBLE_EQ(survey->tags_m[0][2], 0.03);
  EXPECT_DOUBLE_EQ(survey->range_unit_m, 0.001);
  EXPECT_DOUBLE_EQ(survey->truth_unit_m, 0.01);
  EXPECT_EQ(survey->quaternion, scene::Survey::Quaternion::kXyzw);
  EXPECT_EQ(survey->Column(1, 0), 1u);
}

TEST(SurveyFileTest, TurnsGoAboutFixedAxesInOrder) {
  const auto survey = ParseSurvey("[truth]\nturn_deg = [90, 90, 0]\n" + kAnchorAndTag, "hall.toml");
  ASSERT_TRUE(survey.ok()) << survey.status();
  // About x, y becomes z; about y, z becomes x.
  EXPECT_NEAR(survey->turn[0][1], 1, 1e-15);
}

TEST(SurveyFileTest, EveryFaultNamesFileLineAndKey) {
  EXPECT_THAT(FaultsOf("unit = \"ft\"\nspeed = 1\n[[anchor]]\nposition = [0, 0]\n[[tag]]\n"),
              AllOf(HasSubstr("hall.toml:1: unit"), HasSubstr("hall.toml:2: speed"),
                    HasSubstr("hall.toml:4: anchor[0].position"), HasSubstr("tag[0].position")));
  EXPECT_THAT(FaultsOf(""), AllOf(HasSubstr("[[anchor]]"), HasSubstr("[[tag]]")));
}

TEST(SurveyFileTest, RefusesPlacesThatCannotBe) {
  EXPECT_THAT(FaultsOf(absl::StrCat(kAnchorAndTag, "[[anchor]]\nposition = [100, 200, 0.001]\n")),
              HasSubstr("anchors 0 and 1 stand at one place"));
  for (const char* position :
       {"[nan, 0, 0]", "[inf, 0, 0]", "[1e9, 0, 0]", "[\"1\", 0, 0]", "[1, 2, 3, 4]", "1"}) {
    EXPECT_THAT(FaultsOf(absl::StrCat(kAnchorAndTag, "[[anchor]]\nposition = ", position, "\n")),
                HasSubstr("anchor[1].position"))
        << position;
  }
}

TEST(SurveyFileTest, RefusesMoreAnchorsThanARowMayHold) {
  std::string text = kAnchorAndTag;
  for (std::size_t i = 0; i < scene::Survey::kMaxAnchors; ++i)
    absl::StrAppend(&text, "[[anchor]]\nposition = [", i, ", 0, 0]\n");
  EXPECT_THAT(FaultsOf(text), HasSubstr("at most 64"));
}

}  // namespace
}  // namespace tributary::survey
