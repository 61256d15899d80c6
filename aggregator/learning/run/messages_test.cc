#include "aggregator/learning/run/messages.h"

#include <gtest/gtest.h>

#include <string>

namespace tributary::learning {
namespace {

TEST(MessagesTest, KeepsWhereARunStandsToTheLastBit) {
  RunSnapshot snapshot;
  snapshot.round = 7;
  snapshot.committed = 5;
  snapshot.paused = true;
  snapshot.step = RoundStep::kClosing;
  snapshot.closed = true;
  snapshot.open = RoundStarted{7, {{"a \"quoted\" name", 0.1, 3, true}, {"b", 1.0 / 3, 0}}, {-3, 0.1f}};
  snapshot.earlier_models = {parameters::Sha256{std::byte{1}}, parameters::Sha256{std::byte{2}}};
  const auto parsed = ParseStored<v1::StoredRun>(SnapshotToStored(snapshot).SerializeAsString(), "run");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const auto read = SnapshotFromStored(*parsed);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->round, 7u);
  EXPECT_EQ(read->committed, 5u);
  EXPECT_TRUE(read->paused);
  EXPECT_FALSE(read->stopped);
  EXPECT_EQ(read->step, RoundStep::kClosing);
  EXPECT_TRUE(read->closed);
  ASSERT_TRUE(read->open.has_value());
  EXPECT_EQ(read->open->round, 7u);
  EXPECT_EQ(read->open->asked, snapshot.open->asked);
  EXPECT_EQ(read->open->fixed_point, snapshot.open->fixed_point);
  EXPECT_EQ(read->earlier_models, snapshot.earlier_models);
}

TEST(MessagesTest, KeepsAnAcceptedUpdate) {
  KeptUpdate update;
  update.header = {3,
                   "a",
                   parameters::Sha256{std::byte{1}},
                   parameters::Sha256{std::byte{2}},
                   parameters::UpdateEncoding::kInt12,
                   10,
                   20,
                   {-0.1, 0.9, 1.5, 50},
                   {{"x", 12}, {"y", 8}}};
  update.weight = 1.0 / 3;
  update.norm = 0.7;
  update.payload_bytes = 15;
  const auto read = DecodeUpdate(EncodeUpdate(update));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(EncodeUpdate(*read), EncodeUpdate(update));
  EXPECT_EQ(read->weight, update.weight);
  EXPECT_EQ(read->norm, update.norm);
  EXPECT_EQ(read->header.contributors, update.header.contributors);
  EXPECT_EQ(read->header.base_model, update.header.base_model);
}

TEST(MessagesTest, RefusesWhatItHasNotWritten) {
  EXPECT_EQ(ParseStored<v1::StoredRun>("\xff\xff", "run").status().code(), absl::StatusCode::kDataLoss);
  for (const char* bytes : {"", "\xff", "no message"}) {
    EXPECT_EQ(DecodeUpdate(bytes).status().code(), absl::StatusCode::kDataLoss) << bytes;
  }
  v1::StoredRun run;
  run.mutable_open()->set_step(9);
  EXPECT_EQ(SnapshotFromStored(run).status().code(), absl::StatusCode::kDataLoss);
  run.clear_open();
  run.add_earlier_models("short");
  EXPECT_EQ(SnapshotFromStored(run).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tributary::learning
