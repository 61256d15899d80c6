#include "aggregator/publish/readiness.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "aggregator/fusion/fusion_fixture.h"
#include "core/wire/hello.h"

namespace tributary::publish {
namespace {

class ReadinessTest : public fusion::FusionFixture {
 protected:
  ReadinessTest() {
    Start();
    site_of_state_ = &state_.sites.Add(std::move(owned_), "", metrics_);
  }

  // A node of each leaf.
  void Connect(const std::vector<std::string>& leaves) {
    for (const std::string& leaf : leaves) {
      v1::Hello hello;
      hello.set_site("hall");
      hello.set_node("node-" + leaf);
      wire::AddSource(hello, leaf, 2, {leaf});
      const auto membership = state_.fleet.Join(hello);
      ASSERT_TRUE(membership.ok());
      memberships_[leaf] = *membership;
    }
  }
  void Leave(const std::string& leaf) { state_.fleet.Leave("hall", "node-" + leaf, memberships_.at(leaf)); }
  // Slots of these leaves, each fused at its deadline or when it is complete.
  void Fuse(const std::vector<std::string>& leaves, int slots) {
    for (int i = 0; i < slots; ++i) {
      SetTime(++epoch_, steady_ns_);
      for (const std::string& leaf : leaves) Offer(leaf, Frame(epoch_, {1.0f}));
      SetTime(epoch_, steady_ns_ += 10 * kMs);  // past the deadline
      engine_->Advance(now_, out_);
      out_.Clear();
      published_.Clear();
      published_.Append().fused_unix_ns = now_.unix_ns;
      site_of_state_->Publish(published_);
    }
    clock_.Advance(now_.unix_ns - clock_.UnixNs());
  }
  SiteReadiness Judge() {
    const auto latest = site_of_state_->board().Latest();
    return JudgeSite(*engine_, state_.fleet,
                     latest ? std::optional(latest->slot.fused_unix_ns) : std::nullopt, clock_.UnixNs());
  }
  std::string PresenceOf(const std::string& leaf) {
    for (const SourceReadiness& source : Judge().sources) {
      if (source.name == leaf) return std::string(source.state);
    }
    return "";
  }
  http::HttpResponse Answer(const std::string& site = "") { return AnswerReadiness(state_, site); }
  std::string State() { return nlohmann::json::parse(Answer().body)["state"]; }

  const std::vector<std::string> kAll = {"north", "east", "south", "west"};
  std::map<std::string, Fleet::Membership> memberships_;
  estimate::Epoch epoch_ = kEpoch;
  std::int64_t steady_ns_ = 0;
  runtime::ManualClock clock_{0};
  bool takes_streams_ = true;
  bool store_healthy_ = true;
  runtime::Metrics metrics_;
  AggregatorState state_{.clock = clock_,
                         .takes_streams = [this] { return takes_streams_; },
                         .store_healthy = [this] { return store_healthy_; }};
  Site* site_of_state_ = nullptr;
  fusion::FusedSlots published_;
};

TEST_F(ReadinessTest, ASiteWithAllItsSourcesAndSlotsIsOk) {
  Connect(kAll);
  Fuse(kAll, 3);
  EXPECT_EQ(Judge().state, kOk);
  EXPECT_EQ(Judge().present(), 4u);
  EXPECT_EQ(State(), "ok");
  EXPECT_EQ(Answer().status, 200);
}

TEST_F(ReadinessTest, ASiteIsDegradedOnceANodeHasLeft) {
  Connect(kAll);
  Fuse(kAll, 3);
  Leave("west");
  EXPECT_EQ(PresenceOf("west"), "absent");
  EXPECT_EQ(State(), "degraded");
  EXPECT_EQ(Answer().status, 200);
  EXPECT_EQ(Answer("hall").status, 200) << "there is something to see";
}

TEST_F(ReadinessTest, DoesNotSayOkOnceEveryNodeHasLeft) {
  Connect(kAll);
  Fuse(kAll, 3);
  for (const std::string& leaf : kAll) Leave(leaf);
  EXPECT_EQ(State(), "silent");
  EXPECT_EQ(Answer().body.find("\"ok\""), std::string::npos);
  EXPECT_EQ(Answer().status, 200) << "it takes streams: nodes may be sent here";
  EXPECT_EQ(Answer("hall").status, 503);
}

TEST_F(ReadinessTest, ASourceThatIsConnectedAndMissesSlotsIsSilent) {
  Connect(kAll);
  Fuse({"north", "east", "south"}, kSilentAfterSlots);
  EXPECT_EQ(PresenceOf("west"), "silent");
  EXPECT_EQ(Judge().state, kDegraded);
  Fuse(kAll, 1);
  EXPECT_EQ(PresenceOf("west"), "present");
}

TEST_F(ReadinessTest, ASiteWithoutSlotsIsSilent) {
  Connect(kAll);
  EXPECT_EQ(Judge().state, kSilent) << "none yet";
  Fuse(kAll, 3);
  clock_.Advance(kSilentAfterNs + 2 * kMs);
  EXPECT_EQ(Judge().state, kSilent);
  EXPECT_GT(*Judge().since_last_slot_ns, kSilentAfterNs);
  EXPECT_EQ(PresenceOf("west"), "silent") << "connected, and in no slot";
}

TEST_F(ReadinessTest, ASiteOfLongSlotsIsNotSilentBetweenTwoOfThem) {
  site_.slot = *estimate::SlotLength::FromMs(60'000);
  Start();
  Connect(kAll);
  constexpr std::int64_t kNowNs = 1'700'000'000'000'000'000;
  const auto after = [&](std::int64_t seconds) {
    return JudgeSite(*engine_, state_.fleet, kNowNs - seconds * 1'000'000'000, kNowNs).state;
  };
  EXPECT_EQ(after(119), kOk);
  EXPECT_EQ(after(131), kSilent);
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

TEST_F(ReadinessTest, ASiteIsReadyFromAsManySourcesOnAsItNeeds) {
  Connect({"north", "east"});
  Fuse({"north", "east"}, 1);
  EXPECT_EQ(Answer("hall").status, 200) << "one is enough unless the site says more";
  for (const auto& [needed, status] : {std::pair<std::size_t, int>{2, 200}, {3, 503}, {0, 503}, {99, 503}}) {
    site_of_state_->set_account({.room = {}, .truth = {}, .ready_sources = needed});
    EXPECT_EQ(Answer("hall").status, status) << needed;
    EXPECT_EQ(nlohmann::json::parse(Answer("hall").body)["ready"], status == 200) << needed;
    EXPECT_EQ(Answer().status, 200) << "nodes may be sent here";
  }
}

TEST_F(ReadinessTest, AnUnknownSiteIsNotFound) { EXPECT_EQ(Answer("nowhere").status, 404); }

TEST_F(ReadinessTest, ExportsWhatIsExpectedAndWhatIsPresent) {
  Connect({"north", "east"});
  Fuse({"north", "east"}, 1);
  metrics_.AddCollector([this](runtime::Reading& reading) { CollectReadiness(state_, reading); });
  const std::string text = metrics_.Text();
  EXPECT_NE(text.find("tributary_sources_expected{site=\"hall\"} 4"), std::string::npos) << text;
  EXPECT_NE(text.find("tributary_sources_present{site=\"hall\"} 2"), std::string::npos) << text;
  EXPECT_NE(text.find("tributary_nodes_connected{site=\"hall\"} 2"), std::string::npos) << text;
  EXPECT_NE(text.find("tributary_leaf_present{leaf=\"east\",site=\"hall\"} 1"), std::string::npos) << text;
  EXPECT_NE(text.find("tributary_leaf_present{leaf=\"west\",site=\"hall\"} 0"), std::string::npos) << text;
}

}  // namespace
}  // namespace tributary::publish
