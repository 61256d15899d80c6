#include "core/serial/session.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "core/serial/reply.h"

namespace tributary::serial {
namespace {

// Adds up what it gets.
class AddingBoard final : public Board {
 public:
  absl::Status SetLayer(std::size_t layer, std::span<const Word> weights) override {
    layers.emplace_back(layer, weights.size());
    return fails ? absl::UnavailableError("the board is away") : absl::OkStatus();
  }
  absl::Status Compute(std::span<const Inputs> inputs, std::span<Outputs> outputs) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) outputs[i] = {inputs[i][0] + inputs[i][1], inputs[i][2]};
    return fails ? absl::UnavailableError("the board is away") : absl::OkStatus();
  }
  absl::StatusOr<Retraining> Retrain(std::span<const Sample> samples) override {
    if (samples.size() < 2) return absl::InvalidArgumentError("too few samples\x1b[2J");
    return Retraining{.epochs = 7, .error_before = 0.5, .error_after = 0.25, .taken = true};
  }

  bool fails = false;
  std::vector<std::pair<std::size_t, std::size_t>> layers;
};

class SessionTest : public ::testing::Test {
 protected:
  std::string Said(const std::string& bytes) {
    std::string replies;
    now_ns_ += 200'000'000;
    session_.Take(bytes, now_ns_, replies);
    return replies;
  }

  AddingBoard board_;
  Session session_{board_};
  std::int64_t now_ns_ = 0;
};

TEST_F(SessionTest, AnswersAComputationAloneAsTheReportHasIt) {
  EXPECT_EQ(Said("2\n1,2,3\n4,5,6\n"), "3,3\n9,6\n");
  EXPECT_EQ(
      Said("-2\n" + std::string(22 * 2, '0').replace(0, 44, "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n")),
      "");
  EXPECT_EQ(Said("0\n2\n1,2,3,4,5\n1,2,3,4,5\n"), "");
  EXPECT_EQ(board_.layers, (std::vector<std::pair<std::size_t, std::size_t>>{{2, 22}}));
  EXPECT_EQ(session_.counters().computed_inputs, 2U);
  EXPECT_EQ(session_.counters().weight_updates, 1U);
  EXPECT_EQ(session_.counters().retrainings, 1U);
}

TEST_F(SessionTest, AcknowledgesToAMasterThatAskedForTheVersion) {
  EXPECT_EQ(Said("?\n"), "beacon 1\n");
  EXPECT_EQ(Said("0\n2\n1,2,3,4,5\n1,2,3,4,5\n"), "ok 7 0.50000 0.25000 taken\n");
  EXPECT_EQ(Said("-2\n0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"), "ok\n");
}

TEST_F(SessionTest, RefusesAloudAndCountsWhy) {
  EXPECT_EQ(Said("1\n1,2,5000\n"), "error 3 a value is 5000, it must be from -1024 to 1023\n");
  EXPECT_EQ(Said("\x01"), "error 0 byte 0x01 belongs to no number\n");
  EXPECT_EQ(Said("0\n1\n1,2,3,4,5\n"), "error 0 too few samples?[2J\n");
  board_.fails = true;
  EXPECT_EQ(Said("1\n1,2,3\n"), "error 0 the board is away\n");
  std::string replies;
  session_.Take("3", now_ns_ += 200'000'000, replies);
  session_.Idle(now_ns_ + 2'000'000'000, replies);
  EXPECT_EQ(replies, "error 0 nothing for 1000 ms, 0 of 1 numbers are here\n");
  const SessionCounters counters = session_.counters();
  EXPECT_EQ(counters.out_of_range, 1U);
  EXPECT_EQ(counters.noise, 1U);
  EXPECT_EQ(counters.refused, 2U);
  EXPECT_EQ(counters.timeouts, 1U);
}

TEST(ReplyTest, IsReadAsItWasWritten) {
  EXPECT_EQ(std::get<Outputs>(*ParseReply(OutputsText({-1024, 1023}))), (Outputs{-1024, 1023}));
  const auto refusal = std::get<Refusal>(*ParseReply(RefusalText(12, "a value is 5")));
  EXPECT_EQ(refusal.position, 12U);
  EXPECT_EQ(refusal.what, "a value is 5");
  EXPECT_EQ(std::get<Done>(*ParseReply("ok")).what, "");
  EXPECT_EQ(std::get<Done>(*ParseReply(RetrainingText({3, 1, 0.5, false}))).what, "3 1.00000 0.50000 kept");
  for (const char* odd : {"", "1", "1,", "1,2,3", "1;2", "error", "error x", "99999999999,1", "1, 2"}) {
    EXPECT_EQ(ParseReply(odd).status().code(), absl::StatusCode::kDataLoss) << odd;
  }
}

}  // namespace
}  // namespace tributary::serial
