// Training and estimates by geometry in simulated halls.
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <string>

#include "core/nn/geometry/geometry_trainer.h"
#include "core/nn/geometry/range_fix.h"
#include "core/nn/geometry/range_geometry.h"
#include "core/parameters/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tributary::nn {
namespace {

using testing::HasSubstr;

constexpr double kRangeNoiseM = 0.03;
constexpr double kSlope = 0.015;

double Pattern(double bearing) { return 0.04 * std::cos(bearing) - 0.03 * std::sin(2 * bearing); }

// A hall of 8 m × 6 m with four anchors, and a body with two tags 0.4 m apart that turns as it goes. Ranges
// have a bias of their own per anchor, one that depends on the body's side, and one that grows with the
// distance.
struct Hall {
  GeometrySurvey survey = {.anchors = {0, 1, 2, 3},
                           .tags = {0, 1},
                           .tag = 0,
                           .anchors_m = {{-4, -3, 2}, {4, -3, 2}, {4, 3, 2}, {-4, 3, 2}},
                           .tags_m = {{0.2, 0, 0}, {-0.2, 0, 0}}};
  std::vector<double> bias_m = {0.1, 0.2, 0.3, 0.15};

  std::vector<GeometryExample> Walk(std::size_t count, std::uint64_t seed, double reach = 1.0) const {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0.0, kRangeNoiseM);
    std::vector<GeometryExample> examples;
    for (std::size_t i = 0; i < count; ++i) {
      const double t = 0.05 * static_cast<double>(i) + static_cast<double>(seed);
      examples.push_back(At(i, reach * 2.5 * std::sin(0.37 * t), reach * 2.0 * std::sin(0.53 * t), 0.9 * t,
                            [&] { return noise(random); }));
    }
    return examples;
  }

  template <class Noise>
  GeometryExample At(std::size_t row, double x, double y, double heading, Noise noise) const {
    GeometryExample example;
    example.unix_ns = static_cast<std::int64_t>(row) * 50'000'000;
    for (const Place3& tag : survey.tags_m)
      example.tags_m.push_back({x + std::cos(heading) * tag[0], y + std::sin(heading) * tag[0], 1.0});
    for (std::size_t a = 0; a < survey.anchors.size(); ++a) {
      for (const Place3& tag : example.tags_m) {
        const double dx = survey.anchors_m[a][0] - tag[0], dy = survey.anchors_m[a][1] - tag[1];
        const double distance = std::hypot(dx, dy, 1.0);
        example.ranges_m.push_back(distance * (1 + kSlope) + bias_m[a] +
                                   Pattern(std::atan2(dy, dx) - heading) + noise());
      }
    }
    return example;
  }
};

struct Judged {
  double rms_m = 0;
  double nees = 0;
};

Judged Judge(const RangeGeometry& geometry, const std::vector<GeometryExample>& examples) {
  Judged judged;
  for (const GeometryExample& example : examples) {
    const auto fix = FixOf(geometry, example.ranges_m);
    EXPECT_TRUE(fix.has_value());
    if (!fix) continue;
    const double x = fix->position_m[0] - example.tags_m[0][0], y = fix->position_m[1] - example.tags_m[0][1];
    const auto l = CholeskyOf(geometry, *fix);
    judged.rms_m += (x * x + y * y) / static_cast<double>(examples.size());
    judged.nees += (std::pow(x / l[0], 2) + std::pow((y - l[1] * x / l[0]) / l[2], 2)) /
                   static_cast<double>(examples.size());
  }
  judged.rms_m = std::sqrt(judged.rms_m);
  return judged;
}

TEST(RangeGeometryTest, LearnsBiasSlopeAndPatternAndIsHonestOnAnotherWalk) {
  const Hall hall;
  const auto geometry = TrainGeometry(hall.Walk(2000, 1), hall.survey, {});
  ASSERT_TRUE(geometry.ok()) << geometry.status();
  EXPECT_TRUE(geometry->HasHeading());
  EXPECT_NEAR(geometry->slope[0], kSlope, 0.006);
  EXPECT_NEAR(geometry->pattern_m[0], 0.04, 0.01);
  EXPECT_NEAR(geometry->pattern_m[3], -0.03, 0.01);
  const Judged judged = Judge(*geometry, hall.Walk(2000, 7));
  // Eight ranges for three unknowns: each coordinate is known to about the noise times sqrt(2 / 8), and no
  // worse than one range.
  EXPECT_LT(judged.rms_m, std::numbers::sqrt2 * kRangeNoiseM);
  EXPECT_GT(judged.nees, 1.5);
  EXPECT_LT(judged.nees, 2.7);
}

TEST(RangeGeometryTest, OneTagAloneHasNoHeadingAndNoPattern) {
  Hall hall;
  hall.survey.tags = {0};
  hall.survey.tags_m = {{0, 0, 0}};
  const auto geometry = TrainGeometry(hall.Walk(1500, 1), hall.survey, {});
  ASSERT_TRUE(geometry.ok()) << geometry.status();
  EXPECT_FALSE(geometry->HasHeading());
  const Judged judged = Judge(*geometry, hall.Walk(1500, 7));
  EXPECT_LT(judged.rms_m, 0.08);
  EXPECT_GT(judged.nees, 1.3);
  EXPECT_LT(judged.nees, 3.0);
}

TEST(RangeGeometryTest, AnchorsThatWereSurveyedWronglyMoveTowardsWhereTheyAre) {
  const Hall hall;
  GeometrySurvey survey = hall.survey;
  survey.anchors_m[1][0] += 0.05;
  const auto geometry = TrainGeometry(hall.Walk(2500, 1), survey, {});
  ASSERT_TRUE(geometry.ok()) << geometry.status();
  EXPECT_LT(std::abs(geometry->anchor_m[3] - hall.survey.anchors_m[1][0]), 0.04);
}

TEST(RangeGeometryTest, ALongEchoOfOneRangeCountsLittle) {
  const Hall hall;
  const auto geometry = TrainGeometry(hall.Walk(1500, 1), hall.survey, {});
  ASSERT_TRUE(geometry.ok()) << geometry.status();
  auto walk = hall.Walk(300, 7);
  for (GeometryExample& example : walk) example.ranges_m[3] += 1.5;
  int close = 0, narrow = 0;
  for (const GeometryExample& example : walk) {
    const auto fix = FixOf(*geometry, example.ranges_m);
    ASSERT_TRUE(fix);
    const Place3& truth = example.tags_m[0];
    close += std::hypot(fix->position_m[0] - truth[0], fix->position_m[1] - truth[1]) < 0.10 ? 1 : 0;
    narrow += Widening(*geometry, *fix) < 5.0 ? 1 : 0;
  }
  // In the others the echo agrees with a wrong heading.
  EXPECT_GT(close, 270);
  EXPECT_GT(narrow, 270);
}

TEST(RangeGeometryTest, WidensWhereTrainingHasNeverBeen) {
  const Hall hall;
  const auto geometry = TrainGeometry(hall.Walk(2000, 1, 0.4), hall.survey, {});
  ASSERT_TRUE(geometry.ok()) << geometry.status();
  const auto none = [] { return 0.0; };
  const auto inside = FixOf(*geometry, hall.At(0, 0.2, 0.1, 0.3, none).ranges_m);
  const auto outside = FixOf(*geometry, hall.At(0, 3.4, 2.4, 0.3, none).ranges_m);
  ASSERT_TRUE(inside && outside);
  EXPECT_LT(Widening(*geometry, *inside), 1.2);
  EXPECT_GT(Widening(*geometry, *outside), 3.0);
}

TEST(RangeGeometryTest, ContradictingRangesWiden) {
  const Hall hall;
  const auto geometry = TrainGeometry(hall.Walk(1500, 1), hall.survey, {});
  ASSERT_TRUE(geometry.ok()) << geometry.status();
  auto example = hall.Walk(1, 7)[0];
  for (double& range : example.ranges_m) range += 0.5;
  const auto fix = FixOf(*geometry, example.ranges_m);
  ASSERT_TRUE(fix);
  EXPECT_GT(Widening(*geometry, *fix), 3.0);
}

TEST(RangeGeometryTest, TooFewRangesGiveNoFix) {
  const Hall hall;
  const auto geometry = TrainGeometry(hall.Walk(1500, 1), hall.survey, {});
  ASSERT_TRUE(geometry.ok()) << geometry.status();
  std::vector<double> ranges(8, std::numeric_limits<double>::quiet_NaN());
  ranges[0] = 3.0;
  EXPECT_FALSE(FixOf(*geometry, ranges));
  EXPECT_FALSE(FixOf(*geometry, {}));
}

TEST(RangeGeometryTest, TrainingRefusesWhatCannotBeTrainedOn) {
  const Hall hall;
  const auto fault = [&](std::vector<GeometryExample> examples, const GeometrySurvey& survey) {
    return std::string(TrainGeometry(examples, survey, {}).status().message());
  };
  EXPECT_THAT(fault({}, hall.survey), HasSubstr("0 examples"));
  auto walk = hall.Walk(500, 1);
  walk[9].ranges_m.pop_back();
  EXPECT_THAT(fault(walk, hall.survey), HasSubstr("another number"));
  walk = hall.Walk(500, 1);
  walk[9].tags_m[0][0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(fault(walk, hall.survey), HasSubstr("not finite"));
  GeometrySurvey other = hall.survey;
  other.tag = 5;
  EXPECT_THAT(fault(hall.Walk(500, 1), other), HasSubstr("tag 5"));
}

TEST(RangeGeometryFileTest, IsReadBack) {
  const Hall hall;
  auto geometry = *TrainGeometry(hall.Walk(500, 1), hall.survey, {});
  geometry.name = "north";
  const std::string file = EncodeRangeGeometry(geometry);
  EXPECT_TRUE(IsRangeGeometry(file));
  EXPECT_FALSE(IsRangeGeometry(file.substr(0, 20)));
  const auto read = DecodeRangeGeometry(file);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->anchors, geometry.anchors);
  EXPECT_EQ(read->tags, geometry.tags);
  EXPECT_EQ(read->name, "north");
  EXPECT_EQ(read->sha256.size(), 64u);
  EXPECT_NEAR(read->bias_m[3], geometry.bias_m[3], 1e-6);
  EXPECT_EQ(read->place_m.size(), geometry.place_m.size());
}

TEST(RangeGeometryFileTest, RefusesHostileFiles) {
  const Hall hall;
  const auto whole =
      *parameters::DecodeSafetensors(EncodeRangeGeometry(*TrainGeometry(hall.Walk(500, 1), hall.survey, {})));
  const auto refusal = [&](auto change) {
    parameters::TensorSet set = whole;
    change(set);
    return std::string(DecodeRangeGeometry(parameters::EncodeSafetensors(set)).status().message());
  };
  for (const char* anchors : {"", "0,1,2", "0,1,2,2", "0,1,2,-3", "a", "0,1,2,3,4"}) {
    EXPECT_NE(refusal([&](auto& set) { set.metadata["anchors"] = anchors; }), "") << anchors;
  }
  EXPECT_THAT(refusal([](auto& set) { set.metadata["tag"] = "9"; }), HasSubstr("tag"));
  EXPECT_THAT(refusal([](auto& set) { set.metadata["kind"] = "beacon"; }), HasSubstr("range-geometry"));
  EXPECT_THAT(refusal([](auto& set) { set.tensors.erase("reach.place"); }), HasSubstr("reach.place"));
  EXPECT_THAT(refusal([](auto& set) {
                set.tensors["calibration.variance_scale"] =
                    parameters::FloatTensor(Shape{1}, std::vector<float>{-1.0f});
              }),
              HasSubstr("positive"));
  EXPECT_THAT(refusal([](auto& set) {
                set.tensors["tag.slope"] = parameters::FloatTensor(Shape{2}, std::vector<float>{0.0f, 3.0f});
              }),
              HasSubstr("slope"));
}

}  // namespace
}  // namespace tributary::nn
