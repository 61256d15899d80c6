#include "core/wire/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/wire/convert.h"
#include "tributary/v1/run.pb.h"

namespace tributary::wire {
namespace {

using nlohmann::json;

TEST(MessageJsonTest, HasEveryFieldButMessagesThatAreNotSet) {
  v1::GetRunResponse response;
  EXPECT_EQ(MessageJson(response), R"({"history":[],"participants":[],"earlier":"0","next_node":""})");
  response.mutable_run()->set_state(v1::RUN_STATE_RUNNING);
  response.mutable_run()->set_model_sha256("\xff\x01");
  const json run = json::parse(MessageJson(response))["run"];
  EXPECT_EQ(run["state"], "RUN_STATE_RUNNING");
  EXPECT_EQ(run["model_sha256"], "/wE=");
  EXPECT_EQ(run["committed_rounds"], 0);
}

TEST(MessageJsonTest, KeepsEveryDigitOf64BitIntegers) {
  v1::Run run;
  run.set_started_unix_ns(1'700'000'000'123'456'789);
  run.set_element_count(std::numeric_limits<std::uint64_t>::max());
  const json printed = json::parse(MessageJson(run));
  EXPECT_EQ(printed["started_unix_ns"], "1700000000123456789");
  EXPECT_EQ(printed["element_count"], "18446744073709551615");
}

TEST(MessageJsonTest, DescribesTheSiteBesideEachSlot) {
  estimate::FusedSlot slot;
  slot.epoch = std::numeric_limits<std::uint64_t>::max();
  slot.subjects = {7, 9};
  slot.means = {1, 2, 3, 0.1f};
  slot.cholesky = {1, 0, 1, 2, 0.5f, 2};
  slot.contributors = {3, 2};
  slot.consistency = {1, 0};
  const SiteDescription site{.name = "lab", .leaves = {"north", "south"}, .classes = {}, .slot = {}};
  const json printed = json::parse(MessageJson(SlotMessage(site, slot, 4)));
  EXPECT_EQ(printed["site"], "lab");
  EXPECT_EQ(printed["slot_ns"], "500000");
  EXPECT_EQ(printed["skipped_slots"], "4");
  EXPECT_EQ(printed["leaves"], json({"north", "south"}));
  EXPECT_EQ(printed["slot"]["epoch"], "18446744073709551615");
  EXPECT_EQ(printed["slot"]["means"].dump(), "[1,2,3,0.1]") << "the fewest digits that give the float again";
  EXPECT_EQ(printed["slot"]["contributors"], json({"3", "2"}));
  EXPECT_EQ(printed["slot"]["velocities"], json::array());
}

TEST(MessageJsonTest, IsJsonWhateverAPeersNameIs) {
  v1::Run run;
  run.set_name("a\xff\n");
  EXPECT_EQ(json::parse(MessageJson(run))["name"], "a\n");
  EXPECT_EQ(DumpJson({{"name", "\xff"}}), "{\"name\":\"\xef\xbf\xbd\"}");
}

TEST(EnumLabelTest, NamesEveryReasonOnce) {
  std::set<std::string> labels;
  for (int reason = 0; reason < v1::RefusalReason_ARRAYSIZE; ++reason) {
    EXPECT_TRUE(labels.insert(EnumLabel(static_cast<v1::RefusalReason>(reason))).second) << reason;
  }
  EXPECT_EQ(EnumLabel(v1::REFUSAL_REASON_NOT_FINITE), "not_finite");
  EXPECT_EQ(EnumLabel(v1::REFUSAL_REASON_UNSPECIFIED), "unspecified");
  EXPECT_EQ(EnumLabel(static_cast<v1::RefusalReason>(4711)), "unspecified");
}

}  // namespace
}  // namespace tributary::wire
