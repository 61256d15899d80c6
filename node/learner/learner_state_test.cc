#include "node/learner/learner_state.h"

#include <gtest/gtest.h>

#include <string>

namespace tributary::learner {
namespace {

TEST(LearnerStateTest, IsReadAsItWasWrittenOrNotAtAll) {
  const LearnerState state{"run", {1, -2}, {0.5f}, {{7, 0.25f}, {0, 1.5f}}, {3, 4}};
  const std::string file = EncodeLearnerState(state);
  const auto read = DecodeLearnerState(file);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->run, "run");
  EXPECT_EQ(read->residual, state.residual);
  EXPECT_EQ(read->local, state.local);
  EXPECT_EQ(read->buffer, state.buffer);
  EXPECT_EQ(read->target, state.target);
  // Every byte of the tensors is covered.
  constexpr std::size_t kTensorBytes = 9 * sizeof(float);
  for (std::size_t i = file.size() - kTensorBytes; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(DecodeLearnerState(damaged).status().code(), absl::StatusCode::kDataLoss) << i;
  }
}

}  // namespace
}  // namespace tributary::learner
