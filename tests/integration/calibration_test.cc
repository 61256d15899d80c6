// Corrections of sources outlive a restart of the aggregator, also one without warning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/support/fleet.h"
#include "tests/support/reporter.h"

namespace tributary::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// A site that takes any epoch. `east` is 20 cm off and claims half of its errors.
class CalibrationTest : public ::testing::Test {
 protected:
  static constexpr int kUsers = 8;
  static constexpr estimate::Epoch kLook = 200;  // slots: a tenth of a second

  void StartAll() {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
    for (const std::string& wall : kWalls) {
      reporters_.push_back(std::make_unique<Reporter>(wall, aggregator_.ingest_port()));
    }
    for (const auto& reporter : reporters_) {
      ASSERT_TRUE(WaitFor([&] { return reporter->Reporting(); }));
    }
  }
  void End(int signal) {
    reporters_.clear();
    aggregator_.process().Signal(signal);
    EXPECT_NE(aggregator_.process().Wait(std::chrono::seconds(20)), -1);
  }

  void Report(int slots) {
    for (int i = 0; i < slots; ++i, epoch_ += kLook) {
      for (std::size_t panel = 0; panel < kWalls.size(); ++panel) {
        const bool east = kWalls[panel] == "east";
        estimate::TupleFrame frame;
        frame.epoch = epoch_;
        frame.captured_unix_ns = estimate::SlotLength().StartNs(epoch_);
        for (int user = 0; user < kUsers; ++user) {
          const double deviation = east ? 0.1 : 0.05;
          frame.subjects.push_back(static_cast<std::uint32_t>(user));
          frame.means.push_back(
              static_cast<float>(user - 4 + deviation * normal_(random_) + (east ? 0.2 : 0)));
          frame.means.push_back(static_cast<float>(deviation * normal_(random_)));
          frame.cholesky.insert(frame.cholesky.end(), {0.05f, 0, 0.05f});
        }
        reporters_[panel]->Offer(frame);
      }
    }
    ASSERT_TRUE(WaitFor([&] { return Slots() >= static_cast<double>(slots); })) << aggregator_.Metrics();
  }
  double Slots() const {
    return MetricValue(aggregator_.Metrics(), "tributary_slots_fused_total{end=\"complete\",site=\"room\"}");
  }
  double Files(const std::string& result) const {
    return MetricValue(aggregator_.Metrics(),
                       "tributary_calibration_files_total{outcome=\"" + result + "\",site=\"room\"}");
  }
  json East() const {
    const json answer = json::parse(aggregator_.Get("/api/v1/sites"), nullptr, false);
    for (const json& source : answer.at("sites").at(0).at("sources")) {
      if (source.at("name") == "east") return source.value("calibration", json());
    }
    return {};
  }
  void SetMode(const std::string& mode) {
    std::string config = ReadText(folder_.Path("aggregator.toml"));
    const std::size_t at = config.find("mode = \"") + 8;
    folder_.Write("aggregator.toml", config.replace(at, config.find('"', at) - at, mode));
  }
  bool There() const { return std::filesystem::exists(folder_.Path("room.calibration.toml")); }

  ScratchFolder folder_;
  AggregatorProcess aggregator_{folder_, "aggregator", kWalls, "", R"(max_age_s = 0
max_lead_s = 0
[site.calibration]
mode = "correct"
shift_m = 0.1
state = "room.calibration.toml"
[site.room]
bounds = [-5.0, -5.0, 5.0, 5.0]
[[site.room.panel]]
source = "south"
x_m = 0.0
y_m = -5.0
[[site.room.panel]]
source = "east"
x_m = 5.0
y_m = 0.0
)"};
  std::vector<std::unique_ptr<Reporter>> reporters_;
  estimate::Epoch epoch_ = 3'400'000'000'000;
  std::mt19937_64 random_{3};
  std::normal_distribution<double> normal_;
};

TEST_F(CalibrationTest, OutliveAStopAndAKill) {
  StartAll();
  Report(400);
  const json learnt = East();
  EXPECT_LT(learnt.at("shift_x_m").get<double>(), -0.1) << learnt;
  EXPECT_GT(learnt.at("scale").get<double>(), 1.5) << learnt;

  End(SIGTERM);
  StartAll();
  EXPECT_EQ(East(), learnt) << "before the first slot";
  EXPECT_EQ(Files("restored"), 1);
  EXPECT_THAT(aggregator_.process().Log(), HasSubstr("room: continues the calibration of 4 sources"));

  Report(5);
  aggregator_.process().Signal(SIGHUP);  // writes what has changed
  ASSERT_TRUE(WaitFor([&] { return Files("written") == 1; }));
  End(SIGKILL);
  StartAll();
  EXPECT_NEAR(East().at("shift_x_m").get<double>(), learnt.at("shift_x_m").get<double>(), 0.02);
  EXPECT_EQ(Files("restored"), 1);
}

TEST_F(CalibrationTest, AreGoneAfterModeOff) {
  StartAll();
  Report(50);
  aggregator_.process().Signal(SIGHUP);
  ASSERT_TRUE(WaitFor([&] { return There(); }));
  SetMode("off");
  aggregator_.process().Signal(SIGHUP);
  EXPECT_TRUE(WaitFor([&] { return !There(); })) << "a kill must not bring them back";
  End(SIGKILL);
  SetMode("correct");
  StartAll();
  EXPECT_EQ(East().at("observations"), 0);
}

// A reload does not take another order of sources, and each keeps its place.
TEST_F(CalibrationTest, StayWithTheirSourcesWhenTheseAreNamedInAnotherOrder) {
  StartAll();
  Report(400);
  const json learnt = East();
  std::string config = ReadText(folder_.Path("aggregator.toml"));
  const std::size_t at = config.find("sources = [");
  ASSERT_NE(at, std::string::npos) << config;
  const std::size_t end = config.find(']', at);
  std::string turned = "sources = [";
  for (auto wall = kWalls.rbegin(); wall != kWalls.rend(); ++wall) turned += "\"" + *wall + "\", ";
  folder_.Write("aggregator.toml", config.replace(at, end - at, turned));
  aggregator_.process().Signal(SIGHUP);
  ASSERT_TRUE(WaitFor([&] { return aggregator_.process().Log().find("reload: took") != std::string::npos; }));
  EXPECT_EQ(East(), learnt);
}

TEST_F(CalibrationTest, ADamagedFileIsSetAside) {
  folder_.Write("room.calibration.toml", std::string("crc32c = \"\0\x01\xff", 13));
  StartAll();
  EXPECT_EQ(Files("refused"), 1);
  EXPECT_TRUE(std::filesystem::exists(folder_.Path("room.calibration.toml.refused")));
  EXPECT_THAT(aggregator_.process().Log(), HasSubstr("room.calibration.toml:1: crc32c: "));
  Report(20);
  EXPECT_GT(East().at("observations").get<double>(), 50);
}

// --check finds it before the start does.
TEST_F(CalibrationTest, AFolderThatIsMissingIsAFault) {
  const std::string path = folder_.Write("bad.toml", R"(
[[site]]
name = "room"
sources = ["a"]
[site.calibration]
state = "nowhere/room.toml"
)");
  Process check("tributary-aggregator", {"--config", path, "--check"}, folder_.Path("check.log"));
  EXPECT_EQ(check.Wait(std::chrono::seconds(20)), 78);
  EXPECT_THAT(check.Log(), HasSubstr("bad.toml:6: site[0].calibration.state: "));
  EXPECT_THAT(check.Log(), HasSubstr("nowhere"));
}

}  // namespace
}  // namespace tributary::testing
