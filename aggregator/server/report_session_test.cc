#include "aggregator/server/report_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/estimate/slot_length.h"
#include "core/runtime/metrics.h"
#include "core/wire/hello.h"

namespace tributary::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kNowNs = 1'700'000'000'000'000'000;

// One site, "lab", of the leaves north and east; one stream.
class ReportSessionTest : public ::testing::Test {
 protected:
  ReportSessionTest() {
    fusion::SiteConfig config;
    config.name = "lab";
    config.leaves = {"north", "east"};
    state_.sites.Add(*fusion::FusionEngine::Create(config), "", metrics_);
    session_.emplace(state_, std::nullopt);
  }

  static v1::ReportRequest Hello(const std::string& leaf = "north") {
    v1::ReportRequest request;
    v1::Hello& hello = *request.mutable_hello();
    hello.set_site("lab");
    hello.set_node("board");
    hello.set_boot_id(std::string(16, 'b'));
    v1::Source& source = *hello.add_sources();
    source.set_name(leaf);
    source.set_dimension(2);
    source.add_leaves(leaf);
    return request;
  }

  static v1::ReportRequest Frame(std::uint64_t sequence, std::uint64_t epoch_offset = 0) {
    v1::ReportRequest request;
    v1::Frame& frame = *request.add_frames();
    frame.set_sequence(sequence);
    frame.set_epoch(estimate::SlotLength().EpochAt(kNowNs) + epoch_offset);
    frame.set_captured_unix_ns(kNowNs);
    frame.add_subjects(7);
    for (float value : {1.0f, 2.0f}) frame.add_means(value);
    for (float value : {0.1f, 0.0f, 0.1f}) frame.add_cholesky(value);
    return request;
  }

  std::optional<StreamRefusal> Take(const v1::ReportRequest& request) {
    return session_->Take(request, {kNowNs, kNowNs}, fused_);
  }
  // The reason of the only refused frame.
  v1::RefusalReason RefusedFor(const v1::ReportRequest& request) {
    EXPECT_FALSE(Take(request).has_value());
    v1::ReportResponse response;
    session_->TakeAnswer(response);
    EXPECT_EQ(response.refusals_size(), 1);
    return response.refusals_size() == 1 ? response.refusals(0).reason() : v1::REFUSAL_REASON_UNSPECIFIED;
  }
  void Greet() { ASSERT_FALSE(Take(Hello()).has_value()); }

  runtime::Metrics metrics_;
  runtime::ManualClock clock_{0};
  publish::AggregatorState state_{clock_};
  std::optional<ReportSession> session_;
  fusion::FusedSlots fused_;
};

TEST_F(ReportSessionTest, AnswersTheHelloWithTheSequenceItKnows) {
  Greet();
  EXPECT_EQ(session_->unanswered(), 1u);
  ASSERT_FALSE(Take(Frame(5)).has_value());
  session_.emplace(state_, std::nullopt);  // the node reconnects
  Greet();
  v1::ReportResponse response;
  session_->TakeAnswer(response);
  EXPECT_EQ(response.acknowledged_sequence(), 5u);
}

TEST_F(ReportSessionTest, TakesAFrameAndAcknowledgesIt) {
  Greet();
  ASSERT_FALSE(Take(Frame(1)).has_value());
  v1::ReportResponse response;
  session_->TakeAnswer(response);
  EXPECT_EQ(response.acknowledged_sequence(), 1u);
  EXPECT_EQ(response.refusals_size(), 0);
  EXPECT_EQ(state_.sites.Find("lab")->engine().counters().frames_accepted, 1u);
}

TEST_F(ReportSessionTest, KeepsWhatTheNodeSaysOfItself) {
  session_.emplace(state_, access::Peer{"board"}, "board", 99);
  Greet();
  v1::ReportRequest request;
  request.mutable_status()->set_version("1.2.3");
  request.mutable_status()->set_held_frames(4);
  ASSERT_FALSE(Take(request).has_value());
  v1::Node node = state_.fleet.List("lab").at(0);
  EXPECT_EQ(node.status().version(), "1.2.3");
  EXPECT_EQ(node.status_unix_ns(), kNowNs);
  EXPECT_EQ(node.identity(), "board");
  EXPECT_EQ(node.certificate_expires_unix_ns(), 99);
  EXPECT_EQ(node.last_frame_unix_ns(), 0) << "a status is no frame";
  // A node that says it all the time costs no more than one that says it twice a second.
  request.mutable_status()->set_held_frames(5);
  ASSERT_FALSE(Take(request).has_value());
  EXPECT_EQ(state_.fleet.List("lab").at(0).status().held_frames(), 4u);
  ASSERT_FALSE(session_->Take(request, {kNowNs, kNowNs + 500'000'000}, fused_).has_value());
  EXPECT_EQ(state_.fleet.List("lab").at(0).status().held_frames(), 5u);
}

// With late frames that revise, a frame of one subject may give out a slot with those of all sources.
TEST_F(ReportSessionTest, PublishesTheSlotsOfAMessageBeforeTheyAreMany) {
  v1::ReportRequest hello = Hello();
  hello.mutable_hello()->mutable_sources(0)->add_leaves("east");
  ASSERT_FALSE(Take(hello).has_value());
  v1::ReportRequest message;
  constexpr std::uint64_t kFrames = 40;
  for (std::uint64_t i = 0; i < kFrames; ++i) message.MergeFrom(Frame(1 + i, i));
  std::size_t published = 0, most = 0;
  const auto publish = [&] {
    most = std::max(most, fused_.size());
    published += fused_.size();
    fused_.Clear();
  };
  ASSERT_FALSE(session_->Take(message, {kNowNs, kNowNs}, fused_, publish).has_value());
  EXPECT_EQ(most, fusion::kMostFusedAtOnce);
  EXPECT_EQ(published + fused_.size(), kFrames);
}

TEST_F(ReportSessionTest, RefusesAFrameBeforeTheHello) {
  EXPECT_EQ(Take(Frame(1))->fault, StreamFault::kHelloMissing);
}

TEST_F(ReportSessionTest, RefusesASecondHello) {
  Greet();
  EXPECT_EQ(Take(Hello())->fault, StreamFault::kHelloRepeated);
}

TEST_F(ReportSessionTest, RefusesAnUnknownSiteAndNamesThoseItHas) {
  v1::ReportRequest hello = Hello();
  hello.mutable_hello()->set_site("attic");
  const auto refusal = Take(hello);
  EXPECT_EQ(refusal->fault, StreamFault::kUnknownSite);
  EXPECT_THAT(std::string(refusal->status.message()), HasSubstr("lab"));
}

TEST_F(ReportSessionTest, RefusesALeafThatTheSiteDoesNotList) {
  const auto refusal = Take(Hello("zenith"));
  EXPECT_EQ(refusal->fault, StreamFault::kUnknownLeaf);
  EXPECT_THAT(std::string(refusal->status.message()),
              AllOf(HasSubstr("no source 'zenith'"), HasSubstr("[[panel]] name"),
                    HasSubstr("[[site]] sources"), HasSubstr("north, east")));
}

TEST_F(ReportSessionTest, RefusesAnotherModelAndSaysWhichDiffers) {
  state_.sites.Find("lab")->set_model_sha256(std::string(32, 'm'));
  const auto refusal = Take(Hello());
  EXPECT_EQ(refusal->status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refusal->status.message()), HasSubstr("model.sha256"));
}

TEST_F(ReportSessionTest, TellsANodeTheLengthOfItsSlotsOnce) {
  Greet();
  v1::ReportResponse response;
  session_->TakeAnswer(response);
  EXPECT_EQ(response.slot_ns(), 500'000u);
  ASSERT_FALSE(Take(Frame(1)).has_value());
  session_->TakeAnswer(response);
  EXPECT_EQ(response.slot_ns(), 0u);
}

TEST_F(ReportSessionTest, RefusesSlotsOfAnotherLengthAndSaysBoth) {
  v1::ReportRequest hello = Hello();
  hello.mutable_hello()->set_slot_ns(10'000'000);
  const auto refusal = Take(hello);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->fault, StreamFault::kSlotDiffers);
  EXPECT_EQ(refusal->status.code(), absl::StatusCode::kFailedPrecondition);
  const std::string message(refusal->status.message());
  EXPECT_THAT(message, AllOf(HasSubstr("\"board\" counts slots of 10 ms"), HasSubstr("\"lab\" of 0.5 ms"),
                             HasSubstr("slot_ms")));
  EXPECT_LT(message.size(), 240u) << "what a node's log keeps of a peer's text";
}

TEST_F(ReportSessionTest, RefusesANodeThatDoesNotKnowOfOtherLengthsWhereTheSiteHasOne) {
  fusion::SiteConfig config;
  config.name = "lab";
  config.leaves = {"north"};
  config.slot = *estimate::SlotLength::FromMs(10);
  publish::AggregatorState state{clock_};
  state.sites.Add(*fusion::FusionEngine::Create(config), "", metrics_);
  ReportSession session(state, std::nullopt);
  const auto refusal = session.Take(Hello(), {kNowNs, kNowNs}, fused_);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->fault, StreamFault::kSlotDiffers);
}

TEST_F(ReportSessionTest, RefusesANodeThatIsNotItsCertificate) {
  session_.emplace(state_, access::Peer{"mallory"});
  EXPECT_EQ(Take(Hello())->status.code(), absl::StatusCode::kPermissionDenied);
}

// The site "lab" whose north belongs to "board"; east belongs to the node of its name.
class OwnedReportSessionTest : public ReportSessionTest {
 protected:
  OwnedReportSessionTest() {
    state_.access = &access_;
    session_.emplace(state_, access::Peer{"board"});
  }
  static access::AccessPolicy Policy(const std::vector<std::string>& owned,
                                     const std::vector<std::string>& refused = {}) {
    access::AccessLists lists;
    lists.refused = refused;
    return {lists, {{"lab", {"north", "east"}, {{"board", owned, ""}}}}};
  }
  static v1::ReportRequest Declaring(const std::string& source, const std::vector<std::string>& leaves) {
    v1::ReportRequest hello = Hello(source);
    hello.mutable_hello()->mutable_sources(0)->mutable_leaves()->Assign(leaves.begin(), leaves.end());
    return hello;
  }

  access::AccessControl access_{Policy({"north"}), clock_};
};

TEST_F(OwnedReportSessionTest, TakesItsOwnSource) { Greet(); }

TEST_F(OwnedReportSessionTest, RefusesASourceOfAnotherNodeAndSaysWhatToConfigure) {
  const auto refusal = Take(Hello("east"));
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->fault, StreamFault::kNotAllowed);
  EXPECT_EQ(refusal->status.code(), absl::StatusCode::kPermissionDenied);
  const std::string message(refusal->status.message());
  EXPECT_THAT(message,
              AllOf(HasSubstr("\"east\""), HasSubstr("not to \"board\""), HasSubstr("[[site.owner]]")));
  EXPECT_LT(message.size(), 240u) << "what a node's log keeps of a peer's text";
}

TEST_F(OwnedReportSessionTest, RefusesMoreLeavesThanItsOwn) {
  EXPECT_EQ(Take(Declaring("north", {"north", "east"}))->fault, StreamFault::kNotAllowed);
  EXPECT_EQ(Take(Declaring("board", {"east"}))->fault, StreamFault::kNotAllowed);
}

TEST_F(OwnedReportSessionTest, RefusesTheNameOfAnothersSourceAlsoWithItsOwnLeaf) {
  EXPECT_EQ(Take(Declaring("east", {"north"}))->fault, StreamFault::kNotAllowed);
  EXPECT_EQ(Take(Declaring("ghost", {"north"}))->fault, StreamFault::kNotAllowed);
  ASSERT_FALSE(Take(Declaring("board", {"north"})).has_value()) << "the node's own name";
}

TEST_F(OwnedReportSessionTest, IsOutWhenItsSourceIsGivenToAnother) {
  Greet();
  EXPECT_FALSE(session_->CheckAccess().has_value());
  access_.set_policy(Policy({}));
  EXPECT_EQ(session_->CheckAccess()->fault, StreamFault::kNotAllowed);
}

TEST_F(OwnedReportSessionTest, IsOutWhenItsNameIsRefused) {
  Greet();
  access_.set_policy(Policy({"north"}, {"board"}));
  const auto refusal = session_->CheckAccess();
  ASSERT_TRUE(refusal.has_value());
  EXPECT_THAT(std::string(refusal->status.message()), HasSubstr("refused in [access]"));
}

// The site "air", whose receivers tell two modulations apart.
class CategoricalReportSessionTest : public ReportSessionTest {
 protected:
  CategoricalReportSessionTest() {
    fusion::SiteConfig config;
    config.name = "air";
    config.leaves = {"north", "east"};
    config.dimension = 0;
    config.classes = {"BPSK", "QPSK"};
    state_.sites.Add(*fusion::FusionEngine::Create(config), "", metrics_);
  }

  static v1::ReportRequest HelloOf(const std::vector<std::string>& classes) {
    v1::ReportRequest request = Hello();
    request.mutable_hello()->set_site("air");
    request.mutable_hello()->clear_sources();
    wire::AddClassifier(*request.mutable_hello(), "north", {"north"}, classes, {});
    return request;
  }
  static v1::ReportRequest FrameOf(std::uint64_t sequence, const std::vector<float>& log_probabilities) {
    v1::ReportRequest request = Frame(sequence, sequence);
    request.mutable_frames(0)->clear_means();
    request.mutable_frames(0)->clear_cholesky();
    for (const float each : log_probabilities) request.mutable_frames(0)->add_log_probabilities(each);
    return request;
  }
};

TEST_F(CategoricalReportSessionTest, TakesFramesOfTheSitesClasses) {
  ASSERT_FALSE(Take(HelloOf({"BPSK", "QPSK"})).has_value());
  ASSERT_FALSE(Take(FrameOf(1, {0, -std::numeric_limits<float>::infinity()})).has_value());
  EXPECT_EQ(session_->taken_frames(), 1u);
  EXPECT_EQ(RefusedFor(FrameOf(2, {0})), v1::REFUSAL_REASON_SHAPE);
  EXPECT_EQ(RefusedFor(FrameOf(3, std::vector<float>(1000, -7))), v1::REFUSAL_REASON_SHAPE);
  EXPECT_EQ(RefusedFor(Frame(4)), v1::REFUSAL_REASON_SHAPE);
  EXPECT_EQ(RefusedFor(FrameOf(5, {0, 0})), v1::REFUSAL_REASON_NOT_NORMALISED);
  EXPECT_EQ(RefusedFor(FrameOf(6, {0, std::nanf("")})), v1::REFUSAL_REASON_NOT_FINITE);
  EXPECT_EQ(session_->taken_frames(), 1u);
}

TEST_F(CategoricalReportSessionTest, RefusesOtherClassesAndSaysWhichDiffer) {
  const auto fault = [&](const v1::ReportRequest& hello) {
    session_.emplace(state_, std::nullopt);
    const std::optional<StreamRefusal> refusal = Take(hello);
    EXPECT_TRUE(refusal && absl::IsInvalidArgument(refusal->status));
    return refusal ? std::string(refusal->status.message()) : "";
  };
  EXPECT_THAT(fault(HelloOf({"QPSK", "BPSK"})), HasSubstr("class 0 is 'QPSK', must be the site's 'BPSK'"));
  EXPECT_THAT(fault(HelloOf({"BPSK", "QPSK", "GFSK"})), HasSubstr("has 3 classes"));
  EXPECT_THAT(fault(HelloOf({"BPSK"})), HasSubstr("classes: 1 given"));
  v1::ReportRequest positions = Hello();
  positions.mutable_hello()->set_site("air");
  EXPECT_THAT(fault(positions), HasSubstr("has no classes, must have the site's 2 classes: BPSK, QPSK"));
  v1::ReportRequest classes = HelloOf({"BPSK", "QPSK"});
  classes.mutable_hello()->set_site("lab");
  EXPECT_THAT(fault(classes), HasSubstr("has 2 classes, the site has positions"));
  v1::ReportRequest mixed = HelloOf({"BPSK", "QPSK"});
  wire::AddSource(*mixed.mutable_hello(), "east", 2, {"east"});
  EXPECT_THAT(fault(mixed), HasSubstr("source 'east'"));
  v1::ReportRequest prior = HelloOf({"BPSK", "QPSK"});
  prior.mutable_hello()->mutable_sources(0)->add_prior(1);
  EXPECT_THAT(fault(prior), HasSubstr("prior: has 1 probabilities for 2 classes"));
}

TEST_F(ReportSessionTest, EndsAStreamWhoseSequenceDoesNotAscend) {
  Greet();
  ASSERT_FALSE(Take(Frame(2)).has_value());
  EXPECT_EQ(Take(Frame(2, 1))->fault, StreamFault::kOutOfOrder);
}

TEST_F(ReportSessionTest, RefusesWhatDoesNotFitAndKeepsTheStream) {
  Greet();
  v1::ReportRequest short_means = Frame(1);
  short_means.mutable_frames(0)->mutable_means()->RemoveLast();
  EXPECT_EQ(RefusedFor(short_means), v1::REFUSAL_REASON_SHAPE);
  v1::ReportRequest nan = Frame(2);
  nan.mutable_frames(0)->set_means(0, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(RefusedFor(nan), v1::REFUSAL_REASON_NOT_FINITE);
  v1::ReportRequest source = Frame(3);
  source.mutable_frames(0)->set_source(9);
  EXPECT_EQ(RefusedFor(source), v1::REFUSAL_REASON_UNKNOWN_SOURCE);
  EXPECT_EQ(RefusedFor(Frame(4, 1'000'000)), v1::REFUSAL_REASON_EPOCH_FUTURE);
  ASSERT_FALSE(Take(Frame(5)).has_value());
  EXPECT_EQ(RefusedFor(Frame(6)), v1::REFUSAL_REASON_DUPLICATE);
}

TEST_F(ReportSessionTest, RefusesAMessageOfMoreFramesThanItAnswersFor) {
  Greet();
  v1::ReportRequest request;
  for (int i = 0; i <= ReportSession::kMaxFrames; ++i) request.add_frames();
  EXPECT_EQ(Take(request)->fault, StreamFault::kTooLarge);
}

TEST_F(ReportSessionTest, YieldsToANewerStreamOfItsNode) {
  Greet();
  ReportSession newer(state_, std::nullopt);
  ASSERT_FALSE(newer.Take(Hello(), {kNowNs, kNowNs}, fused_).has_value());
  EXPECT_TRUE(newer.superseded_another());
  EXPECT_EQ(Take(Frame(1))->fault, StreamFault::kSuperseded);
  EXPECT_FALSE(newer.superseded());
  EXPECT_TRUE(state_.fleet.List("lab")[0].connected());
}

}  // namespace
}  // namespace tributary::server
