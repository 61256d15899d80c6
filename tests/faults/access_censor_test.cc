// A stolen board with a good certificate: it lies about its own panel, and the others are heard all the same.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/estimate/slot_length.h"
#include "core/link/channel.h"
#include "core/runtime/clock.h"
#include "tests/support/certificates.h"
#include "tests/support/fleet.h"
#include "tests/support/reporter.h"
#include "tributary/v1/fusion.grpc.pb.h"

namespace tributary::testing {
namespace {

using ::testing::HasSubstr;

std::string OwnersOf(const std::vector<std::string>& walls) {
  std::string owners;
  for (const std::string& wall : walls) {
    owners += "[[site.owner]]\nnode = \"node-" + wall + "\"\nsources = [\"" + wall + "\"]\n";
  }
  return owners;
}

// Four panels, each with a board of its own; west's is stolen.
class StolenBoardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Slots wait for a second, frames may be two ahead: a loaded machine makes no honest board late.
    const std::string path = "aggregator.toml";
    std::string config = ReadText(folder_.Path(path));
    const std::string deadline = "deadline_ms = 50.0";
    config.replace(config.find(deadline), deadline.size(), "deadline_ms = 1000.0");
    folder_.Write(path, config);
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }

  // The end of a stream that the stolen board opens with this source.
  grpc::Status Claim(const std::string& source, const std::vector<std::string>& leaves) const {
    const auto stub = v1::FusionService::NewStub(
        link::MakeChannel(Address(aggregator_.ingest_port()), certificates_.Material("node-west")));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    context.set_wait_for_ready(true);
    const auto stream = stub->Report(&context);
    v1::ReportRequest request;
    request.mutable_hello()->set_site("room");
    request.mutable_hello()->set_node("node-west");
    request.mutable_hello()->set_boot_id(wire::NewBootId());
    wire::AddSource(*request.mutable_hello(), source, 2, leaves);
    stream->Write(request);
    v1::ReportResponse response;
    if (stream->Read(&response)) context.TryCancel();
    return stream->Finish();
  }
  double Value(const std::string& metric) const { return MetricValue(aggregator_.Metrics(), metric); }

  ScratchFolder folder_;
  const Certificates certificates_{
      folder_, "certs", {"aggregator", "node-south", "node-east", "node-north", "node-west"}};
  AggregatorProcess aggregator_{folder_, "aggregator", kWalls, certificates_.Table("aggregator"),
                                "max_lead_s = 2.0\n" + OwnersOf(kWalls)};
  runtime::SystemClock clock_;
};

TEST_F(StolenBoardTest, SpeaksForNoPanelButItsOwn) {
  for (const std::string& source : {std::string("west"), std::string("node-west"), std::string("ghost")}) {
    const grpc::Status all = Claim(source, kWalls);
    EXPECT_EQ(all.error_code(), grpc::StatusCode::PERMISSION_DENIED) << source;
    EXPECT_THAT(all.error_message(), HasSubstr("belongs to node \"node-south\"")) << source;
  }
  EXPECT_EQ(Claim("west", {"west", "east"}).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Value("tributary_streams_refused_total{reason=\"not_allowed\"}"), 4);
}

TEST_F(StolenBoardTest, CannotTakeTheNameOfAPanelWhoseBoardIsAway) {
  EXPECT_EQ(Claim("south", {"south"}).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Claim("south", {"west"}).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  Reporter south("south", aggregator_.ingest_port(), certificates_.Material("node-south"));
  EXPECT_TRUE(WaitFor([&] { return south.Reporting(); })) << south.refusal();
}

// Its frames of slots that have not begun would close them, if slots waited from their first frame on.
TEST_F(StolenBoardTest, ReportsAheadOfTimeAndEverySlotIsCompleteWithTheHonestPanels) {
  constexpr int kSlots = 40;
  std::vector<std::unique_ptr<Reporter>> boards;
  for (const std::string& wall : kWalls) {
    boards.push_back(
        std::make_unique<Reporter>(wall, aggregator_.ingest_port(), certificates_.Material("node-" + wall)));
  }
  for (const auto& board : boards) ASSERT_TRUE(WaitFor([&] { return board->Reporting(); }));
  const std::unique_ptr<Reporter> stolen = std::move(boards.back());
  boards.pop_back();

  const estimate::SlotLength slot;
  const estimate::Epoch first = slot.EpochAt(clock_.UnixNs() + 1'500'000'000);
  for (int i = 0; i < kSlots; ++i) stolen->Offer(UnitFrame(first + static_cast<unsigned>(i), 1000));
  ASSERT_TRUE(WaitFor([&] { return Value("tributary_frames_accepted_total{site=\"room\"}") == kSlots; }))
      << aggregator_.Metrics();
  ASSERT_TRUE(WaitFor([&] { return slot.EpochAt(clock_.UnixNs()) > first + kSlots; }));
  for (int i = 0; i < kSlots; ++i) {
    for (const auto& board : boards) board->Offer(UnitFrame(first + static_cast<unsigned>(i)));
  }
  EXPECT_TRUE(WaitFor([&] {
    return Value("tributary_slots_fused_total{end=\"complete\",site=\"room\"}") == kSlots;
  })) << aggregator_.Metrics();
  EXPECT_EQ(Value("tributary_frames_refused_total{reason=\"late\",site=\"room\"}"), 0);
  EXPECT_EQ(Value("tributary_slots_fused_total{end=\"deadline\",site=\"room\"}"), 0);
  for (const std::string& wall : kWalls) {
    EXPECT_EQ(Value("tributary_leaf_missed_slots_total{leaf=\"" + wall + "\",site=\"room\"}"), 0) << wall;
  }
}

}  // namespace
}  // namespace tributary::testing
