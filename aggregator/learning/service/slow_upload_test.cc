// Senders that take all memory for uploads and then send next to nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "aggregator/learning/service/rounds_fixture.h"

namespace tributary::learning {
namespace {

using testing::RoundsHost;
using testing::TestNode;

// Eight of them kept the others out of a round, as long as each sent something every 19 s.
TEST(SlowUploadTest, ASlowUploadGivesUpItsPlaceIfOthersWait) {
  constexpr std::size_t kChunk = 1 << 18;  // a chunk of 1 MiB
  RoundsHost host;
  host.options().chunk_time = std::chrono::seconds(1);
  host.Start();
  ASSERT_TRUE(host.StartRun("name = \"r\"\nrounds = 1\nmin_nodes = 17\nquorum = 1\ndeadline_s = 120\n",
                            RoundsHost::ModelFile(3 * kChunk))
                  .ok());
  struct Slow {
    std::unique_ptr<TestNode> node;
    std::unique_ptr<v1::FederationService::Stub> stub;
    grpc::ClientContext context;
    v1::SubmitUpdateResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::SubmitUpdateRequest>> writer;
  };
  TestNode good(host, "good");
  std::vector<Slow> slow(16);  // more than fit at once
  for (std::size_t i = 0; i < slow.size(); ++i) {
    slow[i].node = std::make_unique<TestNode>(host, "slow " + std::to_string(i));
    slow[i].stub = v1::FederationService::NewStub(host.channel());
  }
  for (Slow& each : slow) {
    const v1::UpdateHeader header = each.node->Header(each.node->NextTrain());
    const auto messages = TestNode::Messages(header, std::vector<float>(3 * kChunk), kChunk);
    each.writer = each.stub->SubmitUpdate(&each.context, &each.response);
    EXPECT_TRUE(each.writer->Write(messages[0]));
    each.writer->Write(messages[1]);
  }
  // It may be told to come back until the slow ones are out.
  v1::SubmitUpdateResponse answer;
  int attempts = 0;
  do {
    answer = good.Submit(good.NextTrain(), std::vector<float>(3 * kChunk));
  } while (!answer.accepted() && answer.try_again() && ++attempts < 5);
  EXPECT_TRUE(answer.accepted()) << answer.message();
  EXPECT_GT(host.coordinator().counters().refused[v1::SUBMIT_REFUSAL_BUSY], 0u);
  for (Slow& each : slow) each.context.TryCancel();
}

}  // namespace
}  // namespace tributary::learning
