// Secure aggregation and differential privacy through the services.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "aggregator/rounds/masking_session.h"
#include "aggregator/rounds/rounds_fixture.h"
#include "core/parameters/crc32c.h"
#include "core/parameters/fixed_point.h"
#include "core/parameters/update_encoding.h"

namespace tributary {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using testing::RoundsHost;
using testing::TestNode;

constexpr const char* kMasked = R"(
name = "r"
rounds = 1
min_nodes = 3
quorum = 2
deadline_s = 2
weighting = "uniform"
[privacy]
secure_aggregation = true
)";

std::string Bytes(const Key32& key) { return {reinterpret_cast<const char*>(key.data()), key.size()}; }

Key32 KeyOf(const std::string& bytes) {
  Key32 key{};
  std::memcpy(key.data(), bytes.data(), std::min(key.size(), bytes.size()));
  return key;
}

MaskingRoster RosterOf(const google::protobuf::RepeatedPtrField<v1::NodeKeys>& wire) {
  MaskingRoster roster;
  for (const v1::NodeKeys& each : wire) {
    roster.push_back({each.node(), KeyOf(each.cipher_key()), KeyOf(each.mask_key())});
  }
  return roster;
}

// A node's side of the protocol, step by step.
class MaskedNode {
 public:
  MaskedNode(const RoundsHost& host, const std::string& name)
      : name_(name), node_(host, name), stub_(v1::FederationService::NewStub(host.channel())) {}

  void AdvertiseKeys() {
    const v1::AdvertiseKeysTask task = Wait(&v1::ParticipateResponse::has_advertise_keys).advertise_keys();
    masking_ = *MaskingNode::Create(name_, MaskingContext("r", task.round()));
    AdvertiseKeys(masking_->keys(), task.round());
  }

  void AdvertiseKeys(const MaskingKeys& keys, std::uint32_t round) {
    v1::AdvertiseKeysRequest request;
    request.set_run("r");
    request.set_round(round);
    request.set_node(name_);
    request.set_cipher_key(Bytes(keys.cipher_key));
    request.set_mask_key(Bytes(keys.mask_key));
    grpc::ClientContext context;
    v1::AdvertiseKeysResponse response;
    ASSERT_TRUE(stub_->AdvertiseKeys(&context, request, &response).ok());
    EXPECT_TRUE(response.accepted()) << response.message();
  }

  void ShareKeys() {
    const v1::ShareKeysTask task = Wait(&v1::ParticipateResponse::has_share_keys).share_keys();
    const auto shares = masking_->Share(RosterOf(task.nodes()), task.threshold());
    ASSERT_TRUE(shares.ok()) << shares.status();
    v1::ShareKeysRequest request;
    request.set_run("r");
    request.set_round(task.round());
    request.set_node(name_);
    for (const SealedShare& share : *shares) {
      v1::EncryptedShare& wire = *request.add_shares();
      wire.set_from(share.from);
      wire.set_to(share.to);
      wire.set_ciphertext(share.ciphertext);
    }
    grpc::ClientContext context;
    v1::ShareKeysResponse response;
    ASSERT_TRUE(stub_->ShareKeys(&context, request, &response).ok());
    EXPECT_TRUE(response.accepted()) << response.message();
  }

  v1::TrainTask Task() { return Wait(&v1::ParticipateResponse::has_train).train(); }

  void SubmitMasked(const v1::TrainTask& task, const std::vector<float>& delta) {
    std::vector<SealedShare> shares;
    for (const v1::EncryptedShare& each : task.masking().shares()) {
      shares.push_back({each.from(), each.to(), each.ciphertext()});
    }
    const FixedPoint fixed_point{task.fraction_bits(), task.max_element()};
    std::vector<std::int32_t> words(delta.size());
    ToFixedPoint(delta, FixedPointFactor(fixed_point, 1), words);
    const absl::Status status = masking_->Mask(shares, words);
    ASSERT_TRUE(status.ok()) << status;
    v1::UpdateHeader header = node_.Header(task);
    header.set_encoding(v1::UPDATE_ENCODING_FIXED32);
    std::vector<v1::SubmitUpdateRequest> messages(2);
    *messages[0].mutable_header() = header;
    v1::UpdateChunk& chunk = *messages[1].mutable_chunk();
    chunk.set_count(static_cast<std::uint32_t>(words.size()));
    EncodeFixedChunk(words, *chunk.mutable_payload());
    chunk.set_crc32c(Crc32c(chunk.payload()));
    const v1::SubmitUpdateResponse response = node_.Send(messages);
    EXPECT_TRUE(response.accepted()) << response.message();
  }

  void Unmask() {
    const v1::UnmaskTask task = Wait(&v1::ParticipateResponse::has_unmask).unmask();
    const std::vector<std::string> survivors(task.survivors().begin(), task.survivors().end());
    const std::vector<std::string> dropped(task.dropped().begin(), task.dropped().end());
    const auto revealed = masking_->Reveal(survivors, dropped);
    ASSERT_TRUE(revealed.ok()) << revealed.status();
    v1::UnmaskRequest request;
    request.set_run("r");
    request.set_round(task.round());
    request.set_node(name_);
    for (const RevealedShare& share : revealed->seeds) Add(share, *request.add_seed_shares());
    for (const RevealedShare& share : revealed->keys) Add(share, *request.add_key_shares());
    grpc::ClientContext context;
    v1::UnmaskResponse response;
    ASSERT_TRUE(stub_->Unmask(&context, request, &response).ok());
    EXPECT_TRUE(response.accepted()) << response.message();
  }

 private:
  static void Add(const RevealedShare& share, v1::RevealedShare& wire) {
    wire.set_of(share.of);
    wire.set_share(Bytes(share.share));
  }

  v1::ParticipateResponse Wait(bool (v1::ParticipateResponse::*wanted)() const) {
    for (;;) {
      v1::ParticipateResponse response = node_.Next();
      if ((response.*wanted)()) return response;
      if (response.task_case() == v1::ParticipateResponse::TASK_NOT_SET) {
        ADD_FAILURE() << name_ << ": the stream ended";
        return response;
      }
    }
  }

  const std::string name_;
  TestNode node_;
  std::unique_ptr<v1::FederationService::Stub> stub_;
  std::unique_ptr<MaskingNode> masking_;
};

TEST(MaskingTest, SumsWhatItCannotReadAlsoWhenANodeDropsOut) {
  RoundsHost host;
  host.Start();
  ASSERT_TRUE(host.StartRun(kMasked, RoundsHost::ModelFile(3)).ok());
  MaskedNode a(host, "a"), b(host, "b"), c(host, "c");
  for (MaskedNode* node : {&a, &b, &c}) node->AdvertiseKeys();
  for (MaskedNode* node : {&a, &b, &c}) node->ShareKeys();
  a.SubmitMasked(a.Task(), {2, 0, 4});
  b.SubmitMasked(b.Task(), {0, 6, 4});
  EXPECT_EQ(c.Task().round(), 1u);  // and is not heard of again
  a.Unmask();
  b.Unmask();
  const v1::Round round = host.WaitForRound(1);
  EXPECT_EQ(round.failure(), "");
  EXPECT_EQ(round.accepted(), 2u);
  EXPECT_EQ(round.dropped(), 1u);
  // 0, 1, 2 and the mean 1, 3, 4: exact.
  EXPECT_THAT(host.Parameters(1), ElementsAre(1, 4, 6));
}

// The answer to the first may have been lost; by then the step may be over.
TEST(MaskingTest, AnswersKeysThatComeAgainAndKeepsTheFirst) {
  RoundsHost host;
  host.Start();
  ASSERT_TRUE(host.StartRun(kMasked, RoundsHost::ModelFile(3)).ok());
  MaskedNode a(host, "a"), b(host, "b"), c(host, "c");
  for (MaskedNode* node : {&a, &b, &c}) node->AdvertiseKeys();
  const auto others = MaskingNode::Create("a", "others");
  ASSERT_TRUE(others.ok());
  a.AdvertiseKeys((*others)->keys(), 1);
  for (MaskedNode* node : {&a, &b, &c}) node->ShareKeys();
  a.AdvertiseKeys((*others)->keys(), 1);
  a.SubmitMasked(a.Task(), {3, 0, 6});
  b.SubmitMasked(b.Task(), {0, 6, 0});
  c.SubmitMasked(c.Task(), {0, 0, 0});
  for (MaskedNode* node : {&a, &b}) node->Unmask();
  EXPECT_EQ(host.WaitForRound(1).failure(), "");
  // 0, 1, 2 and the mean 1, 2, 2.
  EXPECT_THAT(host.Parameters(1), ElementsAre(1, 3, 4));
}

TEST(MaskingTest, RefusesWordsThatNobodyAskedFor) {
  RoundsHost host;
  host.Start();
  ASSERT_TRUE(host.StartRun(kMasked, RoundsHost::ModelFile(3)).ok());
  MaskedNode a(host, "a"), b(host, "b"), c(host, "c");
  a.AdvertiseKeys();
  v1::UnmaskRequest request;
  request.set_run("r");
  request.set_round(1);
  request.set_node("a");
  grpc::ClientContext context;
  v1::UnmaskResponse response;
  const auto stub = v1::FederationService::NewStub(host.channel());
  ASSERT_TRUE(stub->Unmask(&context, request, &response).ok());
  EXPECT_FALSE(response.accepted());
  EXPECT_THAT(response.message(), HasSubstr("was not asked"));
}

TEST(PrivacyTest, AddsNoiseToAClippedMeanAndSaysWhatWasSpent) {
  RoundsHost host;
  host.Start();
  ASSERT_TRUE(host.StartRun(R"(
name = "r"
rounds = 1
min_nodes = 2
weighting = "uniform"
clip_norm = 1.0
[privacy]
noise_multiplier = 0.001
noise_seed = 7
)",
                            RoundsHost::ModelFile(3))
                  .ok());
  TestNode a(host, "a"), b(host, "b");
  // Clipped to norm 1: 0.6, 0.8.
  EXPECT_TRUE(a.Submit(a.NextTrain(), {3, 4, 0}).accepted());
  EXPECT_TRUE(b.Submit(b.NextTrain(), {0, 0, 0.5f}).accepted());
  const v1::Round round = host.WaitForRound(1);
  EXPECT_GT(round.epsilon(), 0);
  const std::vector<float> parameters = host.Parameters(1);
  // Deviation 0.001 · 1 / 2 per element: six of them.
  constexpr float kTolerance = 0.003f;
  EXPECT_THAT(parameters, ElementsAre(FloatNear(0.3f, kTolerance), FloatNear(1.4f, kTolerance),
                                      FloatNear(2.25f, kTolerance)));
  EXPECT_NE(parameters, (std::vector<float>{0.3f, 1.4f, 2.25f}));
}

}  // namespace
}  // namespace tributary
