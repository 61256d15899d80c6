#include "aggregator/publish/readiness.h"

#include <gtest/gtest.h>

#include "aggregator/fusion/fusion_fixture.h"
#include "core/wire/hello.h"

namespace tributary::publish {
namespace {

class ReadinessTest : public fusion::FusionFixture {
 protected:
  ReadinessTest() { Start(); }

  // A node of each leaf.
  void Connect(const std::vector<std::string>& leaves) {
    for (const std::string& leaf : leaves) {
      v1::Hello hello;
      hello.set_site("hall");
      hello.set_node("node-" + leaf);
      wire::AddSource(hello, leaf, 2, {leaf});
      const auto membership = fleet_.Join(hello);
      ASSERT_TRUE(membership.ok());
      records_[leaf] = membership->record;
    }
  }
  // Slots of these leaves, each fused at its deadline or when it is complete.
  void Fuse(const std::vector<std::string>& leaves, int slots) {
    for (int i = 0; i < slots; ++i) {
      SetTime(++epoch_, steady_ns_);
      for (const std::string& leaf : leaves) Offer(leaf, Frame(epoch_, {1.0f}));
      SetTime(epoch_, steady_ns_ += 10 * kMs);  // past the deadline
      engine_->Advance(now_, out_);
      out_.Clear();
      board_->OnSlots(std::vector<estimate::FusedSlot>{SlotAt(now_.unix_ns)});
    }
    clock_.Advance(now_.unix_ns - clock_.UnixNs());
  }
  static estimate::FusedSlot SlotAt(std::int64_t unix_ns) {
    estimate::FusedSlot slot;
    slot.fused_unix_ns = unix_ns;
    return slot;
  }
  SiteReadiness Judge() {
    const auto latest = board_->Latest();
    return JudgeSite(*engine_, fleet_, latest ? std::optional(latest->slot.fused_unix_ns) : std::nullopt,
                     clock_.UnixNs());
  }
  std::string PresenceOf(const std::string& leaf) {
    for (const SourceReadiness& source : Judge().sources) {
      if (source.name == leaf) return std::string(SourcePresenceName(source.presence));
    }
    return "";
  }
  http::HttpResponse Answer(const std::string& site = "") {
    Readiness readiness({[this] { return takes_streams_; },
                         [this] { return store_healthy_; },
                         &fleet_,
                         &clock_,
                         {{&*engine_, board_}}});
    return readiness.Answer(site);
  }
  std::string State() { return nlohmann::json::parse(Answer().body)["state"]; }

  const std::vector<std::string> kAll = {"north", "east", "south", "west"};
  Fleet fleet_;
  std::map<std::string, std::shared_ptr<NodeRecord>> records_;
  std::shared_ptr<SiteBoard> board_ = std::make_shared<SiteBoard>();
  estimate::Epoch epoch_ = kEpoch;
  std::int64_t steady_ns_ = 0;
  runtime::ManualClock clock_{0};
  bool takes_streams_ = true;
  bool store_healthy_ = true;
};

TEST_F(ReadinessTest, ASiteWithAllItsSourcesAndSlotsIsOk) {
  Connect(kAll);
  Fuse(kAll, 3);
  EXPECT_EQ(Judge().condition, SiteCondition::kOk);
  EXPECT_EQ(Judge().present(), 4u);
  EXPECT_EQ(State(), "ok");
  EXPECT_EQ(Answer().status, 200);
}

TEST_F(ReadinessTest, ASiteIsDegradedOnceANodeHasLeft) {
  Connect(kAll);
  Fuse(kAll, 3);
  records_["west"]->connected_stream = 0;
  EXPECT_EQ(PresenceOf("west"), "absent");
  EXPECT_EQ(State(), "degraded");
  EXPECT_EQ(Answer().status, 200);
  EXPECT_EQ(Answer("hall").status, 200) << "there is something to see";
}

TEST_F(ReadinessTest, DoesNotSayOkOnceEveryNodeHasLeft) {
  Connect(kAll);
  Fuse(kAll, 3);
  for (const auto& [leaf, record] : records_) record->connected_stream = 0;
  EXPECT_EQ(State(), "silent");
  EXPECT_EQ(Answer().body.find("\"ok\""), std::string::npos);
  EXPECT_EQ(Answer().status, 200) << "it takes streams: nodes may be sent here";
  EXPECT_EQ(Answer("hall").status, 503);
}

TEST_F(ReadinessTest, ASourceThatIsConnectedAndMissesSlotsIsSilent) {
  Connect(kAll);
  Fuse({"north", "east", "south"}, kSilentAfterSlots);
  EXPECT_EQ(PresenceOf("west"), "silent");
  EXPECT_EQ(Judge().condition, SiteCondition::kDegraded);
  Fuse(kAll, 1);
  EXPECT_EQ(PresenceOf("west"), "present");
}

TEST_F(ReadinessTest, ASiteWithoutSlotsIsSilent) {
  Connect(kAll);
  EXPECT_EQ(Judge().condition, SiteCondition::kSilent) << "none yet";
  Fuse(kAll, 3);
  clock_.Advance(kSilentAfterNs + 2 * kMs);
  EXPECT_EQ(Judge().condition, SiteCondition::kSilent);
  EXPECT_GT(*Judge().since_last_slot_ns, kSilentAfterNs);
  EXPECT_EQ(PresenceOf("west"), "silent") << "connected, and in no slot";
}

TEST_F(ReadinessTest, ASiteOfLongSlotsIsNotSilentBetweenTwoOfThem) {
  site_.slot = *estimate::SlotLength::FromMs(60'000);
  Start();
  Connect(kAll);
  constexpr std::int64_t kNowNs = 1'700'000'000'000'000'000;
  const auto after = [&](std::int64_t seconds) {
    return JudgeSite(*engine_, fleet_, kNowNs - seconds * 1'000'000'000, kNowNs).condition;
  };
  EXPECT_EQ(after(119), SiteCondition::kOk);
  EXPECT_EQ(after(131), SiteCondition::kSilent);
}

TEST_F(ReadinessTest, IsNotReadyWhileItTakesNoStreams) {
  Connect(kAll);
  Fuse(kAll, 3);
  takes_streams_ = false;
  EXPECT_EQ(State(), "stopping");
  EXPECT_EQ(Answer().status, 503);
  EXPECT_EQ(Answer("hall").status, 503);
}

TEST_F(ReadinessTest, AStoreThatCannotBeWrittenDegrades) {
  Connect(kAll);
  Fuse(kAll, 3);
  store_healthy_ = false;
  EXPECT_EQ(State(), "degraded");
}

TEST_F(ReadinessTest, AnUnknownSiteIsNotFound) { EXPECT_EQ(Answer("nowhere").status, 404); }

TEST_F(ReadinessTest, ExportsWhatIsExpectedAndWhatIsPresent) {
  Connect({"north", "east"});
  Fuse({"north", "east"}, 1);
  runtime::Metrics metrics;
  const Readiness readiness({[] { return true; }, {}, &fleet_, &clock_, {{&*engine_, board_}}});
  readiness.Register(metrics);
  const std::string text = metrics.Text();
  EXPECT_NE(text.find("tributary_sources_expected{site=\"hall\"} 4"), std::string::npos) << text;
  EXPECT_NE(text.find("tributary_sources_present{site=\"hall\"} 2"), std::string::npos) << text;
  EXPECT_NE(text.find("tributary_nodes_connected{site=\"hall\"} 2"), std::string::npos) << text;
}

}  // namespace
}  // namespace tributary::publish
