// Submissions that must be refused with their reason, counted, and leave the round as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "aggregator/learning/service/rounds_fixture.h"

namespace tributary::learning {
namespace {

using ::testing::ElementsAre;
// Chunks hold whole blocks.
constexpr std::size_t kBlock = 1024;

using testing::RoundsHost;
using testing::TestNode;

constexpr const char* kHostileRun = R"(
name = "r"
rounds = 2
min_nodes = 2
deadline_s = 30
max_samples = 1000
)";

class HostileTest : public ::testing::Test {
 protected:
  HostileTest() {
    host_.Start();
    EXPECT_TRUE(host_.StartRun(kHostileRun, RoundsHost::ModelFile(3 * kBlock)).ok());
    good_.emplace(host_, "good");
    hostile_.emplace(host_, "hostile");
    task_ = hostile_->NextTrain();
    header_ = hostile_->Header(task_);
  }

  // Afterwards the round goes on as if nothing had been.
  ~HostileTest() override {
    EXPECT_TRUE(hostile_->Submit(task_, Delta(0, 0, 0)).accepted());
    EXPECT_TRUE(good_->Submit(good_->NextTrain(), Delta(2, 4, 6)).accepted());
    host_.WaitForRound(1);
    const std::vector<float> parameters = host_.Parameters(1);
    EXPECT_EQ(parameters.size(), 3 * kBlock);
    if (parameters.size() != 3 * kBlock) return;
    EXPECT_THAT((std::vector{parameters[0], parameters[kBlock], parameters[2 * kBlock]}),
                ElementsAre(1, kBlock + 2, 2 * kBlock + 3));
  }

  // Three blocks of one value each.
  static std::vector<float> Delta(float first, float second, float third) {
    std::vector<float> delta(3 * kBlock, first);
    std::fill_n(delta.begin() + kBlock, kBlock, second);
    std::fill_n(delta.begin() + 2 * kBlock, kBlock, third);
    return delta;
  }

  void ExpectRefusal(const v1::SubmitUpdateResponse& response, v1::SubmitRefusal reason) {
    EXPECT_FALSE(response.accepted());
    EXPECT_EQ(RefusalName(response.reason()), RefusalName(reason)) << response.message();
    EXPECT_FALSE(response.message().empty());
    EXPECT_EQ(host_.coordinator().counters().refused[static_cast<std::size_t>(reason)], 1u);
  }

  RoundsHost host_;
  std::optional<TestNode> good_;
  std::optional<TestNode> hostile_;
  v1::TrainTask task_;
  v1::UpdateHeader header_;
};

TEST_F(HostileTest, ValuesThatAreNotFinite) {
  ExpectRefusal(hostile_->Submit(header_, Delta(1, std::numeric_limits<float>::quiet_NaN(), 1)),
                v1::SUBMIT_REFUSAL_NOT_FINITE);
}

TEST_F(HostileTest, ValuesBeyondTheRunsBound) {
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1e9f, 1)), v1::SUBMIT_REFUSAL_OUT_OF_RANGE);
}

TEST_F(HostileTest, AnotherSchema) {
  header_.set_schema_sha256(std::string(32, 's'));
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1)), v1::SUBMIT_REFUSAL_SCHEMA);
}

TEST_F(HostileTest, TenTimesTheSize) {
  header_.set_element_count(30 * kBlock);
  ExpectRefusal(hostile_->Submit(header_, std::vector<float>(30 * kBlock, 1.0f)), v1::SUBMIT_REFUSAL_SCHEMA);
}

TEST_F(HostileTest, MoreElementsThanAnnounced) {
  ExpectRefusal(hostile_->Submit(header_, std::vector<float>(30 * kBlock, 1.0f)),
                v1::SUBMIT_REFUSAL_TOO_LARGE);
}

TEST_F(HostileTest, AnotherBaseModel) {
  header_.set_base_model_sha256(std::string(32, 'b'));
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1)), v1::SUBMIT_REFUSAL_BASE_MODEL);
}

TEST_F(HostileTest, NoSamples) {
  header_.set_sample_count(0);
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1)), v1::SUBMIT_REFUSAL_SAMPLE_COUNT);
}

TEST_F(HostileTest, AnAbsurdNumberOfSamples) {
  header_.set_sample_count(std::numeric_limits<std::uint64_t>::max());
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1)), v1::SUBMIT_REFUSAL_SAMPLE_COUNT);
}

TEST_F(HostileTest, AnotherRun) {
  header_.set_run("another");
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1)), v1::SUBMIT_REFUSAL_UNKNOWN_RUN);
}

TEST_F(HostileTest, ARoundThatIsNotYet) {
  header_.set_round(2);
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1)), v1::SUBMIT_REFUSAL_FUTURE_ROUND);
}

TEST_F(HostileTest, ANodeThatDidNotJoin) {
  header_.set_node("stranger");
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1)), v1::SUBMIT_REFUSAL_NOT_JOINED);
}

TEST_F(HostileTest, TruncatedChunks) {
  ExpectRefusal(hostile_->Submit(header_, std::vector<float>(2 * kBlock, 1.0f)),
                v1::SUBMIT_REFUSAL_INCOMPLETE);
}

TEST_F(HostileTest, ReorderedChunks) {
  auto messages = TestNode::Messages(header_, Delta(1, 2, 3), kBlock);
  std::swap(messages[1], messages[2]);
  ExpectRefusal(hostile_->Send(messages), v1::SUBMIT_REFUSAL_OUT_OF_ORDER);
}

TEST_F(HostileTest, ReplayedChunks) {
  auto messages = TestNode::Messages(header_, Delta(1, 2, 3), kBlock);
  messages.insert(messages.begin() + 1, messages[1]);
  ExpectRefusal(hostile_->Send(messages), v1::SUBMIT_REFUSAL_OUT_OF_ORDER);
}

TEST_F(HostileTest, APayloadThatDoesNotMatchItsChecksum) {
  auto messages = TestNode::Messages(header_, Delta(1, 2, 3), 3 * kBlock);
  messages[1].mutable_chunk()->set_crc32c(1);
  ExpectRefusal(hostile_->Send(messages), v1::SUBMIT_REFUSAL_CORRUPT);
}

TEST_F(HostileTest, ACountThatThePayloadDoesNotHave) {
  auto messages = TestNode::Messages(header_, Delta(1, 2, 3), 3 * kBlock);
  messages[1].mutable_chunk()->set_count(2 * kBlock);
  ExpectRefusal(hostile_->Send(messages), v1::SUBMIT_REFUSAL_CORRUPT);
}

TEST_F(HostileTest, AChunkThatEndsWithinABlock) {
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1), 1000), v1::SUBMIT_REFUSAL_CORRUPT);
}

TEST_F(HostileTest, NoHeader) {
  auto messages = TestNode::Messages(header_, Delta(1, 2, 3), 3 * kBlock);
  messages.erase(messages.begin());
  ExpectRefusal(hostile_->Send(messages), v1::SUBMIT_REFUSAL_MALFORMED);
}

TEST_F(HostileTest, TwoHeaders) {
  auto messages = TestNode::Messages(header_, Delta(1, 2, 3), 3 * kBlock);
  messages.insert(messages.begin(), messages[0]);
  ExpectRefusal(hostile_->Send(messages), v1::SUBMIT_REFUSAL_MALFORMED);
}

TEST_F(HostileTest, ADigestOfAnotherLength) {
  header_.set_schema_sha256("short");
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1)), v1::SUBMIT_REFUSAL_MALFORMED);
}

TEST_F(HostileTest, AnEncodingThatIsNone) {
  header_.set_encoding(v1::UPDATE_ENCODING_UNSPECIFIED);
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1)), v1::SUBMIT_REFUSAL_MALFORMED);
}

TEST_F(HostileTest, APartialSumOfANodeThatHasNotSaidThatItSendsThem) {
  header_.set_encoding(v1::UPDATE_ENCODING_FIXED32);
  v1::Contributor& leaf = *header_.add_contributors();
  leaf.set_node("leaf");
  leaf.set_sample_count(1);
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1)), v1::SUBMIT_REFUSAL_CONTRIBUTORS);
}

TEST_F(HostileTest, MoreContributorsThanAnyTreeHas) {
  for (int i = 0; i < 70'000; ++i) {
    v1::Contributor& leaf = *header_.add_contributors();
    leaf.set_node(std::to_string(i));
    leaf.set_sample_count(1);
  }
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1)), v1::SUBMIT_REFUSAL_MALFORMED);
}

TEST_F(HostileTest, AContributorWithAnEndlessName) {
  header_.add_contributors()->set_node(std::string(129, 'n'));
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1)), v1::SUBMIT_REFUSAL_MALFORMED);
}

TEST_F(HostileTest, ANameThatWouldWriteOnATerminal) {
  header_.set_node("\x1b[2J");
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1)), v1::SUBMIT_REFUSAL_MALFORMED);
  for (const char* name : {"\x1b[2J", "two\nlines", "\x7f"}) {
    EXPECT_EQ(TestNode(host_, name).End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(HostileTest, AContributorWithoutAName) {
  header_.add_contributors()->set_sample_count(1);
  ExpectRefusal(hostile_->Submit(header_, Delta(1, 1, 1)), v1::SUBMIT_REFUSAL_MALFORMED);
}

}  // namespace
}  // namespace tributary::learning
