#include "aggregator/room_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aggregator/config.h"
#include "tests/support/parse_config.h"

namespace tributary::aggregator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kLab = "[[site]]\nname = \"lab\"\nsources = [\"south\", \"east\"]\n";
constexpr const char* kBounds = "[site.room]\nbounds = [-5, -4, 5, 4]\n";

absl::StatusOr<AggregatorConfig> Lab(const std::string& text) {
  return testing::ParseConfig(ReadAggregatorConfig, kLab + text, "a.toml");
}

std::string FaultsOfLab(const std::string& text) { return std::string(Lab(text).status().message()); }

TEST(RoomConfigTest, ASiteHasNoPlanUnlessItIsGiven) {
  const auto config = Lab("");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_FALSE(config->sites[0].account.room.has_value());
}

TEST(RoomConfigTest, ReadsBoundsWallsPanelsAndOrigin) {
  const auto config =
      Lab(std::string(kBounds) +
          "walls = [-5, -4, 5, -4,  5, -4, 5, 4]\n"
          "[[site.room.panel]]\nsource = \"east\"\nx_m = 5\ny_m = 0\norientation_deg = 90\n"
          "[site.room.origin]\nlatitude_deg = 55.7\nlongitude_deg = 13.2\nheading_deg = 12\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const v1::Room& room = *config->sites[0].account.room;
  EXPECT_EQ(room.site(), "lab");
  EXPECT_EQ(room.min_x_m(), -5);
  EXPECT_EQ(room.min_y_m(), -4);
  EXPECT_EQ(room.max_x_m(), 5);
  EXPECT_EQ(room.max_y_m(), 4);
  ASSERT_EQ(room.walls_size(), 2);
  EXPECT_EQ(room.walls(1).from_y_m(), -4);
  EXPECT_EQ(room.walls(1).to_y_m(), 4);
  ASSERT_EQ(room.panels_size(), 1);
  EXPECT_EQ(room.panels(0).source(), "east");
  EXPECT_EQ(room.panels(0).orientation_deg(), 90);
  EXPECT_EQ(room.origin().heading_deg(), 12);
}

TEST(RoomConfigTest, NamesLineAndKeyOfEachFault) {
  EXPECT_THAT(
      FaultsOfLab(std::string(kBounds) + "walls = [1, 2, 3]\n"
                                         "[[site.room.panel]]\nsource = \"north\"\nx_m = 6\ny_m = 0\n"),
      AllOf(HasSubstr("a.toml:6: site[0].room.walls: has 3 numbers"),
            HasSubstr("a.toml:8: site[0].room.panel[0].source: \"north\" is not one of the site's"),
            HasSubstr("a.toml:9: site[0].room.panel[0].x_m: the panel is outside the bounds")));
}

TEST(RoomConfigTest, RefusesWhatNoMapCanShow) {
  EXPECT_THAT(FaultsOfLab("[site.room]\n"), HasSubstr("bounds: has 0 numbers, expected 4"));
  for (const char* bounds : {"[1, 2, 3]", "[0, 0, 0, 1]", "[0, 1, 1, 0]", "[nan, 0, 1, 1]", "[0, 0, inf, 1]",
                             "[0, 0, 1e7, 1]", "\"all\"", "[0, 0, \"1\", 1]"}) {
    EXPECT_THAT(FaultsOfLab(std::string("[site.room]\nbounds = ") + bounds + "\n"), HasSubstr("room.bounds"))
        << bounds;
  }
  EXPECT_THAT(FaultsOfLab(std::string(kBounds) + "walls = [0, 0, 0, 5]\n"),
              HasSubstr("wall 1 leaves the bounds"));
  const std::string panel = "[[site.room.panel]]\nsource = \"east\"\nx_m = 0\ny_m = 0\n";
  EXPECT_THAT(FaultsOfLab(kBounds + panel + panel), HasSubstr("is the source of two panels"));
  EXPECT_THAT(FaultsOfLab(kBounds + panel + "orientation_deg = 361\n"), HasSubstr("orientation_deg"));
  EXPECT_THAT(FaultsOfLab(std::string(kBounds) + "[[site.room.panel]]\nsource = \"east\"\n"),
              AllOf(HasSubstr("x_m: is required"), HasSubstr("y_m: is required")));
  EXPECT_THAT(FaultsOfLab(std::string(kBounds) + "[site.room.origin]\nlatitude_deg = 91\n"),
              AllOf(HasSubstr("latitude_deg"), HasSubstr("longitude_deg: is required")));
  EXPECT_THAT(FaultsOfLab(std::string(kBounds) + "colour = 1\n"), HasSubstr("room.colour: unknown key"));
  EXPECT_THAT(FaultsOfLab("room = 3\n"), HasSubstr("expected a table [site.room]"));
}

TEST(RoomConfigTest, RefusesMoreWallsThanAMapNeeds) {
  std::string walls;
  for (int i = 0; i < 4 * 4097; ++i) walls += "0,";
  EXPECT_THAT(FaultsOfLab(std::string(kBounds) + "walls = [" + walls + "]\n"),
              HasSubstr("at most 4096 walls"));
}

TEST(SiteAccountConfigTest, ReadsTruthAndReadiness) {
  const auto config = Lab("truth = \"room:seed=3\"\nready_sources = 0\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->sites[0].account.ready_sources, 0u);
  ASSERT_TRUE(config->sites[0].account.truth);
  EXPECT_EQ(Lab("")->sites[0].account.ready_sources, 1u);
  EXPECT_FALSE(Lab("")->sites[0].account.truth);
}

TEST(SiteAccountConfigTest, RefusesATruthThatTheSiteCannotHave) {
  EXPECT_THAT(FaultsOfLab("truth = \"room:sed=3\"\n"), HasSubstr("a.toml:4: site[0].truth: \"sed=3\""));
  EXPECT_THAT(FaultsOfLab("truth = \"walk.csv\"\n"), HasSubstr("expected room:seed=N"));
  EXPECT_THAT(FaultsOfLab("truth = \"generator:seed=1,rate_hz=50\"\n"), HasSubstr("has users of a room"));
  EXPECT_THAT(FaultsOfLab("classes = [\"BPSK\", \"QPSK\"]\ntruth = \"room:seed=1\"\n"),
              HasSubstr("has emitters"));
  EXPECT_THAT(FaultsOfLab("ready_sources = 3\n"), HasSubstr("3, but the site has 2 sources"));
  EXPECT_THAT(FaultsOfLab("ready_sources = -1\n"), HasSubstr("ready_sources"));
}

}  // namespace
}  // namespace tributary::aggregator
