// Secure aggregation as a node does it, read off the wire.
#include "core/link/masking_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "core/link/federation_client.h"
#include "core/link/federation_server_fixture.h"
#include "core/parameters/update_encoding.h"

namespace tributary::link {
namespace {

using testing::FakeFederation;
using testing::TrainResponse;

constexpr std::size_t kElements = 4'000;

std::string Bytes(const privacy::Key32& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

privacy::Key32 KeyOf(const std::string& bytes) {
  privacy::Key32 key{};
  std::memcpy(key.data(), bytes.data(), std::min(key.size(), bytes.size()));
  return key;
}

// Modulo 2^32.
std::int32_t Sum(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

// "south" is the client under test. The test plays "east", "west" and the aggregator.
class MaskingStepsTest : public ::testing::Test {
 protected:
  MaskingStepsTest() {
    server_.answer.set_accepted(true);
    std::mt19937 random(1);
    for (std::int32_t& word : words_) word = static_cast<std::int32_t>(random() % 2001) - 1000;
    Connect();
  }

  void Connect() {
    FederationClientOptions options;
    options.aggregator = server_.address();
    options.node = "south";
    options.run = "run";
    options.sample_count = 70;
    options.secure_aggregation = true;
    client_.emplace(std::move(options), clock_);
  }

  void Await(std::size_t steps) {
    while (server_.steps() < steps) std::this_thread::yield();
  }

  void AdvertiseKeys(std::uint32_t round = 1) {
    v1::ParticipateResponse task;
    task.set_run("run");
    task.mutable_advertise_keys()->set_round(round);
    const std::size_t before = server_.steps();
    server_.Push(task);
    Await(before + 1);
  }

  void ShareKeys(std::uint32_t threshold = 2) {
    const v1::AdvertiseKeysRequest keys = server_.last_keys();
    roster_ = {{"south", KeyOf(keys.cipher_key()), KeyOf(keys.mask_key()), KeyOf(keys.seed_digest())}};
    for (const auto& [name, node] : {std::pair("east", &east_), std::pair("west", &west_)}) {
      *node = *privacy::MaskingNode::Create(name, privacy::MaskingContext("run", keys.round()));
      roster_.push_back((*node)->keys());
    }
    std::ranges::sort(roster_, {}, &privacy::MaskingKeys::node);
    v1::ParticipateResponse task;
    task.set_run("run");
    task.mutable_share_keys()->set_round(keys.round());
    task.mutable_share_keys()->set_threshold(threshold);
    PutRoster(*task.mutable_share_keys()->mutable_nodes());
    server_.Push(task);
  }

  v1::ParticipateResponse Training() {
    v1::ParticipateResponse task = TrainResponse(server_.last_keys().round(), kElements, 10);
    task.mutable_train()->mutable_settings()->set_encoding(v1::UPDATE_ENCODING_FIXED32);
    v1::MaskingTask& masking = *task.mutable_train()->mutable_masking();
    masking.set_threshold(2);
    PutRoster(*masking.mutable_nodes());
    sealed_.clear();
    for (privacy::MaskingNode* node : {east_.get(), west_.get()}) {
      const auto shares = node->Share(roster_, 2);
      sealed_.insert(sealed_.end(), shares->begin(), shares->end());
    }
    for (const privacy::SealedShare& share : SharesFor("south")) {
      v1::EncryptedShare& wire = *masking.add_shares();
      wire.set_from(share.from);
      wire.set_to(share.to);
      wire.set_ciphertext(share.ciphertext);
      wire.set_seed_digest(Bytes(share.seed_digest));
      wire.set_key_digest(Bytes(share.key_digest));
    }
    return task;
  }

  FederationClient::Assignment Assigned() {
    AdvertiseKeys();
    ShareKeys();
    Await(2);
    server_.Push(Training());
    return *client_->Next();
  }

  // A copy of the plain words is masked and sent.
  absl::StatusOr<SubmitAnswer> Submit(const FederationClient::Assignment& assignment) {
    std::vector<std::int32_t> words = words_;
    v1::UpdateHeader said;
    said.set_sample_count(70);
    return client_->SubmitMasked(assignment, words, said);
  }

  void Unmask(const std::vector<std::string>& survivors, const std::vector<std::string>& dropped) {
    v1::ParticipateResponse task;
    task.set_run("run");
    task.mutable_unmask()->set_round(1);
    task.mutable_unmask()->mutable_survivors()->Assign(survivors.begin(), survivors.end());
    task.mutable_unmask()->mutable_dropped()->Assign(dropped.begin(), dropped.end());
    server_.Push(task);
  }

  std::vector<privacy::SealedShare> SharesFor(const std::string& node) const {
    std::vector<privacy::SealedShare> inbox;
    std::ranges::copy_if(sealed_, std::back_inserter(inbox),
                         [&](const privacy::SealedShare& share) { return share.to == node; });
    return inbox;
  }

  privacy::RevealedShares RevealedBySouth() const {
    privacy::RevealedShares shares{"south", {}, {}};
    for (const auto& each : server_.revealed[0].seed_shares()) {
      shares.seeds.push_back({each.of(), KeyOf(each.share())});
    }
    for (const auto& each : server_.revealed[0].key_shares()) {
      shares.keys.push_back({each.of(), KeyOf(each.share())});
    }
    return shares;
  }

  // The last submission's words.
  std::vector<std::int32_t> Sent() {
    std::vector<std::int32_t> all;
    parameters::UpdateDecoder decoder(parameters::UpdateEncoding::kFixed32, kElements);
    const auto& requests = server_.submissions.back();
    for (std::size_t i = 1; i < requests.size(); ++i) {
      const v1::UpdateChunk& chunk = requests[i].chunk();
      const auto words = decoder.DecodeFixed(chunk.offset(), chunk.count(), chunk.payload());
      EXPECT_TRUE(words.ok()) << words.status();
      all.insert(all.end(), words->begin(), words->end());
    }
    return all;
  }

  runtime::SystemClock clock_;
  FakeFederation server_;
  privacy::MaskingRoster roster_;
  std::vector<privacy::SealedShare> sealed_;
  std::unique_ptr<privacy::MaskingNode> east_, west_;
  std::vector<std::int32_t> words_ = std::vector<std::int32_t>(kElements);
  std::optional<FederationClient> client_;

 private:
  void PutRoster(google::protobuf::RepeatedPtrField<v1::NodeKeys>& wire) const {
    for (const privacy::MaskingKeys& each : roster_) {
      v1::NodeKeys& keys = *wire.Add();
      keys.set_node(each.node);
      keys.set_cipher_key(Bytes(each.cipher_key));
      keys.set_mask_key(Bytes(each.mask_key));
    }
  }
};

TEST_F(MaskingStepsTest, SaysThatItCanMask) {
  AdvertiseKeys();
  EXPECT_TRUE(server_.participations[0].secure_aggregation());
  EXPECT_EQ(server_.keys[0].node(), "south");
  EXPECT_EQ(server_.keys[0].run(), "run");
}

// Masked words are uniform, so they do not correlate with the plain ones. The correlation of 4,000 pairs of
// independent uniform words deviates by 1/√4000 = 0.016; the bound is five of them.
TEST_F(MaskingStepsTest, NoPlainWordLeaves) {
  const auto assignment = Assigned();
  ASSERT_TRUE(Submit(assignment)->accepted());
  EXPECT_EQ(server_.submissions[0][0].header().encoding(), v1::UPDATE_ENCODING_FIXED32);
  const std::vector<std::int32_t> sent = Sent();
  ASSERT_EQ(sent.size(), words_.size());
  double product = 0, plain = 0, masked = 0;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    product += static_cast<double>(sent[i]) * words_[i];
    plain += static_cast<double>(words_[i]) * words_[i];
    masked += static_cast<double>(sent[i]) * sent[i];
  }
  EXPECT_LT(std::abs(product / std::sqrt(plain * masked)), 5 * 0.016);
  // Expected of uniform words; the plain ones have 577.
  EXPECT_NEAR(std::sqrt(masked / kElements), 0x1p32 / std::sqrt(12.0), 0.05 * 0x1p32 / std::sqrt(12.0));
  const std::string bytes(reinterpret_cast<const char*>(words_.data()), 4 * sizeof(std::int32_t));
  for (const std::string& message : server_.wire) EXPECT_EQ(message.find(bytes), std::string::npos);
}

TEST_F(MaskingStepsTest, WhatItRevealsGivesTheSumOfTheSurvivors) {
  const auto assignment = Assigned();
  ASSERT_TRUE(Submit(assignment)->accepted());
  for (const v1::EncryptedShare& share : server_.shares[0].shares()) {
    sealed_.push_back({share.from(), share.to(), share.ciphertext(), KeyOf(share.seed_digest()),
                       KeyOf(share.key_digest())});
  }
  std::vector<std::int32_t> sum(kElements, 5);  // west's words
  ASSERT_TRUE(west_->Mask(SharesFor("west"), sum).ok());
  const std::vector<std::int32_t> sent = Sent();
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = Sum(sum[i], sent[i]);

  const std::vector<std::string> all = {"east", "south", "west"}, survivors = {"south", "west"};
  Unmask(survivors, {"east"});
  Await(3);
  const std::vector<std::string> dropped = {"east"};
  const privacy::RevealedShares revealed[] = {*west_->Reveal(survivors, dropped), RevealedBySouth()};
  const auto recovery =
      privacy::MaskRecovery::Create(roster_, 2, privacy::MaskingContext("run", 1), all, survivors, revealed);
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  ASSERT_TRUE(recovery->Subtract(0, sum).ok());
  for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_EQ(sum[i], words_[i] + 5) << i;
}

TEST_F(MaskingStepsTest, MasksAndCountsAShareThatIsNoGood) {
  AdvertiseKeys();
  ShareKeys();
  Await(2);
  v1::ParticipateResponse task = Training();
  task.mutable_train()->mutable_masking()->mutable_shares(0)->set_key_digest(std::string(32, 'x'));
  server_.Push(task);
  EXPECT_TRUE(Submit(*client_->Next())->accepted());
  EXPECT_EQ(client_->counters().unusable_shares, 1u);
}

TEST_F(MaskingStepsTest, GivesTheSameAnswerWhenItIsAskedAgain) {
  AdvertiseKeys();
  server_.EndStreams();
  Await(2);
  EXPECT_EQ(server_.keys[0].SerializeAsString(), server_.keys[1].SerializeAsString());
  ShareKeys();
  Await(3);
  server_.EndStreams();
  Await(4);
  EXPECT_EQ(server_.shares[0].SerializeAsString(), server_.shares[1].SerializeAsString());
}

TEST_F(MaskingStepsTest, AnswersOnAnotherStreamWhatDidNotGetThrough) {
  server_.break_steps = true;
  AdvertiseKeys();
  Await(2);
  server_.MendSteps();
  while (client_->state() != v1::PARENT_STATE_PARTICIPATING) std::this_thread::yield();
  ShareKeys();
  while (server_.share_requests() == 0) std::this_thread::yield();
  EXPECT_EQ(client_->counters().refused_steps, 0u);
}

// The others continue without this node. Unmasking needs a threshold of the nodes: a late node has lost
// nothing.
TEST_F(MaskingStepsTest, CountsStepsThatCameTooLateButForUnmasking) {
  const auto assignment = Assigned();
  ASSERT_TRUE(Submit(assignment)->accepted());
  server_.accept_steps = false;
  Unmask({"east", "south", "west"}, {});
  Await(3);
  AdvertiseKeys(2);
  while (client_->counters().refused_steps < 1) std::this_thread::yield();
  EXPECT_EQ(server_.revealed.size(), 1u);
  EXPECT_EQ(client_->counters().refused_steps, 1u);
}

TEST_F(MaskingStepsTest, NeverRevealsBothSharesOfANode) {
  const auto assignment = Assigned();
  ASSERT_TRUE(Submit(assignment)->accepted());
  Unmask({"east", "south", "west"}, {"east"});
  while (client_->counters().refused_steps < 1) std::this_thread::yield();
  Unmask({"east", "south"}, {"west"});
  Await(3);
  Unmask({"south", "west"}, {"east"});
  while (client_->counters().refused_steps < 2) std::this_thread::yield();
  // The aggregator may ask again for the lists that were revealed.
  Unmask({"east", "south"}, {"west"});
  Await(4);
  for (const v1::UnmaskRequest& revealed : server_.revealed) {
    ASSERT_EQ(revealed.key_shares_size(), 1);
    EXPECT_EQ(revealed.key_shares(0).of(), "west");
  }
}

TEST_F(MaskingStepsTest, RefusesAThresholdOfHalfAndARosterWithoutItself) {
  AdvertiseKeys();
  ShareKeys(1);
  while (client_->counters().malformed_tasks < 1) std::this_thread::yield();
  v1::AdvertiseKeysRequest other;
  other.set_round(1);
  other.set_cipher_key(std::string(32, 'x'));
  other.set_mask_key(std::string(32, 'y'));
  server_.keys.push_back(other);
  ShareKeys();
  while (client_->counters().refused_steps < 1) std::this_thread::yield();
  EXPECT_TRUE(server_.shares.empty());
}

TEST_F(MaskingStepsTest, MasksOnceOnly) {
  const auto assignment = Assigned();
  ASSERT_TRUE(Submit(assignment)->accepted());
  EXPECT_EQ(Submit(assignment).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(server_.submissions.size(), 1u);
}

TEST_F(MaskingStepsTest, TakesPartInTheNextRoundAfterItLostItsKeys) {
  AdvertiseKeys();
  client_.reset();
  ShareKeys();
  Connect();
  while (client_->counters().lost_keys < 1) std::this_thread::yield();
  server_.Push(Training());
  server_.EndStreams();
  while (client_->counters().streams < 2) std::this_thread::yield();
  AdvertiseKeys(2);
  EXPECT_EQ(client_->counters().lost_keys, 1u);  // once a round
  EXPECT_TRUE(server_.shares.empty());
  EXPECT_EQ(server_.keys.size(), 2u);
  EXPECT_NE(server_.keys[0].mask_key(), server_.keys[1].mask_key());
  ShareKeys();
  Await(3);
  server_.Push(Training());
  const auto assignment = client_->Next();
  ASSERT_TRUE(assignment.has_value());
  EXPECT_EQ(assignment->task.round, 2u);
  EXPECT_TRUE(Submit(*assignment)->accepted());
}

TEST_F(MaskingStepsTest, AStepOfTheNextRoundEndsATrainingButUnmaskingDoesNot) {
  const auto assignment = Assigned();
  Unmask({"east", "south"}, {"west"});  // before it has masked: nothing to reveal
  while (client_->counters().refused_steps < 1) std::this_thread::yield();
  EXPECT_FALSE(assignment.withdrawn.stop_requested());
  AdvertiseKeys(2);
  EXPECT_TRUE(assignment.withdrawn.stop_requested());
  EXPECT_EQ(Submit(assignment).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tributary::link
