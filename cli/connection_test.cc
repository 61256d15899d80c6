#include "cli/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/failure.h"

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;

v1::ListNodesResponse Answer(const std::vector<std::string>& sites,
                             const std::vector<std::string>& nodes_of) {
  v1::ListNodesResponse answer;
  for (const std::string& site : sites) answer.add_sites(site);
  for (const std::string& site : nodes_of) answer.add_nodes()->set_site(site);
  return answer;
}

TEST(SiteChoiceTest, TakesTheOnlySiteThereIs) {
  EXPECT_EQ(*OnlySite(Answer({"lab"}, {})), "lab");
  EXPECT_EQ(*OnlySite(Answer({"lab"}, {"lab", "lab"})), "lab");
}

TEST(SiteChoiceTest, NamesTheSitesWhereThereAreSeveral) {
  const absl::Status several = OnlySite(Answer({"lab", "hall"}, {"lab"})).status();
  EXPECT_EQ(ExitCode(several), 64);
  EXPECT_THAT(std::string(several.message()), HasSubstr("name one of hall, lab"));
}

TEST(SiteChoiceTest, JudgesAnOlderAggregatorByItsNodes) {
  EXPECT_EQ(*OnlySite(Answer({}, {"lab", "lab", ""})), "lab");
  EXPECT_EQ(ExitCode(OnlySite(Answer({}, {"lab", "hall"})).status()), 64);
  EXPECT_EQ(ExitCode(OnlySite(Answer({}, {})).status()), 64);
}

}  // namespace
}  // namespace tributary::cli
