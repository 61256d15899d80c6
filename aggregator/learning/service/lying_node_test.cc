// Nodes that break the protocol of secure aggregation: what that costs the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "aggregator/learning/service/masked_node_fixture.h"

namespace tributary::learning {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MaskedNode;
using testing::RoundsHost;

// a, b and c are honest, d is not; three shares are enough.
class LyingNodeTest : public ::testing::Test {
 protected:
  LyingNodeTest() {
    host_.Start();
    const std::string config =
        "name = \"r\"\nrounds = 1\nmin_nodes = 3\nquorum = 2\ndeadline_s = 15\nweighting = \"uniform\"\n"
        "[privacy]\nsecure_aggregation = true\n";
    EXPECT_TRUE(host_.StartRun(config, RoundsHost::ModelFile(3)).ok());
    const auto expect_ok = [](const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; };
    host_.coordinator().Change("r", &Run::Pause, expect_ok);
    for (const char* name : {"a", "b", "c"}) honest_.push_back(std::make_unique<MaskedNode>(host_, name));
    d_ = std::make_unique<MaskedNode>(host_, "d");
    for (const auto& node : honest_) node->AwaitReason("paused");
    d_->AwaitReason("paused");
    host_.coordinator().Change("r", &Run::Resume, expect_ok);
  }

  // The honest nodes do it.
  void AdvertiseKeys() {
    for (const auto& node : honest_) node->AdvertiseKeys();
  }
  void ShareKeys() {
    for (const auto& node : honest_) node->ShareKeys();
  }
  void Submit() {
    for (const auto& node : honest_) node->SubmitMasked(node->Task(), {2, 0, 4});
  }
  void Unmask() {
    for (const auto& node : honest_) node->Unmask();
  }

  // One round has failed because of d; the next one does without it.
  void ExpectDLeftOut(const std::string& failure) {
    EXPECT_THAT(host_.WaitForRound(1).failure(), HasSubstr(failure));
    d_->AwaitReason("left out since round 1");
    AdvertiseKeys();
    ShareKeys();
    Submit();
    for (const std::size_t enough : {0, 1}) honest_[enough]->Unmask();
    ExpectMean(2, 3);
  }
  // 0, 1, 2 and the mean of what each has sent, 2, 0, 4.
  void ExpectMean(std::uint32_t round, std::uint32_t accepted) {
    const v1::Round committed = host_.WaitForRound(round);
    EXPECT_EQ(committed.failure(), "");
    EXPECT_EQ(committed.accepted(), accepted);
    EXPECT_THAT(host_.Parameters(round), ElementsAre(2, 1, 6));
  }

  RoundsHost host_;
  std::vector<std::unique_ptr<MaskedNode>> honest_;
  std::unique_ptr<MaskedNode> d_;
};

TEST_F(LyingNodeTest, CannotKeepOthersFromSharingWithKeysThatNobodyCanAgreeWith) {
  d_->AdvertiseKeys([](privacy::MaskingKeys& keys) { keys.mask_key = {}; }, false);
  d_->AdvertiseKeys([](privacy::MaskingKeys& keys) { keys.cipher_key = keys.mask_key; }, false);
  AdvertiseKeys();
  d_->AdvertiseKeys([&](privacy::MaskingKeys& keys) { keys.mask_key = honest_[0]->keys().cipher_key; },
                    false);
  EXPECT_EQ(host_.coordinator().counters().refused_steps, 3u);
  d_->AdvertiseKeys();
  ShareKeys();
  d_->ShareKeys();
  Submit();
  d_->SubmitMasked(d_->Task(), {2, 0, 4});
  Unmask();
  ExpectMean(1, 4);
}

TEST_F(LyingNodeTest, IsRefusedWrongSharesOfOthersAndTheRoundGoesOnWithoutThem) {
  AdvertiseKeys();
  d_->AdvertiseKeys();
  ShareKeys();
  d_->ShareKeys();
  Submit();
  d_->SubmitMasked(d_->Task(), {2, 0, 4});
  d_->Unmask([](privacy::RevealedShares& shares) { shares.seeds[0].share[7] ^= std::byte{1}; });
  EXPECT_EQ(host_.coordinator().counters().refused_steps, 1u);
  Unmask();
  ExpectMean(1, 4);
}

TEST_F(LyingNodeTest, WhoseShareForOneNodeIsNoGoodCostsNothing) {
  AdvertiseKeys();
  d_->AdvertiseKeys();
  ShareKeys();
  d_->ShareKeys([](privacy::SealedShare& share) {
    if (share.to == "a") share.seed_digest[7] ^= std::byte{1};
  });
  Submit();
  d_->SubmitMasked(d_->Task(), {2, 0, 4});
  Unmask();      // a has none of d's
  d_->Unmask();  // its own is the third
  ExpectMean(1, 4);
}

TEST_F(LyingNodeTest, WhoseSharesAreNoGoodCostsOneRoundAndIsLeftOut) {
  AdvertiseKeys();
  d_->AdvertiseKeys();
  ShareKeys();
  d_->ShareKeys([](privacy::SealedShare& share) {
    share.ciphertext[20] = static_cast<char>(share.ciphertext[20] ^ 1);
  });
  Submit();
  d_->SubmitMasked(d_->Task(), {8, 8, 8});
  Unmask();
  d_->Unmask();
  ExpectDLeftOut("too few good shares");
}

TEST_F(LyingNodeTest, WhoseSharesGiveAnotherSeedCostsOneRoundAndIsLeftOut) {
  AdvertiseKeys();
  d_->AdvertiseKeys([](privacy::MaskingKeys& keys) { keys.seed_digest[7] ^= std::byte{1}; });
  ShareKeys();
  d_->ShareKeys();
  Submit();
  d_->SubmitMasked(d_->Task(), {8, 8, 8});
  Unmask();
  ExpectDLeftOut("the shares of d do not give the seed that it advertised");
}

}  // namespace
}  // namespace tributary::learning
