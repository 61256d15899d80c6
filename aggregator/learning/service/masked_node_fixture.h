// A node's side of secure aggregation in the hands of a test, which may make it lie.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/learning/service/rounds_fixture.h"
#include "core/parameters/crc32c.h"
#include "core/parameters/fixed_point.h"
#include "core/parameters/update_encoding.h"
#include "core/privacy/masking_node.h"

namespace tributary::testing {

inline std::string Bytes(const privacy::Key32& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

inline privacy::Key32 KeyOf(const std::string& bytes) {
  privacy::Key32 key{};
  std::memcpy(key.data(), bytes.data(), std::min(key.size(), bytes.size()));
  return key;
}

inline privacy::MaskingRoster RosterOf(const google::protobuf::RepeatedPtrField<v1::NodeKeys>& wire) {
  privacy::MaskingRoster roster;
  for (const v1::NodeKeys& each : wire) {
    roster.push_back({each.node(), KeyOf(each.cipher_key()), KeyOf(each.mask_key()), {}});
  }
  return roster;
}

// A node's side of the protocol, step by step.
class MaskedNode {
 public:
  MaskedNode(const RoundsHost& host, const std::string& name)
      : name_(name), node_(host, name), stub_(v1::FederationService::NewStub(host.channel())) {}

  // `lie` may change what is sent; again and again in one round.
  void AdvertiseKeys(const std::function<void(privacy::MaskingKeys&)>& lie = {}, bool taken = true) {
    if (round_ == 0 || masking_shared_) {
      round_ = Wait(&v1::ParticipateResponse::has_advertise_keys).advertise_keys().round();
      masking_ = *privacy::MaskingNode::Create(name_, privacy::MaskingContext("r", round_));
      masking_shared_ = false;
    }
    privacy::MaskingKeys keys = masking_->keys();
    if (lie) lie(keys);
    AdvertiseKeys(keys, round_, taken);
  }
  const privacy::MaskingKeys& keys() const { return masking_->keys(); }

  void AdvertiseKeys(const privacy::MaskingKeys& keys, std::uint32_t round, bool taken = true) {
    v1::AdvertiseKeysRequest request;
    request.set_run("r");
    request.set_round(round);
    request.set_node(name_);
    request.set_cipher_key(Bytes(keys.cipher_key));
    request.set_mask_key(Bytes(keys.mask_key));
    request.set_seed_digest(Bytes(keys.seed_digest));
    grpc::ClientContext context;
    v1::AdvertiseKeysResponse response;
    ASSERT_TRUE(stub_->AdvertiseKeys(&context, request, &response).ok());
    EXPECT_EQ(response.accepted(), taken) << response.message();
  }

  // `lie` may change what the others are given.
  void ShareKeys(const std::function<void(privacy::SealedShare&)>& lie = {}) {
    const v1::ShareKeysTask task = Wait(&v1::ParticipateResponse::has_share_keys).share_keys();
    auto shares = masking_->Share(RosterOf(task.nodes()), task.threshold());
    ASSERT_TRUE(shares.ok()) << shares.status();
    masking_shared_ = true;
    if (lie) std::ranges::for_each(*shares, lie);
    v1::ShareKeysRequest request;
    request.set_run("r");
    request.set_round(task.round());
    request.set_node(name_);
    for (const privacy::SealedShare& share : *shares) {
      v1::EncryptedShare& wire = *request.add_shares();
      wire.set_from(share.from);
      wire.set_to(share.to);
      wire.set_ciphertext(share.ciphertext);
      wire.set_seed_digest(Bytes(share.seed_digest));
      wire.set_key_digest(Bytes(share.key_digest));
    }
    grpc::ClientContext context;
    v1::ShareKeysResponse response;
    ASSERT_TRUE(stub_->ShareKeys(&context, request, &response).ok());
    EXPECT_TRUE(response.accepted()) << response.message();
  }

  v1::TrainTask Task() { return Wait(&v1::ParticipateResponse::has_train).train(); }

  void SubmitMasked(const v1::TrainTask& task, const std::vector<float>& delta) {
    std::vector<privacy::SealedShare> shares;
    for (const v1::EncryptedShare& each : task.masking().shares()) {
      shares.push_back(
          {each.from(), each.to(), each.ciphertext(), KeyOf(each.seed_digest()), KeyOf(each.key_digest())});
    }
    const parameters::FixedPoint fixed_point{task.fraction_bits(), task.max_element()};
    std::vector<std::int32_t> words(delta.size());
    parameters::ToFixedPoint(delta, parameters::FixedPointFactor(fixed_point, 1), words);
    const absl::Status status = masking_->Mask(shares, words);
    ASSERT_TRUE(status.ok()) << status;
    v1::UpdateHeader header = node_.Header(task);
    header.set_encoding(v1::UPDATE_ENCODING_FIXED32);
    std::vector<v1::SubmitUpdateRequest> messages(2);
    *messages[0].mutable_header() = header;
    v1::UpdateChunk& chunk = *messages[1].mutable_chunk();
    chunk.set_count(static_cast<std::uint32_t>(words.size()));
    parameters::EncodeFixedChunk(words, *chunk.mutable_payload());
    chunk.set_crc32c(parameters::Crc32c(chunk.payload()));
    const v1::SubmitUpdateResponse response = node_.Send(messages);
    EXPECT_TRUE(response.accepted()) << response.message();
  }

  // `lie` may change what is revealed, which is then to be refused.
  void Unmask(const std::function<void(privacy::RevealedShares&)>& lie = {}) {
    const v1::UnmaskTask task = Wait(&v1::ParticipateResponse::has_unmask).unmask();
    const std::vector<std::string> survivors(task.survivors().begin(), task.survivors().end());
    const std::vector<std::string> dropped(task.dropped().begin(), task.dropped().end());
    auto revealed = masking_->Reveal(survivors, dropped);
    ASSERT_TRUE(revealed.ok()) << revealed.status();
    if (lie) lie(*revealed);
    v1::UnmaskRequest request;
    request.set_run("r");
    request.set_round(task.round());
    request.set_node(name_);
    for (const privacy::RevealedShare& share : revealed->seeds) Add(share, *request.add_seed_shares());
    for (const privacy::RevealedShare& share : revealed->keys) Add(share, *request.add_key_shares());
    grpc::ClientContext context;
    v1::UnmaskResponse response;
    ASSERT_TRUE(stub_->Unmask(&context, request, &response).ok());
    EXPECT_EQ(response.accepted(), !lie) << response.message();
  }

  // Until the aggregator says something with this text instead of a task.
  void AwaitReason(const std::string& text) {
    while (Wait(&v1::ParticipateResponse::has_wait).wait().reason().find(text) == std::string::npos) {
      if (::testing::Test::HasFailure()) return;
    }
  }

 private:
  static void Add(const privacy::RevealedShare& share, v1::RevealedShare& wire) {
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
  std::uint32_t round_ = 0;
  bool masking_shared_ = false;  // in that round
  std::unique_ptr<privacy::MaskingNode> masking_;
};

}  // namespace tributary::testing
