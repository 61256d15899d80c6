// Sites of class probabilities between the released daemons: a tree, HTTP, the commands, and sources that do
// not fit.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/runtime/clock.h"
#include "tests/support/fleet.h"
#include "tests/support/http.h"
#include "tests/support/reporter.h"

namespace tributary::testing {
namespace {

using ::nlohmann::json;
using ::testing::HasSubstr;

const std::vector<std::string> kReceivers = {"roof", "tower", "hill"};
const std::vector<std::string> kModulations = {"BPSK", "QPSK", "GFSK"};
constexpr const char* kClassKeys = "classes = [\"BPSK\", \"QPSK\", \"GFSK\"]\n";

// Each receiver's probabilities.
const std::vector<std::vector<double>> kHeard = {{0.7, 0.2, 0.1}, {0.3, 0.6, 0.1}, {0.5, 0.25, 0.25}};

estimate::TupleFrame Heard(std::size_t receiver, estimate::Epoch epoch) {
  estimate::TupleFrame frame;
  frame.epoch = epoch;
  frame.captured_unix_ns = estimate::SlotLength().StartNs(epoch);
  frame.set_shape({.dimension = 0, .classes = 3});
  frame.subjects = {7};
  for (const double each : kHeard[receiver])
    frame.log_probabilities.push_back(static_cast<float>(std::log(each)));
  return frame;
}

estimate::Epoch Now() { return estimate::SlotLength().EpochAt(runtime::SystemClock().UnixNs()); }

class ClassesTest : public ::testing::Test {
 protected:
  void Start(AggregatorProcess& aggregator) {
    aggregator.Start();
    ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  }
  // What `tributary` prints.
  std::string Run(std::vector<std::string> arguments, int port) {
    arguments.insert(arguments.end(), {"--aggregator", Address(port)});
    Process command("tributary", std::move(arguments), folder_.Path("command.log"));
    EXPECT_EQ(command.Wait(std::chrono::seconds(30)), 0) << command.Log();
    return command.Log();
  }

  ScratchFolder folder_;
};

TEST_F(ClassesTest, ATreeFusesThemWithThePriorOfItsRoot) {
  AggregatorProcess root(folder_, "root", kReceivers, "",
                         std::string(kClassKeys) + "prior = [0.2, 0.3, 0.5]");
  AggregatorProcess child(
      folder_, "child", {"roof", "tower"},
      "[parent]\naggregator = \"" + Address(root.ingest_port()) + "\"\nnode = \"child\"\n",
      std::string(kClassKeys) + "prior = [0.6, 0.3, 0.1]");
  Start(root);
  Start(child);
  const Collector collector(root.ingest_port());
  Reporter roof("roof", child.ingest_port(), std::nullopt, kModulations);
  Reporter tower("tower", child.ingest_port(), std::nullopt, kModulations);
  Reporter hill("hill", root.ingest_port(), std::nullopt, kModulations);
  for (const Reporter* each : {&roof, &tower, &hill}) {
    ASSERT_TRUE(WaitFor([&] { return each->Reporting(); }));
  }
  const estimate::Epoch epoch = Now();
  roof.Offer(Heard(0, epoch));
  tower.Offer(Heard(1, epoch));
  hill.Offer(Heard(2, epoch));
  ASSERT_TRUE(WaitFor([&] { return collector.Has(epoch, 0b111); }));
  const wire::WatchedSlot slot = collector.slots().at(epoch);
  ASSERT_EQ(slot.log_probabilities.size(), 3u);
  const std::vector<double> prior = {0.2, 0.3, 0.5};
  double sum = 0;
  std::vector<double> expected;
  for (std::size_t c = 0; c < 3; ++c) {
    expected.push_back(prior[c] * kHeard[0][c] * kHeard[1][c] * kHeard[2][c]);
    sum += expected.back();
  }
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(std::exp(slot.log_probabilities[c]), expected[c] / sum, 1e-5) << c;
  }
}

TEST_F(ClassesTest, ReadersAreToldTheClasses) {
  AggregatorProcess aggregator(folder_, "air", kReceivers, "", kClassKeys);
  Start(aggregator);
  std::vector<std::unique_ptr<Reporter>> reporters;
  for (const std::string& each : kReceivers) {
    reporters.push_back(
        std::make_unique<Reporter>(each, aggregator.ingest_port(), std::nullopt, kModulations));
  }
  for (const auto& each : reporters) ASSERT_TRUE(WaitFor([&] { return each->Reporting(); }));
  std::jthread radio([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const estimate::Epoch epoch = Now();
      for (std::size_t i = 0; i < reporters.size(); ++i) reporters[i]->Offer(Heard(i, epoch));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  ASSERT_TRUE(WaitFor([&] { return HttpAsk(aggregator.http_port(), "/api/v1/sites/room").status == 200; }));

  for (const std::string& text : {HttpAsk(aggregator.http_port(), "/api/v1/sites/room").body,
                                  HttpFirstEvent(aggregator.http_port(), "/api/v1/events?site=room")}) {
    const json response = json::parse(text);
    EXPECT_EQ(response["classes"], json(kModulations));
    EXPECT_EQ(response["slot"]["dimension"], 0);
    EXPECT_EQ(response["slot"]["log_probabilities"].size(), 3u);
    EXPECT_EQ(response["slot"]["means"], json::array());
  }
  const json sites = json::parse(HttpAsk(aggregator.http_port(), "/api/v1/sites").body);
  EXPECT_EQ(sites["sites"][0]["classes"], json(kModulations));
  EXPECT_GT(sites["sites"][0]["sources"][0]["consistency"], 0);

  const std::string lines = Run({"watch", "room", "--json", "--seconds", "0.3"}, aggregator.ingest_port());
  const json first = json::parse(lines.substr(0, lines.find('\n')));
  EXPECT_EQ(first["classes"], json(kModulations));
  EXPECT_EQ(first["slot"]["log_probabilities"].size(), 3u);
  EXPECT_THAT(Run({"watch", "room", "--seconds", "0.3", "--truth", "room:seed=1"}, aggregator.ingest_port()),
              HasSubstr("\"fused_tuples\""));
}

TEST_F(ClassesTest, ASourceThatDoesNotFitIsToldWhy) {
  AggregatorProcess aggregator(folder_, "air", kReceivers, "", kClassKeys);
  Start(aggregator);
  const Reporter positions("roof", aggregator.ingest_port());
  const Reporter reordered("tower", aggregator.ingest_port(), std::nullopt, {"QPSK", "BPSK", "GFSK"});
  for (const Reporter* each : {&positions, &reordered}) {
    ASSERT_TRUE(WaitFor([&] { return each->state() == link::UplinkState::kRefused; }));
  }
  EXPECT_THAT(std::string(positions.refusal().message()),
              HasSubstr("has no classes, must have the site's 3 classes: BPSK, QPSK, GFSK"));
  EXPECT_THAT(std::string(reordered.refusal().message()),
              HasSubstr("class 0 is 'QPSK', must be the site's 'BPSK'"));
}

// Two receivers of one node hear the same emitters through channels of their own.
TEST_F(ClassesTest, ANodeRecognisesModulations) {
  const std::vector<std::string> classes = {"BPSK",  "8PSK",  "CPFSK", "GFSK",   "PAM4",
                                            "QAM16", "QAM64", "QPSK",  "AM-SSB", "WBFM"};
  AggregatorProcess aggregator(
      folder_, "band", {"north", "east"}, "",
      "classes = [\"BPSK\", \"8PSK\", \"CPFSK\", \"GFSK\", \"PAM4\", \"QAM16\", \"QAM64\", \"QPSK\", "
      "\"AM-SSB\", \"WBFM\"]\nslot_ms = 10");
  Start(aggregator);
  std::string config = fmt::format(
      "node = \"receivers\"\nsite = \"room\"\nslot_ms = 10\n[uplink]\naggregator = \"{}\"\n"
      "[http]\nlisten = \"\"\n",
      Address(aggregator.ingest_port()));
  for (const auto& [receiver, name] : {std::pair(0, "north"), std::pair(1, "east")}) {
    config += fmt::format(
        "[[panel]]\nname = \"{}\"\nworkload = \"modulation\"\nmodel = \"{}/models/modulation.safetensors\"\n"
        "[panel.source]\nkind = \"generator\"\nsubjects = 2\nreceiver = {}\nlowest_snr_db = 10\n",
        name, TRIBUTARY_SOURCE_DIR, receiver);
  }
  const Process node("tributary-node", {"--config", folder_.Write("receivers.toml", config)},
                     folder_.Path("receivers.log"));
  const Collector collector(aggregator.ingest_port());
  const auto complete = [&] {
    std::vector<wire::WatchedSlot> slots;
    for (const auto& [epoch, slot] : collector.slots()) {
      if (slot.contributors == std::vector<std::uint64_t>{0b11, 0b11}) slots.push_back(slot);
    }
    return slots;
  };
  ASSERT_TRUE(WaitFor([&] { return complete().size() >= 20; })) << node.Log() << aggregator.process().Log();
  for (const wire::WatchedSlot& slot : complete()) {
    ASSERT_EQ(slot.log_probabilities.size(), 2 * classes.size());
    double sum = 0;
    for (const float each : slot.log_probabilities) sum += std::exp(each);
    EXPECT_NEAR(sum, 2, 1e-4);
    for (const float each : slot.consistency) EXPECT_GT(each, 0);
  }
  EXPECT_THAT(HttpAsk(aggregator.http_port(), "/api/v1/sites/room").body, HasSubstr("WBFM"));
}

// Frames of 64 KiB would make messages of 4 MiB if a backlog were sent by their number alone.
TEST_F(ClassesTest, ABacklogOfLargeFramesArrives) {
  std::string names = "classes = [";
  std::vector<std::string> classes;
  for (int c = 0; c < 256; ++c) {
    classes.push_back("class" + std::to_string(c));
    names += (c > 0 ? ", \"" : "\"") + classes.back() + "\"";
  }
  AggregatorProcess aggregator(folder_, "air", {"roof"}, "", names + "]\nmax_age_s = 0\nmax_lead_s = 0");
  Reporter roof("roof", aggregator.ingest_port(), std::nullopt, classes);
  estimate::TupleFrame frame;
  frame.set_shape({.dimension = 0, .classes = 256});
  for (std::uint32_t subject = 0; subject < 64; ++subject) frame.subjects.push_back(subject);
  frame.log_probabilities.assign(64 * 256, -std::log(256.0f));
  frame.epoch = Now();
  frame.captured_unix_ns = estimate::SlotLength().StartNs(frame.epoch);
  for (int i = 0; i < 100; ++i, ++frame.epoch) roof.Offer(frame);
  Start(aggregator);
  EXPECT_TRUE(WaitFor([&] {
    return HttpAsk(aggregator.http_port(), "/metrics")
               .body.find("tributary_frames_accepted_total{site=\"room\"} 100") != std::string::npos;
  })) << HttpAsk(aggregator.http_port(), "/metrics").body.substr(0, 2000);
}

}  // namespace
}  // namespace tributary::testing
