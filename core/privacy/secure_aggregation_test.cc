#include "core/privacy/secure_aggregation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/privacy/masking_node.h"

namespace tributary::privacy {
namespace {

constexpr char kContext[] = "run 1, round 3";
constexpr std::size_t kElements = 5003;

// Runs a whole round. Tests can replace single steps.
class SecureAggregationTest : public ::testing::Test {
 protected:
  void Advertise(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      nodes_.push_back(std::move(*MaskingNode::Create("node" + std::to_string(100 + i), kContext)));
      roster_.push_back(nodes_.back()->keys());
    }
    threshold_ = n - n / 3;
    std::mt19937 random(5);
    for (std::size_t i = 0; i < n; ++i) {
      words_.emplace_back(kElements);
      for (std::int32_t& word : words_.back()) word = static_cast<std::int32_t>(random());
    }
  }
  void Share(const std::set<std::size_t>& without = {}) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (without.contains(i)) continue;
      auto shares = nodes_[i]->Share(roster_, threshold_);
      ASSERT_TRUE(shares.ok()) << shares.status();
      EXPECT_EQ(shares->size(), nodes_.size() - 1);
      sealed_.insert(sealed_.end(), shares->begin(), shares->end());
      masked_.push_back(Name(i));
    }
  }
  std::string Name(std::size_t i) const { return roster_[i].node; }
  std::vector<SealedShare> Inbox(std::size_t i) const {
    std::vector<SealedShare> inbox;
    std::ranges::copy_if(sealed_, std::back_inserter(inbox),
                         [&](const SealedShare& share) { return share.to == Name(i); });
    return inbox;
  }
  // The sum that the nodes other than `without` send, and the plain sum of the same nodes.
  void Collect(const std::set<std::size_t>& without = {}) {
    sum_.assign(kElements, 0);
    plain_.assign(kElements, 0);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (std::ranges::find(masked_, Name(i)) == masked_.end()) continue;
      if (without.contains(i)) {
        dropped_.push_back(Name(i));
        continue;
      }
      survivors_.push_back(Name(i));
      std::vector<std::int32_t> sent = words_[i];
      ASSERT_TRUE(nodes_[i]->Mask(Inbox(i), sent).ok());
      EXPECT_NE(sent, words_[i]);
      for (std::size_t k = 0; k < kElements; ++k) {
        sum_[k] += static_cast<std::uint32_t>(sent[k]);
        plain_[k] += static_cast<std::uint32_t>(words_[i][k]);
      }
    }
  }
  void Reveal(const std::set<std::size_t>& silent = {}) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (std::ranges::find(survivors_, Name(i)) == survivors_.end() || silent.contains(i)) continue;
      auto shares = nodes_[i]->Reveal(survivors_, dropped_);
      ASSERT_TRUE(shares.ok()) << shares.status();
      revealed_.push_back(*shares);
    }
  }
  absl::StatusOr<MaskRecovery> Recovery() const {
    return MaskRecovery::Create(roster_, threshold_, kContext, masked_, survivors_, revealed_);
  }
  // In uneven pieces, as chunks arrive.
  std::vector<std::uint32_t> Unmasked(const MaskRecovery& recovery) const {
    std::vector<std::int32_t> words(sum_.begin(), sum_.end());
    const std::span<std::int32_t> all = words;
    EXPECT_TRUE(recovery.Subtract(4099, all.subspan(4099)).ok());
    EXPECT_TRUE(recovery.Subtract(0, all.first(17)).ok());
    EXPECT_TRUE(recovery.Subtract(17, all.subspan(17, 4099 - 17)).ok());
    return {words.begin(), words.end()};
  }
  void ExpectPlainSum() {
    const auto recovery = Recovery();
    ASSERT_TRUE(recovery.ok()) << recovery.status();
    EXPECT_NE(sum_, plain_);
    EXPECT_EQ(Unmasked(*recovery), plain_);
  }

  std::vector<std::unique_ptr<MaskingNode>> nodes_;
  MaskingRoster roster_;
  std::size_t threshold_ = 0;
  std::vector<std::vector<std::int32_t>> words_;
  std::vector<SealedShare> sealed_;
  std::vector<std::string> masked_, survivors_, dropped_;
  std::vector<std::uint32_t> sum_, plain_;
  std::vector<RevealedShares> revealed_;
};

class GroupSizeTest : public SecureAggregationTest, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(GroupSizeTest, GivesThePlainSumBitForBit) {
  Advertise(GetParam());
  Share();
  Collect();
  Reveal();
  ExpectPlainSum();
}
INSTANTIATE_TEST_SUITE_P(Sizes, GroupSizeTest, ::testing::Values(2, 3, 5, 20));

TEST_F(SecureAggregationTest, GivesThePlainSumWithAThirdDroppingBeforeTheySend) {
  Advertise(12);
  Share();
  Collect({0, 4, 7, 11});
  Reveal();
  ExpectPlainSum();
}

TEST_F(SecureAggregationTest, GivesThePlainSumWithNodesDroppingAtEveryStep) {
  Advertise(12);
  Share({3});
  Collect({0, 8});
  Reveal({5});
  ExpectPlainSum();
}

TEST_F(SecureAggregationTest, EveryNodesWordsAreMasked) {
  Advertise(3);
  Share();
  std::vector<std::int32_t> sent(kElements);
  ASSERT_TRUE(nodes_[0]->Mask(Inbox(0), sent).ok());
  // About 1e-6 of 5003 random words are zero.
  EXPECT_LE(std::ranges::count(sent, 0), 1);
}

TEST_F(SecureAggregationTest, TellsNothingWithTooFewShares) {
  Advertise(6);
  Share();
  Collect({1});
  Reveal();
  revealed_.resize(threshold_ - 1);
  EXPECT_EQ(Recovery().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SecureAggregationTest, NeverRevealsBothSharesOfOneNode) {
  Advertise(5);
  Share();
  Collect({1});
  const std::vector<std::string> more_survivors = masked_;
  const std::vector<std::string> both = {Name(1)};
  EXPECT_EQ(nodes_[0]->Reveal(more_survivors, both).status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(nodes_[0]->Reveal(survivors_, dropped_).ok());
  EXPECT_EQ(nodes_[0]->Reveal(more_survivors, {}).status().code(), absl::StatusCode::kFailedPrecondition);
  const auto again = nodes_[0]->Reveal(survivors_, dropped_);
  ASSERT_TRUE(again.ok());
  std::set<std::string> of;
  for (const RevealedShare& share : again->seeds) EXPECT_TRUE(of.insert(share.of).second);
  for (const RevealedShare& share : again->keys) EXPECT_TRUE(of.insert(share.of).second);
}

TEST_F(SecureAggregationTest, RevealsNothingToTooSmallAGroup) {
  Advertise(6);
  Share();
  Collect();
  const std::vector<std::string> few = {Name(0), Name(1)};
  EXPECT_FALSE(nodes_[0]->Reveal(few, {}).ok());
  const std::vector<std::string> without_itself = {Name(1), Name(2), Name(3), Name(4)};
  EXPECT_FALSE(nodes_[0]->Reveal(without_itself, {}).ok());
}

TEST_F(SecureAggregationTest, RefusesShares) {
  Advertise(4);
  Share();
  std::vector<std::int32_t> words(kElements);
  const std::vector<SealedShare> good = Inbox(0);

  std::vector<SealedShare> altered = good;
  altered.push_back(good[0]);
  EXPECT_EQ(nodes_[0]->Mask(altered, words).code(), absl::StatusCode::kInvalidArgument);
  altered = good;
  altered[0].from = "mallory";
  EXPECT_EQ(nodes_[0]->Mask(altered, words).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(nodes_[0]->Mask(std::span(good).first(1), words).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(words, std::vector<std::int32_t>(kElements)) << "a refusal leaves the words as they were";
  EXPECT_TRUE(nodes_[0]->Mask(good, words).ok());
}

TEST_F(SecureAggregationTest, GivesThePlainSumWithoutTheSharesThatANodeSpoils) {
  Advertise(6);
  Share();
  // Node 1 sends two bad shares: one damaged, one that does not match its digest.
  const auto spoil = [&](std::size_t to, auto change) {
    for (SealedShare& share : sealed_) {
      if (share.from == Name(1) && share.to == Name(to)) change(share);
    }
  };
  spoil(0, [](SealedShare& share) { share.ciphertext[20] = static_cast<char>(share.ciphertext[20] ^ 1); });
  spoil(2, [](SealedShare& share) { share.key_digest[0] ^= std::byte{1}; });
  Collect({3});
  EXPECT_EQ(nodes_[0]->unusable(), std::vector<std::string>{Name(1)});
  EXPECT_EQ(nodes_[2]->unusable(), std::vector<std::string>{Name(1)});
  EXPECT_TRUE(nodes_[4]->unusable().empty());
  Reveal();
  // Three of the five survivors hold a share of node 1's seed, node 1 included: four are needed.
  EXPECT_EQ(Recovery().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(Recovery().status().message().find("3 shares of " + Name(1)), std::string::npos);
}

TEST_F(SecureAggregationTest, RecoversWithOneSpoiltShare) {
  Advertise(6);
  Share();
  sealed_[0].ciphertext.resize(10);  // from node 0 to node 1
  Collect({3});
  Reveal();
  ExpectPlainSum();
}

TEST_F(SecureAggregationTest, KnowsAShareThatIsNotTheOneThatWasGivenOut) {
  Advertise(6);
  Share();
  Collect({2});
  Reveal();
  const auto given = [this](std::string_view from, std::string_view to) -> const SealedShare* {
    const auto found = std::ranges::find_if(
        sealed_, [&](const SealedShare& share) { return share.from == from && share.to == to; });
    return found == sealed_.end() ? nullptr : &*found;
  };
  for (const RevealedShares& shares : revealed_) EXPECT_TRUE(CheckRevealed(shares, kContext, given).ok());
  RevealedShares wrong = revealed_[0];
  wrong.keys[0].share[5] ^= std::byte{1};
  EXPECT_EQ(CheckRevealed(wrong, kContext, given).code(), absl::StatusCode::kInvalidArgument);
  wrong = revealed_[0];
  wrong.seeds[1].share[5] ^= std::byte{1};
  EXPECT_EQ(CheckRevealed(wrong, kContext, given).code(), absl::StatusCode::kInvalidArgument);
  wrong = revealed_[0];
  wrong.seeds[1].share = wrong.keys[0].share;  // a good one of something else
  EXPECT_EQ(CheckRevealed(wrong, kContext, given).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(CheckRevealed(revealed_[0], "another round", given).ok());
}

TEST_F(SecureAggregationTest, NamesWhoseSharesDoNotGiveWhatItAdvertised) {
  Advertise(6);
  Share();
  Collect({2});
  Reveal();
  const MaskingRoster good = roster_;
  std::string at_fault;
  const auto recover = [&] {
    return MaskRecovery::Create(roster_, threshold_, kContext, masked_, survivors_, revealed_, &at_fault)
        .status();
  };
  EXPECT_TRUE(recover().ok());
  EXPECT_EQ(at_fault, "");
  roster_[4].seed_digest[0] ^= std::byte{1};
  EXPECT_EQ(recover().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(at_fault, Name(4));
  roster_ = good;
  roster_[2].mask_key = (*MaskingNode::Create("other", kContext))->keys().mask_key;
  EXPECT_EQ(recover().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(at_fault, Name(2));
}

TEST_F(SecureAggregationTest, RefusesKeysThatNobodyCanAgreeWith) {
  Advertise(2);
  EXPECT_TRUE(CheckKeys(roster_[0]).ok());
  MaskingKeys keys = roster_[0];
  keys.mask_key = {};
  EXPECT_EQ(CheckKeys(keys).code(), absl::StatusCode::kInvalidArgument);
  keys = roster_[0];
  keys.cipher_key = {std::byte{1}};  // of order 4
  EXPECT_EQ(CheckKeys(keys).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SecureAggregationTest, RefusesRostersAndKeys) {
  Advertise(4);
  MaskingRoster roster = roster_;
  roster[2].mask_key = Key32{};  // a point of small order
  EXPECT_TRUE(ValidateRoster(roster, 3).ok());
  roster[2].cipher_key.fill(std::byte{0});
  roster[2].mask_key.fill(std::byte{1});
  EXPECT_EQ(nodes_[0]->Share(roster, 3).status().code(), absl::StatusCode::kInvalidArgument);
  roster = roster_;
  roster[2].mask_key = roster[1].mask_key;
  EXPECT_FALSE(nodes_[0]->Share(roster, 3).ok());
  roster = roster_;
  std::swap(roster[1], roster[2]);
  EXPECT_FALSE(nodes_[0]->Share(roster, 3).ok());
  roster = roster_;
  std::swap(roster[0].mask_key, roster[0].cipher_key);
  EXPECT_FALSE(nodes_[0]->Share(roster, 3).ok());
  EXPECT_FALSE(nodes_[0]->Share({roster_.begin() + 1, roster_.end()}, 3).ok());
  EXPECT_FALSE(nodes_[0]->Share(roster_, 2).ok());
  EXPECT_FALSE(nodes_[0]->Share(roster_, 5).ok());
  EXPECT_TRUE(nodes_[0]->Share(roster_, 3).ok());
  EXPECT_EQ(nodes_[0]->Share(roster_, 4).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SecureAggregationTest, NoticesWrongRevelations) {
  Advertise(6);
  Share();
  Collect({2});
  Reveal();
  const std::vector<RevealedShares> good = revealed_;
  revealed_[0].keys[0].share[5] ^= std::byte{1};
  EXPECT_EQ(Recovery().status().code(), absl::StatusCode::kDataLoss);
  revealed_ = good;
  revealed_[0].seeds[1].share[5] ^= std::byte{1};
  EXPECT_EQ(Recovery().status().code(), absl::StatusCode::kDataLoss);
  revealed_ = good;
  revealed_[0].seeds.push_back({Name(2), {}});  // the other half of a dropped node's
  EXPECT_EQ(Recovery().status().code(), absl::StatusCode::kInvalidArgument);
  revealed_ = good;
  revealed_.push_back(good[0]);
  EXPECT_EQ(Recovery().status().code(), absl::StatusCode::kInvalidArgument);
  revealed_ = good;
  revealed_[0].from = "mallory";
  EXPECT_EQ(Recovery().status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::privacy
