// Senders that take all memory for uploads and then send next to nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "aggregator/learning/service/rounds_fixture.h"

namespace tributary::learning {
namespace {

using testing::RoundsHost;
using testing::SlowNode;
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
  TestNode good(host, "good");
  std::deque<SlowNode> slow;
  for (int i = 0; i < 16; ++i) slow.emplace_back(host, "slow " + std::to_string(i));  // more than fit at once
  for (SlowNode& each : slow) each.Begin(std::vector<float>(3 * kChunk), kChunk);
  // It may be told to come back until the slow ones are out.
  v1::SubmitUpdateResponse answer;
  int attempts = 0;
  do {
    answer = good.Submit(good.NextTrain(), std::vector<float>(3 * kChunk));
  } while (!answer.accepted() && answer.try_again() && ++attempts < 5);
  EXPECT_TRUE(answer.accepted()) << answer.message();
  EXPECT_GT(host.coordinator().counters().refused[v1::SUBMIT_REFUSAL_BUSY], 0u);
}

}  // namespace
}  // namespace tributary::learning
