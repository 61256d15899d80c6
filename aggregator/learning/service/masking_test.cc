// Secure aggregation and differential privacy through the services.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "aggregator/learning/service/masked_node_fixture.h"

namespace tributary::learning {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using testing::MaskedNode;
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
  const auto others = privacy::MaskingNode::Create("a", "others");
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
}  // namespace tributary::learning
