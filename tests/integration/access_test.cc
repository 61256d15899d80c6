// Access of a running aggregator: what a name sees, and what becomes of it when the configuration changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/access_fixture.h"
#include "tributary/v1/fleet.grpc.pb.h"
#include "tributary/v1/run.pb.h"

namespace tributary::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class AccessTest : public AccessFixture {
 protected:
  // Changes the configuration; returns how long the streams took to end.
  milliseconds EndedAfter(const std::string& from, const std::string& to,
                          const std::vector<RawCall*>& streams) {
    return AccessFixture::EndedAfter([&] { guarded_.Change(from, to); }, streams);
  }
};

constexpr milliseconds kRevocationLimit{1000};

TEST_F(AccessTest, ARefusedNodeIsOutOfItsOpenStreamsWithinASecondAndTheOthersStay) {
  const auto south = Report("south", "south"), board = Report("board", "east");
  ASSERT_TRUE(south->Read() && board->Read());
  EXPECT_LE(EndedAfter("refused = [", "refused = [\"south\", ", {south.get()}), kRevocationLimit);
  EXPECT_EQ(south->End().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(south->End().error_message(), AllOf(HasSubstr("\"south\""), HasSubstr("refused in [access]")));
  EXPECT_EQ(Value("tributary_streams_refused_total{reason=\"not_allowed\"}"), 1);
  EXPECT_EQ(Value("tributary_nodes_connected{site=\"room\"}"), 1);
  const auto again = Report("south", "south");
  EXPECT_FALSE(again->Read());
  EXPECT_EQ(again->End().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(AccessTest, AViewerThatIsTakenOffTheListIsOutOfItsOpenStreamsWithinASecond) {
  const auto watch = Watch("wall");
  const auto stays = Watch("laptop");
  ASSERT_TRUE(WaitFor([&] { return Value("tributary_watch_streams") == 2; }));
  EXPECT_LE(EndedAfter("viewers = [\"wall\"]", "viewers = []", {watch.get()}), kRevocationLimit);
  EXPECT_EQ(watch->End().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(watch->End().error_message(), HasSubstr("viewers in [access]"));
  EXPECT_EQ(Value("tributary_calls_refused_total{reason=\"revoked\"}"), 1);
  EXPECT_EQ(Value("tributary_watch_streams"), 1);
}

TEST_F(AccessTest, ANodeThatIsTakenOffTheListIsOutOfItsRunsWithinASecond) {
  const auto tasks = Participate("learner");
  ASSERT_TRUE(tasks->Read()) << "it waits for a run";
  EXPECT_LE(EndedAfter("nodes = [\"learner\", ", "nodes = [", {tasks.get()}), kRevocationLimit);
  EXPECT_FALSE(tasks->End().ok());
  EXPECT_TRUE(WaitFor([&] { return Value("tributary_participants_connected") == 0; }));
  const auto again = Participate("learner");
  EXPECT_FALSE(again->Read());
  EXPECT_EQ(again->End().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(again->End().error_message(), HasSubstr("nodes in [access]"));
}

// It stays a node: what it may still do goes on.
TEST_F(AccessTest, AChildThatIsTakenOffTheListIsOutOfItsSumsWithinASecond) {
  guarded_.Change("nodes = [", "nodes = [\"hall\", ");
  const auto sums = Participate("hall", true);
  ASSERT_TRUE(sums->Read()) << "it waits for a run";
  EXPECT_LE(EndedAfter("children = [\"hall\"]", "children = []", {sums.get()}), kRevocationLimit);
  EXPECT_FALSE(sums->End().ok());
  const auto again = Participate("hall", true);
  EXPECT_FALSE(again->Read());
  EXPECT_EQ(again->End().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(again->End().error_message(), HasSubstr("children in [access]"));
  EXPECT_TRUE(Participate("hall")->Read());
}

// The services use every API of gRPC; none is left out.
TEST_F(AccessTest, AnOperatorThatIsTakenOffTheListIsOutOfEveryKindOfStream) {
  v1::StartRunRequest begun;
  begun.set_config("name = \"r\"\n");
  const auto start = Call("laptop", "/tributary.v1.RunService/StartRun", begun, false);
  const auto reflect = Reflect("laptop");
  const auto watch = Watch("laptop");
  ASSERT_TRUE(WaitFor([&] { return Value("tributary_watch_streams") == 1; }));
  EXPECT_LE(
      EndedAfter("operators = [\"laptop\"]", "operators = []", {start.get(), reflect.get(), watch.get()}),
      kRevocationLimit);
  for (RawCall* stream : {start.get(), reflect.get(), watch.get()}) EXPECT_FALSE(stream->End().ok());
  // Nothing tells when the aggregator has seen the beginning of StartRun.
  EXPECT_EQ(Value("tributary_calls_refused_total{reason=\"revoked\"}") +
                Value("tributary_calls_refused_total{reason=\"role\"}"),
            3);
}

TEST_F(AccessTest, AReloadGivesARoleWithoutARestart) {
  EXPECT_FALSE(Participate("stranger")->Read());
  guarded_.Change("nodes = [", "nodes = [\"stranger\", ");
  EXPECT_TRUE(WaitFor([&] { return Participate("stranger")->Read().has_value(); }));
}

TEST_F(AccessTest, AReloadGivesASourceToAnotherNode) {
  const auto board = Report("board", "east");
  ASSERT_TRUE(board->Read());
  EXPECT_LE(EndedAfter("node = \"board\"", "node = \"stranger\"", {board.get()}), kRevocationLimit);
  const auto heir = Report("stranger", "east");
  EXPECT_TRUE(heir->Read()) << heir->End().error_message();
}

TEST_F(AccessTest, AFaultyReloadTakesNoRole) {
  const auto south = Report("south", "south");
  ASSERT_TRUE(south->Read());
  guarded_.Change("refused = [", "no_such_key = 1\nrefused = [\"south\", ");
  ASSERT_TRUE(WaitFor(
      [&] { return guarded_.aggregator().process().Log().find("reload refused") != std::string::npos; }));
  EXPECT_TRUE(Report("south", "south")->Read());
}

// Calls that begin and end while roles come and go.
TEST_F(AccessTest, SurvivesRolesThatChangeUnderManyCalls) {
  const std::string with = "nodes = [\"learner\", ", without = "nodes = [";
  int admitted = 0, refused = 0;
  for (int i = 0; i < 60; ++i) {
    if (i % 6 == 0) guarded_.Change(with, without);
    if (i % 6 == 3) guarded_.Change(without, with);
    const auto tasks = Participate("learner");
    ++(tasks->Read() ? admitted : refused);
    if (i % 3 == 0) tasks->Cancel();
  }
  EXPECT_GT(admitted, 0);
  EXPECT_GT(refused, 0);
  EXPECT_TRUE(guarded_.aggregator().process().Running()) << guarded_.aggregator().process().Log();
}

TEST_F(AccessTest, DoctorMakesNoCallThatIsRefusedToANode) {
  const std::string config =
      folder_.Write("board.toml", "node = \"board\"\nsite = \"room\"\n[uplink]\naggregator = \"" +
                                      guarded_.address() + "\"\n" + guarded_.certificates().Table("board") +
                                      "[[panel]]\nname = \"east\"\nworkload = \"positioning\"\nmodel = \"" +
                                      TRIBUTARY_SOURCE_DIR +
                                      "/models/positioning.safetensors\"\n[panel.source]\nkind = \"room\"\n");
  Process doctor(std::string(TRIBUTARY_BIN_DIR) + "/tributary", {"doctor", "--config", config},
                 folder_.Path("doctor.log"));
  EXPECT_EQ(doctor.Wait(std::chrono::seconds(60)), 0) << doctor.Log();
  EXPECT_NE(doctor.Log().find("not compared: the aggregator tells them to viewers only"), std::string::npos)
      << doctor.Log();
  EXPECT_EQ(Value("tributary_calls_refused_total{reason=\"role\"}"), 0);
}

TEST_F(AccessTest, ANodeIsToldOfItselfOnly) {
  const auto south = Report("south", "south"), board = Report("board", "east");
  ASSERT_TRUE(south->Read() && board->Read());
  const auto names = [this](const std::string& as) {
    grpc::ClientContext context;
    v1::ListNodesResponse nodes;
    const auto stub = v1::FleetService::NewStub(ChannelOf(as));
    EXPECT_TRUE(stub->ListNodes(&context, v1::ListNodesRequest(), &nodes).ok());
    EXPECT_EQ(nodes.sites_size(), 1);
    std::string joined;
    for (const v1::Node& node : nodes.nodes()) joined += node.name() + " ";
    return joined;
  };
  EXPECT_EQ(names("board"), "board ");
  EXPECT_EQ(names("learner"), "");
  EXPECT_EQ(names("wall"), "board south ");
}

}  // namespace
}  // namespace tributary::testing
