#include "core/wire/record_json.h"

#include <gtest/gtest.h>

#include <limits>

namespace tributary::wire {
namespace {

estimate::FusedSlot Slot() {
  estimate::FusedSlot slot;
  slot.epoch = std::numeric_limits<std::uint64_t>::max();
  slot.captured_unix_ns = 1'763'805'600'000'000'001;
  slot.fused_unix_ns = 1'763'805'600'000'000'003;
  slot.revision = 1;
  slot.subjects = {7, 9};
  slot.means = {1, 2, 3, 4};
  slot.cholesky = {1, 0, 1, 2, 0.5f, 2};
  slot.contributors = {3, 2};
  slot.consistency = {1, 0};
  return slot;
}

TEST(RecordJsonTest, KeepsEveryDigitOfEpochsAndTimes) {
  const auto json = SlotJson(Slot(), estimate::SlotLength(), "lab", {"north", "south"});
  EXPECT_EQ(json["epoch"], "18446744073709551615");
  EXPECT_EQ(json["captured_unix_ns"], "1763805600000000001");
  EXPECT_EQ(json["fused_unix_ns"], "1763805600000000003");
  v1::Node node;
  node.set_last_frame_unix_ns(1'763'805'600'000'000'001);
  node.set_accepted_frames(5);
  EXPECT_EQ(NodeJson(node)["last_frame_unix_ns"], "1763805600000000001");
  EXPECT_EQ(NodeJson(node)["accepted_frames"], 5);
}

TEST(RecordJsonTest, GivesEachSubjectItsEstimateAndContributors) {
  const auto estimates = SlotJson(Slot(), estimate::SlotLength(), "lab", {"north", "south"})["estimates"];
  ASSERT_EQ(estimates.size(), 2u);
  EXPECT_EQ(
      estimates[1].dump(),
      R"({"subject":9,"mean":[3.0,4.0],"scale_tril":[2.0,0.5,2.0],"contributors":["south"],"consistency":0.0})");
  estimate::FusedSlot tracked = Slot();
  tracked.velocities = {0, 1, 2, 3};
  EXPECT_EQ(
      SlotJson(tracked, estimate::SlotLength(), "lab", {"north", "south"})["estimates"][1]["velocity"].dump(),
      "[2.0,3.0]");
}

TEST(RecordJsonTest, ReplacesInvalidUtf8OfPeers) {
  v1::Node node;
  node.set_model_sha256("\xff\x01");
  EXPECT_EQ(NodeJson(node)["model_sha256"], "ff01");
  EXPECT_EQ(DumpJson({{"name", "\xff"}}), "{\"name\":\"\xef\xbf\xbd\"}");
}

}  // namespace
}  // namespace tributary::wire
