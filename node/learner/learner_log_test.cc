// What an aggregator's tasks write into the log of a node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>

#include "core/images/image_set.h"
#include "core/link/federation_server_fixture.h"
#include "core/runtime/captured_log.h"
#include "node/learner/image_trainer.h"
#include "node/learner/learner.h"

namespace tributary::learner {
namespace {

using ::testing::HasSubstr;

TEST(LearnerLogTest, AFloodOfTasksThatCannotBeDoneWritesAHundredLinesAtOnceAndThenOneASecond) {
  constexpr std::uint64_t kTasks = 150;  // of two lines each
  const runtime::CapturedLog log;
  const runtime::SystemClock clock;
  const std::int64_t began_ns = clock.SteadyNs();
  {
    testing::FakeFederation server;
    runtime::Metrics metrics;
    LearnerOptions options;
    options.memory_bytes = 1;  // no model fits
    options.client = {.aggregator = server.address(), .tls = nullptr, .node = "south", .run = "run"};
    Learner learner(options, std::make_unique<ImageTrainer>(images::DrawGlyphs(40, 1), "south", 0), clock,
                    metrics);
    learner.Start();
    for (std::uint64_t task = 1; task <= kTasks; ++task) {
      server.Push(testing::TrainResponse(static_cast<std::uint32_t>(task), 10, 10));
      server.AwaitDecline(task);
    }
    learner.Stop();
  }
  const auto seconds = (clock.SteadyNs() - began_ns) / 1'000'000'000;
  EXPECT_THAT(log.text(), HasSubstr("round 1 of run"));
  EXPECT_LE(log.lines(), 100 + seconds + 1);
}

}  // namespace
}  // namespace tributary::learner
