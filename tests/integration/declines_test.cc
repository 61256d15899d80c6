// One node's images do not fit: the run does not wait for it, and the operator sees the reason.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/learners.h"

namespace tributary::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// If the run waited for it, the test would exceed its time limit.
constexpr int kDeadlineS = 3600;

// An idx file of grey images.
std::string IdxImages(std::uint32_t count, std::uint32_t side) {
  std::string file;
  for (const std::uint32_t word : {0x803U, count, side, side}) {
    for (int shift = 24; shift >= 0; shift -= 8) file.push_back(static_cast<char>(word >> shift & 0xff));
  }
  for (std::size_t i = 0; i < std::size_t{count} * side * side; ++i)
    file.push_back(static_cast<char>(i % 251));
  return file;
}

class DecliningNodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
    const std::string images = folder_.Write("large-idx3-ubyte", IdxImages(40, 32));
    unfit_config_ = folder_.Write("unfit.toml", fmt::format(R"(node = "unfit"
[http]
listen = ""
[federation]
aggregator = "127.0.0.1:{}"
images = "{}"
)",
                                                            aggregator_.ingest_port(), images));
  }

  json Answer() const { return json::parse(aggregator_.Get("/api/v1/runs/r"), nullptr, false); }
  std::string Show(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"run", "show", "r"});
    arguments.insert(arguments.end(),
                     {"--aggregator", fmt::format("127.0.0.1:{}", aggregator_.ingest_port())});
    Process command("tributary", arguments, folder_.Path("show.log"));
    EXPECT_EQ(command.Wait(std::chrono::seconds(60)), 0) << command.Log();
    return command.Log();
  }
  // The run in what GetRun answers; empty before it is known.
  static json RunOf(const json& answer) { return answer.is_object() ? answer["run"] : json::object(); }
  static json NodeOf(const json& answer, const std::string& name) {
    if (!answer.is_object()) return json::object();
    for (const json& node : answer["participants"]) {
      if (node["node"] == name) return node;
    }
    return json::object();
  }

  ScratchFolder folder_;
  AggregatorProcess aggregator_{folder_, "aggregator", {"south"}, FederationKeys(folder_)};
  LearnerProcess first_{folder_, 0, 2, aggregator_.ingest_port()};
  LearnerProcess second_{folder_, 1, 2, aggregator_.ingest_port()};
  std::string unfit_config_;
};

TEST_F(DecliningNodeTest, OneWithImagesOfAnotherSideHoldsNothingUpAndShowsWhy) {
  const std::string file = folder_.Write("run.toml", fmt::format(R"(name = "r"
rounds = 3
min_nodes = 2
quorum = 1
deadline_s = {}
[client]
local_steps = 1
batch = 4
)",
                                                                 kDeadlineS));
  ASSERT_EQ(RunCommand(folder_, {"run", "start", file, "--aggregator",
                                 fmt::format("127.0.0.1:{}", aggregator_.ingest_port())}),
            0);
  Process unfit("tributary-node", {"--config", unfit_config_}, folder_.Path("unfit.log"));
  ASSERT_TRUE(WaitFor([&] { return NodeOf(Answer(), "unfit").value("connected", false); })) << unfit.Log();
  first_.Start();  // the first round asks these two
  ASSERT_TRUE(WaitFor([&] { return RunOf(Answer()).value("committed_rounds", 0) >= 1; })) << Answer();
  second_.Start();
  ASSERT_TRUE(WaitFor([&] { return RunOf(Answer()).value("state", "") == "RUN_STATE_FINISHED"; }))
      << Answer();

  const std::string why = "images of 32 x 32, the run's encoder takes 28 x 28";
  for (const json& run : {Answer(), json::parse(Show({"--json"}))}) {
    const json node = NodeOf(run, "unfit");
    EXPECT_EQ(node["cannot_train"], "images: " + why);
    EXPECT_EQ(node["last_refusal"], "declined round 1: images: " + why);
    EXPECT_EQ(node["declined_tasks"], "1");
    EXPECT_EQ(node["accepted_updates"], "0");
    EXPECT_EQ(run["history"][0]["declines"][0]["node"], "unfit");
    EXPECT_EQ(run["history"][0]["declines"][0]["reason"], "images");
    EXPECT_EQ(run["history"][0]["failure"], "");
  }
  EXPECT_THAT(Show({}), HasSubstr(why));
  EXPECT_EQ(MetricValue(aggregator_.Metrics(), "tributary_tasks_declined_total{reason=\"images\"}"), 1);
  EXPECT_THAT(aggregator_.process().Log(), HasSubstr("unfit does not train in round 1"));
}

}  // namespace
}  // namespace tributary::testing
