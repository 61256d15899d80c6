#include "cli/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/failure.h"
#include "tests/support/own_folder.h"
#include "tributary/v1/fleet.grpc.pb.h"

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

TEST(PeerTest, AsksWhetherTheAggregatorRunsWhereNobodyListens) {
  const ConnectionArguments nobody{.aggregator = "unix:" + OwnFolder() + "nobody"};
  const absl::Status status =
      CallAggregator(nobody, &v1::FleetService::Stub::ListNodes, v1::ListNodesRequest()).status();
  EXPECT_EQ(status.message(), "nobody listens at " + nobody.aggregator + "; is the aggregator running?");
  EXPECT_EQ(ExitCode(status), 69);
  const absl::Status refused = absl::UnavailableError(
      "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:7400: Failed to connect to "
      "remote "
      "host: Connection refused");
  EXPECT_EQ(FromPeer(refused, {}).message(), "nobody listens at 127.0.0.1:7400; is the aggregator running?");
}

TEST(PeerTest, KeepsTheReasonOfAConnectionThatFailsOtherwise) {
  const absl::Status status = absl::UnavailableError(
      "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.9:7400: No route to host");
  EXPECT_THAT(std::string(FromPeer(status, {}).message()), HasSubstr("No route to host"));
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
