#include "aggregator/learning/run/messages.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tributary::learning {
namespace {

v1::UpdateHeader Header() {
  v1::UpdateHeader header;
  header.set_round(3);
  header.set_node("a");
  header.set_schema_sha256(std::string(32, 's'));
  header.set_base_model_sha256(std::string(32, 'm'));
  header.set_encoding(v1::UPDATE_ENCODING_INT12);
  header.mutable_metrics()->set_loss(-0.1);
  header.add_contributors()->set_node("x");
  return header;
}

TEST(MessagesTest, KeepsAnAcceptedUpdateToTheLastBit) {
  v1::StoredUpdate update;
  *update.mutable_header() = Header();
  update.set_weight(1.0 / 3);
  update.set_norm(0.7);
  update.set_payload_bytes(15);
  const auto read = ParseUpdate(update.SerializeAsString());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), update.SerializeAsString());
}

TEST(MessagesTest, LeavesNothingOfAHeaderThatCannotBeShownOrStored) {
  v1::UpdateHeader header = Header();
  const std::string clean = header.SerializeAsString();
  header.set_run("run");
  header.set_boot_id(std::string(16, 'b'));
  header.mutable_metrics()->set_spread(std::numeric_limits<double>::quiet_NaN());
  header.GetReflection()->MutableUnknownFields(&header)->AddVarint(999, 1);
  ASSERT_TRUE(CheckMessage(header).ok());
  EXPECT_EQ(header.SerializeAsString(), clean);
}

TEST(MessagesTest, RefusesWhatItHasNotWritten) {
  EXPECT_EQ(ParseStored<v1::StoredRun>("\xff\xff", "run").status().code(), absl::StatusCode::kDataLoss);
  for (const char* bytes : {"", "\xff", "no message"}) {
    EXPECT_EQ(ParseUpdate(bytes).status().code(), absl::StatusCode::kDataLoss) << bytes;
  }
}

}  // namespace
}  // namespace tributary::learning
