#include "core/wire/federation_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/link/federation_server_fixture.h"

namespace tributary::wire {
namespace {

using ::testing::HasSubstr;
using testing::TrainResponse;

void AddNode(const std::string& name, char key, google::protobuf::RepeatedPtrField<v1::NodeKeys>& nodes) {
  v1::NodeKeys& keys = *nodes.Add();
  keys.set_node(name);
  keys.set_cipher_key(std::string(32, key));
  keys.set_mask_key(std::string(32, static_cast<char>(key + 1)));
}

v1::ParticipateResponse MaskedTraining() {
  v1::ParticipateResponse response = TrainResponse(3, 10, 10);
  response.mutable_train()->mutable_settings()->set_encoding(v1::UPDATE_ENCODING_FIXED32);
  v1::MaskingTask& masking = *response.mutable_train()->mutable_masking();
  masking.set_threshold(2);
  AddNode("a", 'a', *masking.mutable_nodes());
  AddNode("b", 'c', *masking.mutable_nodes());
  AddNode("c", 'e', *masking.mutable_nodes());
  v1::EncryptedShare& share = *masking.add_shares();
  share.set_from("b");
  share.set_to("a");
  share.set_ciphertext("sealed");
  share.set_seed_digest(std::string(32, 's'));
  share.set_key_digest(std::string(32, 'k'));
  *masking.add_shares() = share;
  masking.mutable_shares(1)->set_from("c");
  return response;
}

TEST(FederationTaskTest, ReadsWithWhomToMask) {
  const auto task = TaskFromWire(MaskedTraining());
  ASSERT_TRUE(task.ok()) << task.status();
  const auto& train = std::get<TrainTask>(*task);
  EXPECT_EQ(train.train.settings().encoding(), v1::UPDATE_ENCODING_FIXED32);
  EXPECT_EQ(train.fixed_point, (parameters::FixedPoint{20, 512}));
  ASSERT_TRUE(train.masking.has_value());
  EXPECT_EQ(train.masking->threshold, 2u);
  ASSERT_EQ(train.masking->nodes.size(), 3u);
  EXPECT_EQ(train.masking->nodes[1].node, "b");
  EXPECT_EQ(train.masking->nodes[1].cipher_key[31], std::byte{'c'});
  EXPECT_EQ(train.masking->nodes[1].mask_key[0], std::byte{'d'});
  ASSERT_EQ(train.masking->shares.size(), 2u);
  EXPECT_EQ(train.masking->shares[0].ciphertext, "sealed");
}

TEST(FederationTaskTest, TakesWordsOf32Or64BitsAndMasksOnlyTheFormer) {
  v1::ParticipateResponse response = TrainResponse(3, 10, 10);
  for (const std::uint32_t bits : {0u, 32u, 64u}) {
    response.mutable_train()->set_word_bits(bits);
    const auto task = TaskFromWire(response);
    ASSERT_TRUE(task.ok()) << task.status();
    EXPECT_EQ(std::get<TrainTask>(*task).fixed_point.wide(), bits == 64);
  }
  response.mutable_train()->set_word_bits(33);
  EXPECT_THAT(std::string(TaskFromWire(response).status().message()), HasSubstr("word_bits"));
  response = MaskedTraining();
  response.mutable_train()->set_word_bits(64);
  EXPECT_THAT(std::string(TaskFromWire(response).status().message()), HasSubstr("word_bits"));
}

TEST(FederationTaskTest, NamesTheFieldAtFault) {
  const auto fault = [](auto&& spoil) {
    v1::ParticipateResponse response = MaskedTraining();
    spoil(*response.mutable_train());
    const auto task = TaskFromWire(response);
    EXPECT_FALSE(task.ok());
    // The run's settings are the same in every round; the masking depends on other nodes.
    const bool settings = task.status().message().find("settings.") == 0;
    EXPECT_EQ(task.status().code(),
              settings ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kFailedPrecondition)
        << task.status();
    return std::string(task.status().message());
  };
  const auto nodes = [](auto& t) { return t.mutable_masking()->mutable_nodes(); };
  EXPECT_THAT(fault([](auto& t) { t.mutable_settings()->set_encoding(v1::UPDATE_ENCODING_FLOAT32); }),
              HasSubstr("fixed32"));
  EXPECT_THAT(fault([](auto& t) { t.mutable_masking()->set_threshold(1); }), HasSubstr("threshold"));
  EXPECT_THAT(fault([](auto& t) { t.mutable_masking()->set_threshold(4); }), HasSubstr("threshold"));
  EXPECT_THAT(fault([&](auto& t) { nodes(t)->Mutable(1)->set_node("a"); }), HasSubstr("ascending"));
  EXPECT_THAT(fault([&](auto& t) { nodes(t)->Mutable(1)->set_node(std::string(129, 'b')); }),
              HasSubstr("nodes.node"));
  EXPECT_THAT(fault([&](auto& t) { nodes(t)->Mutable(1)->set_mask_key("short"); }), HasSubstr("mask_key"));
  EXPECT_THAT(fault([&](auto& t) { nodes(t)->Mutable(1)->set_cipher_key(std::string(32, 'a')); }),
              HasSubstr("twice"));
  EXPECT_THAT(fault([&](auto& t) {
                for (int i = 0; i < 256; ++i) AddNode("n", 'n', *nodes(t));
              }),
              HasSubstr("nodes must be at most 255"));
  EXPECT_THAT(fault([](auto& t) { t.mutable_masking()->mutable_shares()->RemoveLast(); }),
              HasSubstr("1 shares, expected one of each of 2"));
  EXPECT_THAT(fault([](auto& t) { t.mutable_masking()->mutable_shares(0)->set_from(""); }),
              HasSubstr("shares.from"));
  EXPECT_THAT(
      fault([](auto& t) { t.mutable_masking()->mutable_shares(0)->set_ciphertext(std::string(257, 'x')); }),
      HasSubstr("ciphertext"));
  EXPECT_THAT(fault([](auto& t) { t.mutable_masking()->mutable_shares(0)->clear_seed_digest(); }),
              HasSubstr("shares.seed_digest"));
  EXPECT_THAT(fault([](auto& t) { t.mutable_masking()->mutable_shares(0)->set_key_digest("short"); }),
              HasSubstr("shares.key_digest"));
}

TEST(FederationTaskTest, RefusesMoreFailedRoundsThanThereWere) {
  v1::ParticipateResponse response = TrainResponse(3, 10, 10);
  response.mutable_train()->set_failed_rounds(response.train().round() - 1);
  EXPECT_TRUE(TaskFromWire(response).ok());
  response.mutable_train()->set_failed_rounds(response.train().round());
  EXPECT_THAT(std::string(TaskFromWire(response).status().message()), HasSubstr("failed_rounds"));
}

TEST(FederationTaskTest, ReadsTheStepsAroundTheTraining) {
  v1::ParticipateResponse response;
  response.set_run("run");
  response.mutable_advertise_keys()->set_round(4);
  EXPECT_EQ(std::get<AdvertiseKeysTask>(*TaskFromWire(response)).round, 4u);
  response.mutable_advertise_keys()->set_round(0);
  EXPECT_FALSE(TaskFromWire(response).ok());

  v1::ShareKeysTask& share = *response.mutable_share_keys();
  share.set_round(4);
  share.set_threshold(2);
  AddNode("a", 'a', *share.mutable_nodes());
  AddNode("b", 'c', *share.mutable_nodes());
  EXPECT_EQ(std::get<ShareKeysTask>(*TaskFromWire(response)).nodes.size(), 2u);
  AddNode("aa", 'e', *share.mutable_nodes());
  EXPECT_FALSE(TaskFromWire(response).ok());

  response.mutable_unmask()->set_round(4);
  response.mutable_unmask()->add_survivors("a");
  response.mutable_unmask()->add_dropped("b");
  EXPECT_EQ(std::get<UnmaskTask>(*TaskFromWire(response)).dropped, std::vector<std::string>{"b"});
  for (int i = 0; i < 255; ++i) response.mutable_unmask()->add_survivors("x");
  EXPECT_FALSE(TaskFromWire(response).ok());
}

}  // namespace
}  // namespace tributary::wire
