// The HTTP answers about a site with two panels, from an aggregator with two ingest threads.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/fleet.h"
#include "tests/support/reporter.h"

namespace tributary::testing {
namespace {

using nlohmann::json;

class ApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }

  json Get(const std::string& target) const { return json::parse(aggregator_.Get(target), nullptr, false); }

  ScratchFolder folder_;
  AggregatorProcess aggregator_{folder_, "aggregator", {"south", "east"}, "[ingest]\nthreads = 2\n"};
};

TEST_F(ApiTest, ShowsSiteSlotNodesAndCounters) {
  EXPECT_EQ(Get("/api/v1/nodes")["nodes"], json::array());
  Reporter south("south", aggregator_.ingest_port());
  Reporter east("east", aggregator_.ingest_port());
  for (const Reporter* one : {&south, &east}) ASSERT_TRUE(WaitFor([&] { return one->Reporting(); }));
  const estimate::Epoch epoch = estimate::SlotLength().EpochAt(runtime::SystemClock().UnixNs());
  south.Offer(UnitFrame(epoch, 0));
  east.Offer(UnitFrame(epoch, 2));
  ASSERT_TRUE(WaitFor([&] { return Get("/api/v1/sites/room").is_object(); }));

  const json answer = Get("/api/v1/sites/room");
  EXPECT_EQ(answer["site"], "room");
  EXPECT_EQ(answer["leaves"], json({"south", "east"}));
  const json& slot = answer["slot"];
  EXPECT_EQ(slot["epoch"], std::to_string(epoch));
  EXPECT_EQ(slot["dimension"], 2);
  EXPECT_EQ(slot["subjects"], json({1}));
  EXPECT_NEAR(slot["means"][0].get<double>(), 1.0, 1e-5);
  EXPECT_NEAR(slot["cholesky"][0].get<double>(), std::sqrt(0.5), 1e-5);
  EXPECT_EQ(slot["contributors"], json({"3"})) << "both bits";

  const json site = Get("/api/v1/sites")["sites"][0];
  EXPECT_EQ(site["name"], "room");
  EXPECT_EQ(site["slot_ns"], "500000") << "what turns an epoch into a time";
  EXPECT_EQ(site["counters"]["accepted_frames"], "2");
  EXPECT_EQ(site["counters"]["complete_slots"], "1");
  EXPECT_EQ(site["leaves"][0]["name"], "south");

  const json nodes = Get("/api/v1/nodes?site=room")["nodes"];
  ASSERT_EQ(nodes.size(), 2u);
  for (const json& node : nodes) {
    EXPECT_TRUE(node["connected"].get<bool>());
    EXPECT_EQ(node["accepted_frames"], "1");
  }
}

// Two threads serve the two streams; every slot is complete and none is fused twice.
TEST_F(ApiTest, FusesEverySlotOnceFromStreamsOfTwoThreads) {
  constexpr int kSlots = 500;
  Reporter south("south", aggregator_.ingest_port());
  Reporter east("east", aggregator_.ingest_port());
  for (const Reporter* one : {&south, &east}) ASSERT_TRUE(WaitFor([&] { return one->Reporting(); }));
  const estimate::Epoch first = estimate::SlotLength().EpochAt(runtime::SystemClock().UnixNs());
  for (estimate::Epoch epoch = first; epoch < first + kSlots; ++epoch) {
    south.Offer(UnitFrame(epoch));
    east.Offer(UnitFrame(epoch));
  }
  const auto counters = [&] { return Get("/api/v1/sites")["sites"][0]["counters"]; };
  ASSERT_TRUE(WaitFor([&] { return counters()["accepted_frames"] == std::to_string(2 * kSlots); }))
      << counters().dump();
  EXPECT_TRUE(WaitFor([&] { return counters()["complete_slots"] == std::to_string(kSlots); }))
      << counters().dump();
  EXPECT_EQ(counters()["deadline_slots"], "0");
}

TEST_F(ApiTest, AnswersWhatIsNotThereWithoutAnError) {
  EXPECT_EQ(aggregator_.Get("/api/v1/sites/nowhere"), "") << "404";
  EXPECT_EQ(aggregator_.Get("/api/v1/events?site=nowhere"), "") << "404";
  EXPECT_EQ(aggregator_.Get("/api/v1/nodes?site=nowhere"), "") << "404";
  EXPECT_EQ(aggregator_.Get("/no/such/page"), "") << "404";
  EXPECT_FALSE(aggregator_.Get("/healthz").empty());
}

}  // namespace
}  // namespace tributary::testing
