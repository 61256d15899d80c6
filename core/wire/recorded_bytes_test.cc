// Messages that release 0.1.0 wrote, byte by byte: peers and stores of that release still have to be
// understood. A failure here means that a field's number or type changed.
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"
#include "tributary/v1/fleet.pb.h"
#include "tributary/v1/fusion.pb.h"
#include "tributary/v1/run.pb.h"
#include "tributary/v1/store.pb.h"

namespace tributary::wire {
namespace {

// The recorded bytes have these values, and the values give these bytes.
template <class Message>
void Expect(const std::string& hex, const std::string& text) {
  const std::string bytes = absl::HexStringToBytes(hex);
  Message read, meant;
  ASSERT_TRUE(read.ParseFromString(bytes));
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &meant));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(read, meant)) << read.DebugString();
  EXPECT_EQ(absl::BytesToHexString(meant.SerializeAsString()), hex);
}

TEST(RecordedBytesTest, ReadsAReportRequest) {
  Expect<v1::ReportRequest>(
      "0a4a0a036c61621205736f7574681a103031323334353637383961626364656622100a05736f75746810021a0573"
      "6f7574682a130a0b706f736974696f6e696e671201311a01ff3080ade204123908011080e48cb0d566190140d820"
      "d94b7a1828013201073a080000c03f000000c0420c0000803f0000803e000000404a0801000000000000001805",
      R"(
          hello { site: "lab" node: "south" boot_id: "0123456789abcdef" sources { name: "south"
          dimension: 2 leaves: "south" } model { name: "positioning" version: "1" sha256: "\377" }
          slot_ns: 10000000 } frames { sequence: 1 epoch: 3527611200000
          captured_unix_ns: 1763805600000000001 source: 0 revision: 1 subjects: 7 means: 1.5 means: -2
          cholesky: 1 cholesky: 0.25 cholesky: 2 contributors: 1 } dropped_frames: 5)");
}

TEST(RecordedBytesTest, ReadsAWatchResponse) {
  Expect<v1::WatchResponse>(
      "0a7f08ffffffffffffffffff01110140d820d94b7a18190340d820d94b7a1820012802320207093a100000803f00"
      "000040000040400000804042180000803f000000000000803f000000400000003f000000404a1003000000000000"
      "00020000000000000052080000803f000000005a10000000000000803f000000400000404010041a056e6f727468"
      "1a05736f75746820a0c21e",
      R"(
          slot { epoch: 18446744073709551615 captured_unix_ns: 1763805600000000001
          fused_unix_ns: 1763805600000000003 revision: 1 dimension: 2 subjects: 7 subjects: 9 means: 1
          means: 2 means: 3 means: 4 cholesky: 1 cholesky: 0 cholesky: 1 cholesky: 2 cholesky: 0.5
          cholesky: 2 contributors: 3 contributors: 2 consistency: 1 consistency: 0 velocities: 0
          velocities: 1 velocities: 2 velocities: 3 } skipped_slots: 4 leaves: "north" leaves: "south"
          slot_ns: 500000)");
}

TEST(RecordedBytesTest, ReadsAReportOfClasses) {
  Expect<v1::ReportRequest>(
      "0a460a036169721204726f6f661a103031323334353637383961626364656622220a04726f6f661a04726f6f66"
      "22044250534b22045150534b2a080000803e0000403f3080ade204121f0801108085e7889105190140d820d94b"
      "7a18320107520800000000000080ff",
      R"(
          hello { site: "air" node: "roof" boot_id: "0123456789abcdef" sources { name: "roof"
          leaves: "roof" classes: "BPSK" classes: "QPSK" prior: 0.25 prior: 0.75 } slot_ns: 10000000 }
          frames { sequence: 1 epoch: 176380560000 captured_unix_ns: 1763805600000000001 source: 0
          subjects: 7 log_probabilities: 0 log_probabilities: -inf })");
}

TEST(RecordedBytesTest, ReadsAWatchResponseOfClasses) {
  Expect<v1::WatchResponse>(
      "0a36088085e7889105110140d820d94b7a18190340d820d94b7a183201074a080100000000000000520400"
      "00803f6208000000bf000080bf1a04726f6f662080ade2042a0361697232044250534b32045150534b",
      R"(
          slot { epoch: 176380560000 captured_unix_ns: 1763805600000000001
          fused_unix_ns: 1763805600000000003 subjects: 7 contributors: 1 consistency: 1
          log_probabilities: -0.5 log_probabilities: -1 } leaves: "roof" slot_ns: 10000000 site: "air"
          classes: "BPSK" classes: "QPSK")");
}

TEST(RecordedBytesTest, ReadsAListNodesResponse) {
  Expect<v1::ListNodesResponse>(
      "0a630a036c61621205736f7574681801210140d820d94b7a18288180808080808010300238034205736f75746842"
      "04656173744a0b706f736974696f6e696e675201315a02ff02621c0a076c657474657273100118ac022002280230"
      "01380342046c617465110940d820d94b7a181a036c6162",
      R"(
          nodes { site: "lab" name: "south" connected: true last_frame_unix_ns: 1763805600000000001
          accepted_frames: 9007199254740993 refused_frames: 2 dropped_frames: 3 sources: "south"
          sources: "east" model_name: "positioning" model_version: "1" model_sha256: "\377\002" learns {
          run: "letters" connected: true sample_count: 300 last_round: 2 accepted_updates: 2
          refused_updates: 1 dropped_rounds: 3 last_refusal: "late" } }
          answered_unix_ns: 1763805600000000009 sites: "lab")");
}

TEST(RecordedBytesTest, ReadsAListRunsResponse) {
  Expect<v1::ListRunsResponse>(
      "0a6a0a076c65747465727310021a066665646176672014280330043901981f19e74b7a1840054804500458016003"
      "68077080e9017a04abacad0181010340d820d94b7a188a010577616974739901000000000000f83fa101f168e388"
      "b5f8e43ea8010cb00102b80106c001010a1e0a0664696769747310068a01117468652073746f7265206973206675"
      "6c6c",
      R"(
          runs { name: "letters" state: RUN_STATE_RUNNING strategy: "fedavg" rounds: 20
          committed_rounds: 3 round: 4 deadline_unix_ns: 1763805660000000001 joined_nodes: 5
          connected_nodes: 4 asked_nodes: 4 accepted_updates: 1 quorum: 3 refused_updates: 7
          element_count: 29824 model_sha256: "\253\254\255\001" started_unix_ns: 1763805600000000003
          message: "waits" epsilon: 1.5 delta: 1e-05 total_accepted_updates: 12 total_declined_tasks: 2
          round_refused_updates: 6 unable_nodes: 1 } runs { name: "digits" state: RUN_STATE_FAILED
          message: "the store is full" })");
}

TEST(RecordedBytesTest, ReadsAGetRunResponse) {
  Expect<v1::GetRunResponse>(
      "0a180a076c657474657273100492010a726f756e6473203d203212c3010802110140d820d94b7a18190540d820d9"
      "4b7a18200328023004380140d80449000000000000e8bf511f85eb51b81eed3f5900000000000004406080d2036a"
      "020102721c0a056e6f72746810ac0219000000000000e0bf21000000000000f43f7a3909643bdf4f8d97ea3f119a"
      "9999999999e93f1948e17a14ae47e93f21295c8fc2f528e83f29cdccccccccccec3f30e807391f85eb51b81ee53f"
      "8901000000000000d03f980101a201180a05736f7574681206696d616765731a0773696465203332120c08018001"
      "019201046e6f6e651a240a056e6f727468100118ac02200228023001380342046c61746548045206696d61676573"
      "2111000000000000002a056e6f727468",
      R"(
          run { name: "letters" state: RUN_STATE_FINISHED config: "rounds = 2" } history { round: 2
          started_unix_ns: 1763805600000000001 ended_unix_ns: 1763805600000000005 asked: 3 accepted: 2
          refused: 4 dropped: 1 sample_count: 600 loss: -0.75 spread: 0.91 update_norm: 2.5
          received_bytes: 59648 model_sha256: "\001\002" contributions { node: "north" sample_count: 300
          loss: -0.5 seconds: 1.25 } evaluation { linear_probe: 0.831 knn: 0.8 random_linear_probe: 0.79
          random_knn: 0.755 spread: 0.9 test_images: 1000 random_spread: 0.66 } epsilon: 0.25 declined: 1
          declines { node: "south" reason: "images" message: "side 32" } } history { round: 1
          rolled_back: true failure: "none" } participants { node: "north" connected: true
          sample_count: 300 last_round: 2 accepted_updates: 2 refused_updates: 1 dropped_rounds: 3
          last_refusal: "late" declined_tasks: 4 cannot_train: "images" } earlier: 17 next_node: "north")");
}

TEST(RecordedBytesTest, ReadsAWatchRunResponse) {
  Expect<v1::WatchRunResponse>(
      "0a0b0a076c6574746572731005121a080392011531206f662033206e6f64657320616e737765726564",
      R"(
          run { name: "letters" state: RUN_STATE_STOPPED } rounds { round: 3
          failure: "1 of 3 nodes answered" })");
}

TEST(RecordedBytesTest, ReadsAListModelsResponse) {
  Expect<v1::ListModelsResponse>(
      "0a220a076c65747465727310021a02ff012080e9012880a607310740d820d94b7a1838011003",
      R"(
          models { run: "letters" round: 2 sha256: "\377\001" element_count: 29824 file_bytes: 119552
          created_unix_ns: 1763805600000000007 current: true } next_round: 3)");
}

TEST(RecordedBytesTest, ReadsAStoredRun) {
  Expect<v1::StoredRun>(
      "0804100318012a2d0a150a056e6f72746811000000000000e03f18ac02200110051d0000004020012801310140d8"
      "20d94b7a1838063201013a046e6f6e654001480c5007580261000000000000f83f",
      R"(
          round: 4 committed: 3 paused: true open { asked { node: "north" weight: 0.5 sample_count: 300
          partial_sums: true } fraction_bits: -3 bound: 2 step: 1 closed: true
          started_unix_ns: 1763805600000000001 refused_updates: 6 } earlier_models: "\001" failure: "none"
          relayed: true accepted_updates: 12 refused_updates: 7 declined_tasks: 2 epsilon: 1.5)");
}

}  // namespace
}  // namespace tributary::wire
