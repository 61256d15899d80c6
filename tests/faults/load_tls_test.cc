// With TLS one node's stream carries the frames of all panels, a message each.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/certificates.h"
#include "tests/support/fleet.h"

namespace tributary::testing {
namespace {

TEST(LoadTlsTest, PanelsThatShareAStreamAreReadAtTheFullRate) {
  const ScratchFolder folder;
  const Certificates certificates(folder, "certs", {"aggregator", "board"});
  AggregatorProcess aggregator(
      folder, "aggregator", {"panel-0", "panel-1", "panel-2", "panel-3"},
      certificates.Table("aggregator") + "[access]\nviewers = [\"board\"]\n",
      "[[site.owner]]\nnode = \"board\"\nsources = [\"panel-0\", \"panel-1\", \"panel-2\", \"panel-3\"]\n");
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  const std::string report = folder.Path("report.json");
  Process load(
      "/bin/sh",
      {"-c", std::string(TRIBUTARY_BIN_DIR) +
                 "/tributary load --aggregator 127.0.0.1:" + std::to_string(aggregator.ingest_port()) +
                 " --http 127.0.0.1:" + std::to_string(aggregator.http_port()) + " --certificate " +
                 certificates.File("board.pem") + " --key " + certificates.File("board.key") + " --ca " +
                 certificates.File("ca.pem") + " --site room --seconds 4 --json > " + report},
      folder.Path("load.log"));
  EXPECT_NE(load.Wait(std::chrono::seconds(60)), -1) << load.Log();
  const auto json = nlohmann::json::parse(ReadText(report), nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << load.Log() << aggregator.process().Log();
  // A busy machine may lose some; a read for each millisecond lost four of five.
  EXPECT_LT(json["lost_frames"].get<std::uint64_t>(), json["sent_frames"].get<std::uint64_t>() / 10) << json;
  EXPECT_GT(json["received_slots"].get<std::uint64_t>(), 6000u);
  EXPECT_LT(json["latency_us"]["p50"].get<double>(), 50'000);
}

TEST(LoadTlsTest, AnOwnerWhoIsNoViewerIsToldSo) {
  const ScratchFolder folder;
  const Certificates certificates(folder, "certs", {"aggregator", "board"});
  AggregatorProcess aggregator(folder, "aggregator", {"panel-0"}, certificates.Table("aggregator"),
                               "[[site.owner]]\nnode = \"board\"\nsources = [\"panel-0\"]\n");
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  std::vector<std::string> arguments = {
      "load",   "--aggregator", "127.0.0.1:" + std::to_string(aggregator.ingest_port()),
      "--site", "room",         "--panels",
      "1"};
  for (const std::string& option : certificates.Options("board")) arguments.push_back(option);
  Process load(std::string(TRIBUTARY_BIN_DIR) + "/tributary", arguments, folder.Path("load.log"));
  EXPECT_EQ(load.Wait(std::chrono::seconds(60)), 1) << load.Log();
  EXPECT_NE(load.Log().find("\"board\" may not call Watch: add the name to viewers"), std::string::npos)
      << load.Log();
}

}  // namespace
}  // namespace tributary::testing
