#include "aggregator/learning/round/roster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "google/protobuf/util/message_differencer.h"

namespace tributary::learning {
namespace {

class RosterTest : public ::testing::Test {
 protected:
  static v1::ParticipateRequest Declaration(std::string node, std::uint64_t samples = 100,
                                            std::string boot_id = "first boot") {
    v1::ParticipateRequest declaration;
    declaration.set_node(std::move(node));
    declaration.set_boot_id(std::move(boot_id));
    declaration.set_sample_count(samples);
    return declaration;
  }
  static v1::AskedNode Asked(std::string node, double weight, std::uint64_t samples, bool partial_sums) {
    v1::AskedNode asked;
    asked.set_node(std::move(node));
    asked.set_weight(weight);
    asked.set_sample_count(samples);
    asked.set_partial_sums(partial_sums);
    return asked;
  }
  void ExpectReady(UpdateWeighting weighting, const std::vector<v1::AskedNode>& expected) const {
    const std::vector<v1::AskedNode> ready = roster_.Ready(weighting);
    EXPECT_TRUE(std::ranges::equal(ready, expected, google::protobuf::util::MessageDifferencer::Equals));
  }
  void Decline(const char* node, bool for_good) {
    v1::DeclineTaskRequest decline;
    decline.set_node(node);
    decline.set_reason(v1::DECLINE_REASON_IMAGES);
    decline.set_for_good(for_good);
    decline.set_message("side 32");
    roster_.CountDeclined(decline, 1);
  }
  const v1::Participant& Status(std::string_view node) const { return roster_.Find(node)->status; }
  // What the counts have to be, by looking at everybody.
  void ExpectCountsThatAddUp() const {
    std::size_t connected = 0;
    std::size_t unable = 0;
    std::uint64_t samples = 0;
    std::size_t ready = 0;
    for (const auto& [name, node] : roster_.nodes()) {
      const v1::Participant& status = node.status;
      connected += status.connected();
      unable += status.connected() && !status.cannot_train().empty();
      if (!status.connected() || status.sample_count() == 0 || !status.cannot_train().empty()) continue;
      ++ready;
      samples += status.sample_count();
    }
    EXPECT_EQ(roster_.connected(), connected);
    EXPECT_EQ(roster_.unable(), unable);
    EXPECT_EQ(roster_.ready(), ready);
    EXPECT_EQ(roster_.ready_samples(), samples);
    EXPECT_EQ(roster_.Ready(UpdateWeighting::kSamples).size(), ready);
  }

  Roster roster_;
};

TEST_F(RosterTest, CountsWhoIsHereAndWhoCanBeAsked) {
  roster_.Join(Declaration("birch"));
  roster_.Join(Declaration("ash", 50));
  roster_.Join(Declaration("cedar", 0));
  roster_.Join(Declaration("dogwood"));
  Decline("dogwood", true);
  EXPECT_EQ(roster_.joined(), 4u);
  EXPECT_EQ(roster_.connected(), 4u);
  EXPECT_EQ(roster_.ready(), 2u);
  EXPECT_EQ(roster_.ready_samples(), 150u);
  EXPECT_EQ(roster_.unable(), 1u);
  EXPECT_TRUE(roster_.Leave("dogwood", "first boot"));
  EXPECT_EQ(roster_.unable(), 0u) << "it is not here";
  EXPECT_EQ(roster_.joined(), 4u);
}

TEST_F(RosterTest, ListsTheReadyOnesByNameWithTheirWeights) {
  roster_.Join(Declaration("birch"));
  roster_.Join(Declaration("ash", 50));
  ExpectReady(UpdateWeighting::kSamples, {Asked("ash", 50, 50, false), Asked("birch", 100, 100, false)});
  ExpectReady(UpdateWeighting::kUniform, {Asked("ash", 1, 50, false), Asked("birch", 1, 100, false)});
}

TEST_F(RosterTest, TheEndOfAnEarlierProcessLeavesTheNodeConnected) {
  roster_.Join(Declaration("ash"));
  roster_.Join(Declaration("ash", 100, "second boot"));
  EXPECT_FALSE(roster_.Leave("ash", "first boot"));
  EXPECT_FALSE(roster_.Leave("birch", "first boot"));
  EXPECT_EQ(roster_.connected(), 1u);
  EXPECT_TRUE(roster_.Leave("ash", "second boot"));
  EXPECT_TRUE(roster_.Leave("ash", "second boot")) << "once more changes nothing";
  EXPECT_EQ(roster_.connected(), 0u);
}

TEST_F(RosterTest, ForgetsNodesOfTheWeakestClaimFirst) {
  for (const char* node : {"ash", "birch", "cedar", "dogwood"}) roster_.Join(Declaration(node));
  for (const char* node : {"elm", "fir"}) roster_.Join(Declaration(node, 0));
  for (const char* node : {"birch", "fir"}) roster_.CountAccepted(node, 1);
  for (const char* node : {"ash", "birch", "cedar"}) roster_.Leave(node, "first boot");
  roster_.changes().Take();
  const auto forget = [this](Roster::Claim keeps) {
    const bool forgot =
        roster_.ForgetOne(keeps, [](const v1::Participant& node) { return node.node() == "ash"; });
    const std::vector<std::string> changed = roster_.changes().Take().nodes;
    EXPECT_EQ(changed.size(), forgot ? 1u : 0u);
    ExpectCountsThatAddUp();
    return forgot ? changed.front() : "nobody";
  };
  EXPECT_EQ(forget(Roster::Claim::kNoSamples), "cedar");
  EXPECT_EQ(forget(Roster::Claim::kNoSamples), "nobody");
  EXPECT_EQ(forget(Roster::Claim::kKeeps), "elm");
  EXPECT_EQ(forget(Roster::Claim::kKeeps), "birch");
  EXPECT_EQ(forget(Roster::Claim::kKeeps), "nobody") << "fir is connected and has sent an update";
  EXPECT_EQ(roster_.joined(), 3u);
}

TEST_F(RosterTest, ANewProcessOrDeclarationTakesADeclineBackButNotABreachOfProtocol) {
  for (const char* node : {"ash", "birch"}) roster_.Join(Declaration(node));
  Decline("ash", true);
  roster_.LeaveOut("birch", "it gave out wrong shares");
  for (const char* node : {"ash", "birch"}) roster_.Join(Declaration(node));
  EXPECT_EQ(roster_.unable(), 2u) << "nothing is new";
  for (const char* node : {"ash", "birch"}) roster_.Join(Declaration(node, 101));
  EXPECT_EQ(roster_.ready(), 1u);
  EXPECT_EQ(Status("ash").cannot_train(), "");
  EXPECT_EQ(Status("birch").cannot_train(), "it gave out wrong shares");
}

TEST_F(RosterTest, ADeclineForNowIsCountedAndNothingElse) {
  roster_.Join(Declaration("ash"));
  Decline("ash", false);
  EXPECT_EQ(roster_.ready(), 1u);
  EXPECT_EQ(Status("ash").declined_tasks(), 1u);
  EXPECT_EQ(Status("ash").last_refusal(), "declined round 1: images: side 32");
}

TEST_F(RosterTest, KeepsTheRecordOfANode) {
  roster_.Join(Declaration("ash"));
  roster_.CountAccepted("ash", 7);
  roster_.CountRefused("ash", "late: too late");
  roster_.CountDropped("ash");
  EXPECT_EQ(Status("ash").last_round(), 7u);
  EXPECT_EQ(Status("ash").accepted_updates(), 1u);
  EXPECT_EQ(Status("ash").refused_updates(), 1u);
  EXPECT_EQ(Status("ash").last_refusal(), "late: too late");
  EXPECT_EQ(Status("ash").dropped_rounds(), 1u);
}

TEST_F(RosterTest, DoesNotGetToKnowANodeByWhatIsSaidOfIt) {
  roster_.CountAccepted("ash", 1);
  roster_.CountRefused("ash", "late");
  roster_.CountDropped("ash");
  roster_.LeaveOut("ash", "why");
  Decline("ash", true);
  EXPECT_EQ(roster_.known(), 0u);
  EXPECT_EQ(roster_.Find("ash"), nullptr);
}

TEST_F(RosterTest, ComesBackFromARestartWithNobodyConnected) {
  roster_.RestoreAsked(Asked("birch", 60, 60, true));
  roster_.RestoreAccepted("cedar", 4);
  EXPECT_EQ(roster_.known(), 2u);
  EXPECT_EQ(roster_.joined(), 0u) << "the places are free";
  EXPECT_EQ(roster_.connected(), 0u);
  EXPECT_TRUE(Status("birch").node() == "birch" && Status("cedar").node() == "cedar");
  EXPECT_TRUE(roster_.Find("birch")->declaration.partial_sums());
  EXPECT_EQ(Status("birch").sample_count(), 60u);
  EXPECT_EQ(Status("cedar").last_round(), 4u);
}

// Everybody may join a full run again and again.
TEST_F(RosterTest, LooksAtFewNodesForAPlaceHoweverManyHaveLeft) {
  for (int i = 0; i < 1'000; ++i) {
    const std::string node = "node" + std::to_string(i);
    roster_.Join(Declaration(node, 1, "boot"));
    ASSERT_TRUE(roster_.Leave(node, "boot"));
  }
  std::size_t looked = 0;
  const auto needed = [&](const v1::Participant&) { return ++looked > 0; };
  EXPECT_FALSE(roster_.ForgetOne(Roster::Claim::kKeeps, needed));
  EXPECT_EQ(looked, Roster::kMostLooked);
  EXPECT_EQ(roster_.known(), 1'000u);
}

TEST_F(RosterTest, ItsCountsAddUpWhateverHappens) {
  std::mt19937_64 random(1);
  const auto draw = [&random](std::uint64_t n) { return random() % n; };
  for (int i = 0; i < 5000; ++i) {
    const std::string node = "node" + std::to_string(draw(12));
    switch (draw(6)) {
      case 0:
      case 1:
        roster_.Join(Declaration(node, draw(4), draw(2) == 0 ? "first boot" : "second boot"));
        break;
      case 2:
        (void)roster_.Leave(node, "first boot");
        break;
      case 3:
        Decline(node.c_str(), draw(2) == 0);
        break;
      case 4:
        if (draw(10) == 0) roster_.LeaveOut(node, "why");
        break;
      default:
        roster_.RestoreAccepted(node, 1);
    }
    ExpectCountsThatAddUp();
    ASSERT_FALSE(HasFailure()) << "after " << i << " steps";
  }
}

}  // namespace
}  // namespace tributary::learning
