// A node's uplink against servers that restart, refuse, delay and send wrong answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "core/link/uplink.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"
#include "tests/faults/node_cuttable_link.h"
#include "tests/faults/node_report_server.h"
#include "tests/support/process.h"

namespace tributary::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t kTuples = 2;  // in each frame

class NodeUplinkTest : public ::testing::Test {
 protected:
  void SetUp() override { server_.Start(); }

  void Connect(std::string address = {}, link::SpoolLimits spool = {}, std::size_t frames_per_message = 1) {
    link::UplinkOptions options;
    options.aggregator = address.empty() ? server_.address() : std::move(address);
    options.spool = spool;
    options.frames_per_message = frames_per_message;
    v1::Hello hello;
    hello.set_site("room");
    hello.set_node("north");
    hello.set_boot_id(wire::NewBootId());
    wire::AddSource(hello, "north", 2, {"north"});
    hello.set_slot_ns(static_cast<std::uint64_t>(slot_.ns()));
    auto uplink = link::Uplink::Create(std::move(options), std::move(hello), clock_, metrics_);
    ASSERT_TRUE(uplink.ok()) << uplink.status();
    uplink_ = *std::move(uplink);
  }
  bool Reporting() {
    return WaitFor([this] { return uplink_->state() == link::UplinkState::kReporting; });
  }
  void Offer(std::uint64_t frames) {
    for (std::uint64_t i = 0; i < frames; ++i) {
      frame_.epoch = ++epoch_;
      frame_.subjects = {1, 2};
      frame_.means = {1, 2, 3, 4};
      frame_.cholesky = {1, 0, 1, 1, 0, 1};
      uplink_->Offer(frame_);
    }
  }
  bool AllAcknowledged() {
    return WaitFor([this] { return uplink_->counters().spool.held_frames == 0; });
  }
  link::SpoolCounters Spooled() const { return uplink_->counters().spool; }
  void ExpectBalance() const {
    const link::SpoolCounters counters = Spooled();
    EXPECT_EQ(counters.offered_frames,
              counters.acknowledged_frames + counters.dropped_frames + counters.held_frames);
    EXPECT_EQ(counters.offered_tuples,
              counters.acknowledged_tuples + counters.dropped_tuples + counters.held_tuples);
  }

  ReportServer server_;
  const runtime::SystemClock clock_;
  runtime::Metrics metrics_;
  estimate::SlotLength slot_;  // of the node
  estimate::TupleFrame frame_;
  estimate::Epoch epoch_ = 0;
  std::unique_ptr<link::Uplink> uplink_;
};

TEST_F(NodeUplinkTest, DeliversEveryFrameOnce) {
  Connect();
  Offer(500);
  ASSERT_TRUE(AllAcknowledged());
  const auto arrived = server_.Arrived();
  EXPECT_EQ(arrived.size(), 500u);
  EXPECT_TRUE(
      std::all_of(arrived.begin(), arrived.end(), [](const auto& entry) { return entry.second == 1; }));
  EXPECT_EQ(Spooled().dropped_frames, 0u);
  EXPECT_EQ(uplink_->Stop(seconds(5)), 0u);
  ExpectBalance();
}

TEST_F(NodeUplinkTest, SaysWhoItIs) {
  Connect();
  ASSERT_TRUE(Reporting());
  const auto hellos = server_.Hellos();
  ASSERT_EQ(hellos.size(), 1u);
  EXPECT_EQ(hellos[0].site(), "room");
  EXPECT_EQ(hellos[0].node(), "north");
  EXPECT_EQ(hellos[0].boot_id().size(), 16u);
  EXPECT_EQ(hellos[0].sources(0).leaves(0), "north");
}

TEST_F(NodeUplinkTest, ReportsWhereTheAggregatorCountsTheSameSlots) {
  slot_ = *estimate::SlotLength::FromMs(10);
  server_.Behave({.slot_ns = 10'000'000});
  Connect();
  ASSERT_TRUE(Reporting());
  EXPECT_EQ(server_.Hellos()[0].slot_ns(), 10'000'000u);
}

// An older aggregator ignores the field, takes the hello and answers without one.
TEST_F(NodeUplinkTest, DoesNotReportWhereTheAggregatorCountsOtherSlots) {
  slot_ = *estimate::SlotLength::FromMs(10);
  Connect();
  Offer(3);
  ASSERT_TRUE(WaitFor([this] { return uplink_->state() == link::UplinkState::kRefused; }));
  EXPECT_EQ(uplink_->refusal().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(uplink_->refusal().message()),
              AllOf(HasSubstr("slot_ms"), HasSubstr("10 ms"), HasSubstr("0.5 ms")));
  EXPECT_TRUE(server_.Arrived().empty()) << "no frame is collated by another length";
  EXPECT_EQ(Spooled().held_frames, 3u);
}

TEST_F(NodeUplinkTest, TakesFramesFromSeveralPanelsAtOnce) {
  Connect();
  std::vector<std::thread> panels;
  for (int panel = 0; panel < 3; ++panel) {
    panels.emplace_back([this] {
      estimate::TupleFrame frame;
      for (int i = 0; i < 300; ++i) {
        frame.subjects = {1};
        frame.means = {1, 2};
        frame.cholesky = {1, 0, 1};
        uplink_->Offer(frame);
      }
    });
  }
  for (std::thread& panel : panels) panel.join();
  ASSERT_TRUE(AllAcknowledged());
  EXPECT_EQ(server_.Arrived().size(), 900u);
}

TEST_F(NodeUplinkTest, SendsFewerMessagesWhenToldTo) {
  Connect({}, {}, 4);
  ASSERT_TRUE(Reporting());
  Offer(401);
  ASSERT_TRUE(AllAcknowledged()) << "the last one does not wait for company for ever";
  EXPECT_LE(server_.Messages(), 110u);
}

TEST_F(NodeUplinkTest, KeepsWhatItHasUntilTheServerComesUp) {
  const std::string address = server_.address();
  server_.Stop();
  Connect(address);
  Offer(100);
  EXPECT_EQ(Spooled().held_frames, 100u);
  server_.Start();
  ASSERT_TRUE(AllAcknowledged());
  EXPECT_EQ(server_.Arrived().size(), 100u);
}

TEST_F(NodeUplinkTest, ReportsAgainWithinTwoSecondsOfTheServersRestart) {
  Connect();
  ASSERT_TRUE(Reporting());
  server_.Stop();
  ASSERT_TRUE(WaitFor([this] { return uplink_->state() == link::UplinkState::kConnecting; }));
  server_.Start();
  EXPECT_TRUE(WaitFor([this] { return uplink_->state() == link::UplinkState::kReporting; }, seconds(2)));
}

TEST_F(NodeUplinkTest, SendsAgainWhatAKilledServerHadNotAcknowledged) {
  Connect();
  Offer(50);
  ASSERT_TRUE(AllAcknowledged());
  server_.Behave({.acknowledge = false});
  Offer(30);
  ASSERT_TRUE(WaitFor([this] { return server_.Arrived().size() == 80; }));
  server_.Stop();
  Offer(20);
  server_.Behave({});
  server_.Start();
  ASSERT_TRUE(AllAcknowledged());
  const auto arrived = server_.Arrived();
  EXPECT_EQ(arrived.size(), 100u);
  for (const auto& [sequence, times] : arrived) {
    EXPECT_EQ(times, sequence > 50 && sequence <= 80 ? 2 : 1) << sequence;
  }
  // A frame may still have gone into the connection that was about to end.
  EXPECT_THAT(Spooled().retaken_frames, ::testing::AllOf(::testing::Ge(30u), ::testing::Le(50u)));
  EXPECT_EQ(Spooled().dropped_frames, 0u);
}

TEST_F(NodeUplinkTest, LosesNothingWhenStreamsEndAgainAndAgain) {
  server_.Behave({.frames_per_stream = 40});
  Connect();
  Offer(400);
  ASSERT_TRUE(AllAcknowledged());
  EXPECT_EQ(server_.Arrived().size(), 400u);
  EXPECT_EQ(Spooled().dropped_frames, 0u);
  EXPECT_GT(uplink_->counters().connections, 1u);
  ExpectBalance();
}

TEST_F(NodeUplinkTest, NoticesACutLinkThatIsNotClosed) {
  CuttableLink link(server_.port());
  Connect(link.address());
  Offer(10);
  ASSERT_TRUE(AllAcknowledged());
  link.Cut();
  Offer(10);
  ASSERT_TRUE(AllAcknowledged()) << "keepalive finds out within four seconds";
  EXPECT_EQ(server_.Arrived().size(), 20u);
  EXPECT_EQ(uplink_->counters().connections, 2u);
  uplink_->Stop(seconds(1));
}

TEST_F(NodeUplinkTest, StaysBoundedWhenTheServerNeverAcknowledges) {
  server_.Behave({.acknowledge = false});
  Connect({}, {.frames = 100});
  ASSERT_TRUE(Reporting());
  Offer(500);
  EXPECT_EQ(Spooled().held_frames, 100u);
  EXPECT_EQ(Spooled().dropped_frames, 400u);
  EXPECT_EQ(uplink_->Stop(milliseconds(100)), 100u);
  EXPECT_EQ(Spooled().dropped_frames, 500u);
  ExpectBalance();
}

TEST_F(NodeUplinkTest, NeverBlocksAPanelOnASlowServer) {
  server_.Hold();
  Connect({}, {.frames = 64});
  ASSERT_TRUE(Reporting());
  // 8 MB: far more than the sockets and HTTP/2 windows take.
  for (int i = 0; i < 2'000; ++i) {
    estimate::TupleFrame frame;
    frame.subjects.assign(200, 1);
    frame.means.assign(400, 1);
    frame.cholesky.assign(600, 1);
    uplink_->Offer(frame);
  }
  EXPECT_LE(Spooled().held_frames, 64u);
  EXPECT_GT(Spooled().dropped_frames, 0u);
  server_.Release();
  ASSERT_TRUE(AllAcknowledged());
  ExpectBalance();
  Offer(1);  // carries the count
  EXPECT_TRUE(WaitFor([this] { return server_.Arrived().rbegin()->first == 2'001u; }));
  EXPECT_EQ(server_.DroppedFrames(), Spooled().dropped_frames);
}

TEST_F(NodeUplinkTest, SaysWhyANodeIsRefusedAndDoesNotWaitForIt) {
  server_.Behave({.hello_status = {grpc::StatusCode::FAILED_PRECONDITION, "model.sha256: differs"}});
  Connect();
  Offer(10);
  ASSERT_TRUE(WaitFor([this] { return uplink_->state() == link::UplinkState::kRefused; }));
  EXPECT_EQ(uplink_->refusal().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(uplink_->refusal().message()), HasSubstr("model.sha256"));
  const auto start = steady_clock::now();
  EXPECT_EQ(uplink_->Stop(seconds(60)), 10u);
  EXPECT_LT(steady_clock::now() - start, seconds(10));
}

TEST_F(NodeUplinkTest, ReportsOnceARefusalIsLifted) {
  server_.Behave({.hello_status = {grpc::StatusCode::INVALID_ARGUMENT, "site: unknown"}});
  Connect();
  Offer(10);
  ASSERT_TRUE(WaitFor([this] { return uplink_->state() == link::UplinkState::kRefused; }));
  server_.Behave({});
  ASSERT_TRUE(AllAcknowledged());
  EXPECT_TRUE(uplink_->refusal().ok());
}

TEST_F(NodeUplinkTest, CountsRefusedFramesByReasonAndGoesOn) {
  server_.Behave({.edit = [](const v1::ReportRequest& request, v1::ReportResponse& response) {
    for (const v1::Frame& frame : request.frames()) {
      if (frame.sequence() % 10 != 0) continue;
      v1::Refusal& refusal = *response.add_refusals();
      refusal.set_sequence(frame.sequence());
      refusal.set_reason(v1::REFUSAL_REASON_NOT_FINITE);
      refusal.set_message("means[0]: nan");
    }
  }});
  Connect();
  Offer(100);
  ASSERT_TRUE(AllAcknowledged());
  const link::RefusalCounters refusals = uplink_->counters().refusals;
  EXPECT_EQ(refusals.frames[v1::REFUSAL_REASON_NOT_FINITE], 10u);
  EXPECT_EQ(refusals.tuples[v1::REFUSAL_REASON_NOT_FINITE], 10 * kTuples);
  EXPECT_EQ(uplink_->counters().connections, 1u);
  EXPECT_THAT(metrics_.Text(), HasSubstr("tributary_uplink_refused_frames_total{reason=\"not_finite\"} 10"));
}

TEST_F(NodeUplinkTest, SurvivesAcknowledgementsOfWhatItNeverSent) {
  server_.Behave({.edit = [](const v1::ReportRequest&, v1::ReportResponse& response) {
    response.set_acknowledged_sequence(UINT64_MAX);
  }});
  Connect();
  Offer(10);
  ASSERT_TRUE(WaitFor([this] { return uplink_->state() == link::UplinkState::kRefused; }));
  EXPECT_EQ(Spooled().acknowledged_frames, 0u) << "a lie frees nothing";
  EXPECT_EQ(Spooled().held_frames, 10u);
  server_.Behave({});
  ASSERT_TRUE(AllAcknowledged());
}

TEST_F(NodeUplinkTest, SurvivesSenselessRefusals) {
  server_.Behave({.edit = [](const v1::ReportRequest&, v1::ReportResponse& response) {
    v1::Refusal& refusal = *response.add_refusals();
    refusal.set_sequence(UINT64_MAX);
    refusal.set_reason(static_cast<v1::RefusalReason>(4711));
    refusal.set_message(std::string(100'000, '\x1b'));
    for (int i = 0; i < 1000; ++i) refusal.add_subjects(7);
    response.set_acknowledged_sequence(response.acknowledged_sequence());
  }});
  Connect();
  Offer(20);
  ASSERT_TRUE(AllAcknowledged());
  EXPECT_EQ(uplink_->counters().connections, 1u);
  EXPECT_GT(uplink_->counters().refusals.tuples[v1::REFUSAL_REASON_UNSPECIFIED], 0u);
}

TEST_F(NodeUplinkTest, GivesUpDrainingInTime) {
  const std::string address = server_.address();
  server_.Stop();
  Connect(address);
  Offer(10);
  const auto start = steady_clock::now();
  EXPECT_EQ(uplink_->Stop(milliseconds(200)), 10u);
  EXPECT_LT(steady_clock::now() - start, seconds(10));
  EXPECT_EQ(uplink_->state(), link::UplinkState::kStopped);
  Offer(1);
  EXPECT_EQ(Spooled().dropped_frames, 11u) << "offers after the end are counted too";
}

TEST_F(NodeUplinkTest, RefusesADeclarationThatNoServerWouldTake) {
  v1::Hello hello;
  hello.set_site("room");
  hello.set_node("north");
  link::UplinkOptions options;
  options.aggregator = server_.address();
  EXPECT_EQ(link::Uplink::Create(options, hello, clock_, metrics_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::testing
