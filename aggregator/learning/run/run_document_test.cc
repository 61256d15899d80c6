#include "aggregator/learning/run/run_document.h"

#include <gtest/gtest.h>

#include <string>

namespace tributary {
namespace {

TEST(RunDocumentTest, KeepsWhereARunStandsToTheLastBit) {
  RunDocument document;
  document.snapshot.round = 7;
  document.snapshot.committed = 5;
  document.snapshot.paused = true;
  document.snapshot.step = RoundStep::kClosing;
  document.snapshot.closed = true;
  document.snapshot.open = RoundStarted{7, {{"a \"quoted\" name", 0.1, 3}, {"b", 1.0 / 3, 0}}, {-3, 0.1f}};
  document.snapshot.earlier_models = {Sha256{std::byte{1}}, Sha256{std::byte{2}}};
  document.failure = "why";
  document.round_started_unix_ns = 1'700'000'000'123'456'789;
  document.refused = 2;
  document.relayed = true;
  const auto read = DecodeRunDocument(EncodeRunDocument(document));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(EncodeRunDocument(*read), EncodeRunDocument(document));
  EXPECT_EQ(read->snapshot.open->asked, document.snapshot.open->asked);
  EXPECT_EQ(read->snapshot.open->fixed_point, document.snapshot.open->fixed_point);
  EXPECT_EQ(read->snapshot.earlier_models, document.snapshot.earlier_models);
  EXPECT_EQ(read->round_started_unix_ns, document.round_started_unix_ns);
  EXPECT_TRUE(read->relayed);
}

TEST(RunDocumentTest, ReadsARoundThatWasOpenBeforeThereWerePartialSums) {
  RunDocument document;
  document.snapshot.open = RoundStarted{1, {{"a", 2, 2}}, {}};
  std::string text = EncodeRunDocument(document);
  const auto erase = [&](const std::string& part) {
    const std::size_t at = text.find(part);
    ASSERT_NE(at, std::string::npos) << text;
    text.erase(at, part.size());
  };
  erase(",false]");
  text.insert(text.find("\"a\",2.0,2") + 9, "]");
  erase(",\"relayed\":false");
  const auto read = DecodeRunDocument(text);
  ASSERT_TRUE(read.ok()) << read.status() << text;
  EXPECT_EQ(read->snapshot.open->asked, document.snapshot.open->asked);
  EXPECT_FALSE(read->relayed);
}

TEST(RunDocumentTest, KeepsAnAcceptedUpdate) {
  SubmissionDocument document;
  document.update.header = {3,  "a", Sha256{std::byte{1}}, Sha256{std::byte{2}}, UpdateEncoding::kInt12,
                            10, 20,  {-0.1, 0.9, 1.5, 50}, {{"leaf", 20}}};
  document.update.weight = 0.1;
  document.norm = 1.0 / 3;
  document.payload_bytes = 4;
  const auto read = DecodeSubmissionDocument(EncodeSubmissionDocument(document));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(EncodeSubmissionDocument(*read), EncodeSubmissionDocument(document));
  EXPECT_EQ(read->update.weight, document.update.weight);
  EXPECT_EQ(read->norm, document.norm);
  EXPECT_EQ(read->update.header.contributors, document.update.header.contributors);
}

TEST(RunDocumentTest, KeepsALineOfTheHistory) {
  RoundLine line;
  line.round = 4;
  line.loss = -0.123456789012345;
  line.model_sha256 = std::string("\x00\xff", 2);
  line.contributions = {{"a", 1, -0.5, 2.5}};
  line.judgement = Judgement{0.83, 0.8, 0.9, 0.79, 0.75, 0.7, 1000};
  line.epsilon = 1.5;
  line.declined = 2;
  line.declines = {{"b", "images", "images of side 32"}};
  const auto read = DecodeRoundLine(EncodeRoundLine(line));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(EncodeRoundLine(*read), EncodeRoundLine(line));
  EXPECT_EQ(read->model_sha256, line.model_sha256);
  EXPECT_EQ(read->declined, 2u);
  EXPECT_EQ(read->declines.at(0).message, "images of side 32");
  ASSERT_TRUE(read->judgement.has_value());
  EXPECT_EQ(read->judgement->linear_probe, 0.83);
  EXPECT_EQ(read->judgement->random_spread, 0.7);
}

TEST(RunDocumentTest, ReadsALineThatWasWrittenBeforeNodesDeclined) {
  nlohmann::json line = RoundLineJson({});
  line.erase("declined");
  line.erase("declines");
  const auto read = DecodeRoundLine(line.dump());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->declined, 0u);
}

TEST(RunDocumentTest, RefusesWhatItHasNotWritten) {
  for (const char* text : {"", "{", "[]", "{\"round\": 1}", "{\"round\": \"x\"}"}) {
    EXPECT_EQ(DecodeRunDocument(text).status().code(), absl::StatusCode::kDataLoss) << text;
    EXPECT_EQ(DecodeSubmissionDocument(text).status().code(), absl::StatusCode::kDataLoss) << text;
    EXPECT_EQ(DecodeRoundLine(text).status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace tributary
