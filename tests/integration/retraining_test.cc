// A node whose panel learns from labelled ranges that programs of its machine send.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "core/nn/beacon/beacon_network.h"
#include "tests/support/any_beacon.h"
#include "tests/support/http.h"
#include "tests/support/process.h"

namespace tributary::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kLimit{60};

class RetrainingTest : public ::testing::Test {
 protected:
  void Start() {
    const std::string config = folder_.Write(
        "node.toml",
        fmt::format("node = \"south\"\nsite = \"hall\"\n[uplink]\ndrain_s = 0.0\n[http]\n"
                    "listen = \"127.0.0.1:{}\"\n[[panel]]\nname = \"south\"\n"
                    "workload = \"beacon\"\nmodel = \"{}\"\n[panel.retraining]\nhttp = true\n"
                    "state = \"learned.safetensors\"\n[panel.source]\nkind = \"udp\"\nport = 0\n",
                    port_, model_));
    node_ = std::make_unique<Process>(
        "tributary-node",
        std::vector<std::string>{"--config", config, "--summary", folder_.Path("summary.json")},
        folder_.Path("node.log"));
    ASSERT_TRUE(WaitFor([this] { return HttpAsk(port_, "/healthz").status == 200; })) << node_->Log();
  }
  nlohmann::json Stop() {
    node_->Signal(SIGTERM);
    EXPECT_EQ(node_->Wait(kLimit), 0) << node_->Log();
    return nlohmann::json::parse(ReadText(folder_.Path("summary.json")));
  }
  // The status and the body of the answer to a POST.
  std::string Post(const std::string& panel, const std::string& body, const std::string& type = "text/csv") {
    const std::string file = folder_.Write("body", body);
    Process curl("/usr/bin/curl",
                 {"-s", "-o", folder_.Path("answer"), "-w", "%{stderr}%{http_code} ", "-H",
                  "Content-Type: " + type, "--data-binary", "@" + file,
                  fmt::format("http://127.0.0.1:{}/api/v1/panels/{}/samples", port_, panel)},
                 folder_.Path("status"));
    EXPECT_EQ(curl.Wait(kLimit), 0);
    return curl.Log() + ReadText(folder_.Path("answer"));
  }
  nlohmann::json Status() const {
    return nlohmann::json::parse(HttpAsk(port_, "/api/v1/panels/south/retraining").body);
  }
  // What the model would say, moved by `offset_m`; ten a second.
  std::string Samples(int count, double offset_m) {
    const nn::BeaconNetwork model = AnyBeacon();
    std::uniform_real_distribution<double> range(1, 9);
    std::string lines;
    for (int i = 0; i < count; ++i) {
      const nn::BeaconInputs ranges_m = {range(random_), range(random_), range(random_)};
      const nn::BeaconOutputs at =
          nn::PositionOf(model, nn::BeaconForward(model.parameters, nn::NormaliseRanges(model, ranges_m)));
      lines += fmt::format("{},{},{},{},{},{}\n", ++sample_ * 100'000'000, ranges_m[0], ranges_m[1],
                           ranges_m[2], at[0] + offset_m, at[1] - offset_m);
    }
    return lines;
  }

  ScratchFolder folder_;
  const int port_ = ReservePort();
  const std::string model_ = folder_.Write("beacon.safetensors", nn::EncodeBeacon(AnyBeacon()));
  std::mt19937_64 random_{5};
  std::int64_t sample_ = 0;
  std::unique_ptr<Process> node_;
};

TEST_F(RetrainingTest, ANodeLearnsAndHasWhatItLearnedAfterARestart) {
  Start();
  EXPECT_THAT(Post("south", Samples(100, 0)), HasSubstr("202 {\"taken\":100,"));
  EXPECT_THAT(Post("south", Samples(300, 1.0)), HasSubstr("202 "));
  ASSERT_TRUE(WaitFor([this] { return Status()["waiting_samples"] == 0; }));
  const nlohmann::json status = Status();
  EXPECT_EQ(status["drifts"], 1);
  EXPECT_GE(status["trainings"], 1);
  EXPECT_LT(status["error_m"], 0.3);
  const nlohmann::json summary = Stop();
  EXPECT_EQ(summary["retraining"]["south"]["samples"], 400);
  EXPECT_EQ(summary["retraining"]["south"]["unsaved_networks"], 0);

  Start();
  EXPECT_THAT(node_->Log(), HasSubstr("panel south: begins with the network that "));
  EXPECT_THAT(Post("south", Samples(200, 1.0)), HasSubstr("202 "));
  ASSERT_TRUE(WaitFor([this] { return Status()["samples"] == 200; }));
  EXPECT_EQ(Status()["drifts"], 0) << "the network fits the place as it is now";
  Stop();
}

TEST_F(RetrainingTest, RefusesWhatIsNoSample) {
  Start();
  EXPECT_THAT(Post("south", "1,1,2,3,4,5\n1,2,3\n"), HasSubstr("line 2, expected unix_ns,range"));
  EXPECT_THAT(Post("south", "\n"), HasSubstr("400 "));
  EXPECT_THAT(Post("north", Samples(1, 0)), HasSubstr("404 "));
  EXPECT_THAT(Post("south", Samples(1, 0), "application/json"), HasSubstr("415 "));
  EXPECT_THAT(Post("south", std::string(100'000, '\n')), HasSubstr("413 "));
  EXPECT_EQ(HttpAsk(port_, "/api/v1/panels/north/retraining").status, 404);
  EXPECT_EQ(Status()["samples"], 0) << "nothing of what was refused was taken";
  Stop();
}

TEST_F(RetrainingTest, AStateThatIsDamagedIsAFaultThatNamesTheWayOut) {
  folder_.Write("learned.safetensors", "damaged");
  const std::string config = folder_.Write(
      "check.toml",
      "node = \"a\"\nsite = \"b\"\n[[panel]]\nname = \"a\"\nworkload = \"beacon\"\nmodel = "
      "\"beacon.safetensors\"\n[panel.retraining]\nhttp = true\nstate = \"learned.safetensors\"\n"
      "[panel.source]\nkind = \"udp\"\nport = 0\n");
  Process check("tributary-node", {"--config", config, "--check"}, folder_.Path("check.log"));
  EXPECT_EQ(check.Wait(kLimit), 78);
  EXPECT_THAT(check.Log(), HasSubstr("panel[0].retraining.state: "));
  EXPECT_THAT(check.Log(), HasSubstr("without the file the panel begins with its model"));
}

}  // namespace
}  // namespace tributary::testing
