// The documented metrics are exactly those that daemons export.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "core/parameters/npy.h"
#include "core/runtime/pseudo_terminal.h"
#include "tests/integration/metrics_page.h"
#include "tests/support/any_beacon.h"
#include "tests/support/certificates.h"
#include "tests/support/process.h"

namespace tributary::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kSource = TRIBUTARY_SOURCE_DIR;
const std::string kPage = kSource + "/docs/metrics.md";

// A daemon with an HTTP port of its own.
class Exporter {
 public:
  Exporter(const ScratchFolder& folder, std::string program, std::string name, Features features,
           const std::string& keys)
      : program_(std::move(program)), name_(std::move(name)), features_(std::move(features)) {
    const std::string http = fmt::format("\n[http]\nlisten = \"127.0.0.1:{}\"\n", http_port_);
    process_ = std::make_unique<Process>(
        "tributary-" + program_,
        std::vector<std::string>{"--config", folder.Write(name_ + ".toml", keys + http)},
        folder.Path(name_ + ".log"));
  }

  std::string Get(const std::string& target) const { return HttpGet(http_port_, target); }
  const std::string& name() const { return name_; }
  std::string Log() const { return name_ + ":\n" + process_->Log(); }
  void AddTo(MetricsPage& page) const {
    std::vector<std::string> faults;
    page.Add(program_, name_, features_, ParseExposition(Get("/metrics"), faults));
    EXPECT_THAT(faults, IsEmpty()) << name_;
  }

 private:
  const std::string program_;
  const std::string name_;
  const Features features_;
  const int http_port_ = ReservePort();
  std::unique_ptr<Process> process_;
};

std::string MetricsSite(const std::string& name) {
  return fmt::format("[[site]]\nname = \"{}\"\nsources = [\"south\", \"east\"]\n", name);
}

std::string MetricsPanel(const std::string& name, const std::string& source) {
  return fmt::format(
      "[[panel]]\nname = \"{}\"\nmodel = \"{}/models/positioning.safetensors\"\n[panel.source]\n{}\n", name,
      kSource, source);
}

std::string Room(const std::string& wall) {
  return "kind = \"room\"\nsubjects = 1\nrate_hz = 20.0\nsnapshots = 20\nwall = \"" + wall + "\"\n";
}

// Daemons that together export every metric.
class MetricsPageTest : public ::testing::Test {
 protected:
  static std::string Address(int port) { return fmt::format("aggregator = \"127.0.0.1:{}\"\n", port); }
  std::string Store(const std::string& name) const {
    return fmt::format("[federation]\nstore = \"{}\"\n", folder_.Path(name));
  }

  Exporter& Start(const std::string& program, const std::string& name, Features features,
                  const std::string& keys) {
    exporters_.push_back(std::make_unique<Exporter>(folder_, program, name, std::move(features), keys));
    return *exporters_.back();
  }
  Exporter& StartAggregator(const std::string& name, Features features, const std::string& keys,
                            int port = 0) {
    return Start("aggregator", name, std::move(features),
                 fmt::format("listen = \"127.0.0.1:{}\"\n", port) + keys);
  }

  void StartAggregators() {
    StartAggregator("plain", {}, MetricsSite("lab"));
    StartAggregator("calibrated", {"[site.calibration] state"},
                    MetricsSite("lab") + "[site.calibration]\nstate = \"calibrated.state\"\n");
    StartAggregator("runs", {"[federation]"}, Store("runs") + MetricsSite("lab"));
    root_ =
        &StartAggregator("root", {"[federation]", "[federation.evaluation]"},
                         Store("root") + "[federation.evaluation]\nimages = \"glyphs\"\nmax_images = 60\n" +
                             MetricsSite("lab") + MetricsSite("hall"),
                         root_port_);
    StartAggregator("leaf", {"[parent]"},
                    fmt::format("[parent]\n{}node = \"leaf\"\n", Address(root_port_)) + MetricsSite("lab"));
    certificates_.Revoke({});
    const std::string tls =
        certificates_.Table("child") + fmt::format("crl = \"{}\"\n", certificates_.File("crl.pem"));
    StartAggregator("guarded", {"[tls]"}, tls + MetricsSite("lab"), guarded_port_);
    StartAggregator(
        "guarded-child", {"[tls]", "[parent]"},
        fmt::format("[parent]\n{}node = \"child\"\n", Address(guarded_port_)) + tls + MetricsSite("lab"));
    // Two sites: each has an uplink of its own.
    child_ = &StartAggregator(
        "child", {"[parent]", "[federation]", "[federation.parent]"},
        fmt::format("[parent]\n{0}node = \"child\"\n{1}[federation.parent]\n{0}node = \"child\"\n",
                    Address(root_port_), Store("child")) +
            MetricsSite("lab") + MetricsSite("hall"),
        child_port_);
  }

  void StartNodes() {
    const auto reporting = [this](const std::string& node, const std::string& site) {
      return fmt::format("node = \"{}\"\nsite = \"{}\"\n[uplink]\n{}", node, site, Address(child_port_));
    };
    Start("node", "room", {"[[panel]]"}, reporting("room", "lab") + MetricsPanel("south", Room("south")));
    Start("node", "spool", {"[[panel]]", "spool_dir"},
          reporting("spool", "hall") + fmt::format("spool_dir = \"{}\"\n", folder_.Path("spool")) +
              MetricsPanel("west", Room("west")));
    Start("node", "replay", {"[[panel]]"},
          reporting("replay", "lab") +
              MetricsPanel("east",
                           "kind = \"replay\"\nloop = true\nrate_hz = 20.0\nfile = \"" + Recording() + "\""));
    Start("node", "udp", {"[[panel]]", "kind = \"udp\""},
          reporting("udp", "hall") + MetricsPanel("south", "kind = \"udp\"\nport = 0"));
    Start("node", "radio", {"[[panel]]", "workload = \"modulation\""},
          reporting("radio", "band") + "[[panel]]\nname = \"north\"\nworkload = \"modulation\"\n" +
              fmt::format("model = \"{}/models/modulation.safetensors\"\n", kSource) +
              "[panel.source]\nkind = \"generator\"\nrate_hz = 20.0\n");
    Start("node", "board", {"[[panel]]", "kind = \"serial\""},
          reporting("board", "hall") +
              fmt::format(
                  "[[panel]]\nname = \"line\"\nworkload = \"beacon\"\nmodel = \"{}\"\n[panel.source]\nkind = "
                  "\"serial\"\ndevice = \"{}\"\n",
                  folder_.Write("beacon.safetensors", nn::EncodeBeacon(AnyBeacon())), line_.path));
    Start("node", "learned", {"[[panel]]", "[panel.retraining]", "kind = \"udp\""},
          reporting("learned", "hall") +
              fmt::format(
                  "[[panel]]\nname = \"walls\"\nworkload = \"beacon\"\nmodel = \"{}\"\n[panel.retraining]\n"
                  "http = true\n[panel.source]\nkind = \"udp\"\nport = 0\n",
                  folder_.Path("beacon.safetensors")));
    Start("node", "fusion", {"[[panel]]", "[fusion]"},
          reporting("fusion", "hall") + "[fusion]\n" + MetricsPanel("south", Room("south")) +
              MetricsPanel("east", Room("east")));
    Start("node", "south", {"[federation]", "[tls]"},
          fmt::format("node = \"south\"\n[federation]\n{}images = \"glyphs\"\nglyphs = 120\n",
                      Address(guarded_port_)) +
              certificates_.Table("south"));
    Start("node", "trained", {"[federation]", "[federation.trainer]"},
          fmt::format("node = \"trained\"\n[federation]\n{}[federation.trainer]\nsocket = \"{}\"\n",
                      Address(root_port_), folder_.Path("trainer.sock")));
    for (const char* name : {"first", "second"}) {
      Start("node", name, {"[federation]"},
            fmt::format("node = \"{}\"\n[federation]\n{}images = \"glyphs\"\nglyphs = 120\nrun = \"noisy\"\n",
                        name, Address(root_port_)));
    }
  }

  // A run that exports everything: noise, a committed round, and its evaluation.
  void StartRun() {
    const std::string run =
        folder_.Write("run.toml",
                      "name = \"noisy\"\nrounds = 1\nweighting = \"uniform\"\nclip_norm = 1.0\n"
                      "[client]\nlocal_steps = 1\nbatch = 4\n[privacy]\nnoise_multiplier = 0.5\n");
    Process command("tributary",
                    {"run", "start", run, "--aggregator", "127.0.0.1:" + std::to_string(root_port_)},
                    folder_.Path("run.log"));
    ASSERT_EQ(command.Wait(std::chrono::seconds(60)), 0) << command.Log();
  }

  // One slot of zeros.
  std::string Recording() const {
    const std::vector<std::uint64_t> shape = {1, 1024};
    return folder_.Write("recording.npy", parameters::EncodeNpy(shape, std::vector<float>(1024)));
  }

  // By Prometheus' rules for names, types and units.
  void CheckNaming() {
    for (const auto& each : exporters_) {
      const std::string text = folder_.Write(each->name() + ".metrics", each->Get("/metrics"));
      Process promtool("/bin/sh",
                       {"-c", "command -v promtool || exit 77; exec promtool check metrics < \"$0\"", text},
                       folder_.Path("promtool.log"));
      const int status = promtool.Wait(std::chrono::seconds(20));
      if (status == 77) GTEST_SKIP() << "promtool, of Debian's package prometheus, is not installed";
      EXPECT_EQ(status, 0) << each->name() << ": " << promtool.Log();
    }
  }

  bool Shows(const Exporter& exporter, const std::string& metric) {
    return WaitFor([&] { return exporter.Get("/metrics").find("\n" + metric + "{") != std::string::npos; },
                   std::chrono::seconds(60));
  }

  const runtime::PseudoTerminal line_ = *runtime::OpenPseudoTerminal();
  ScratchFolder folder_;
  const int root_port_ = ReservePort();
  const int child_port_ = ReservePort();
  const int guarded_port_ = ReservePort();
  const Certificates certificates_{folder_, "certs", {"child", "south"}};
  std::vector<std::unique_ptr<Exporter>> exporters_;
  Exporter* root_ = nullptr;
  Exporter* child_ = nullptr;
};

TEST_F(MetricsPageTest, HasWhatTheDaemonsExportAndNothingElse) {
  StartAggregators();
  ASSERT_TRUE(WaitFor([this] { return !root_->Get("/readyz").empty(); })) << root_->Log();
  StartRun();
  StartNodes();
  for (const auto& each : exporters_) {
    ASSERT_TRUE(WaitFor([&] { return !each->Get("/metrics").empty(); })) << each->Log();
  }
  ASSERT_TRUE(Shows(*child_, "tributary_source_last_epoch")) << child_->Log();
  ASSERT_TRUE(Shows(*root_, "tributary_run_test_spread")) << root_->Log();

  MetricsPage page;
  for (const auto& each : exporters_) each->AddTo(page);
  if (std::getenv("TRIBUTARY_WRITE_DOCS") != nullptr) std::ofstream(kPage) << page.Text();
  EXPECT_EQ(ReadText(kPage), page.Text()) << "docs/metrics.md says how to write it again";
  CheckNaming();
}

// Names in `text` that are not on the page, or have other labels there.
std::vector<std::string> Unknown(const std::string& text) {
  static const std::set<std::string> kOfPrometheus = {"le", "job", "instance"};
  static const std::map<std::string, std::set<std::string>> kKnown = ReadMetricsPage(ReadText(kPage));
  std::vector<std::string> unknown;
  for (const NamedMetric& named : FindMetricNames(text)) {
    std::string name = named.name;
    // A name of the library for C (clients/delegate), whose prefix no metric has.
    if (name.starts_with("tributary_delegate")) continue;
    if (name.ends_with('_')) {
      const auto first = kKnown.lower_bound(name);
      if (first == kKnown.end() || !first->first.starts_with(name)) unknown.push_back(name);
      continue;
    }
    for (const char* end : {"_bucket", "_sum", "_count"}) {
      if (!kKnown.contains(name) && name.ends_with(end)) name.resize(name.size() - std::string(end).size());
    }
    const auto found = kKnown.find(name);
    if (found == kKnown.end()) {
      unknown.push_back(named.name);
      continue;
    }
    for (const std::string& label : named.labels) {
      if (!kOfPrometheus.contains(label) && !found->second.contains(label))
        unknown.push_back(named.name + "{" + label + "}");
    }
  }
  return unknown;
}

TEST(MetricNamesTest, EveryMetricThatADocumentNamesExists) {
  static const std::set<std::filesystem::path> kRead = {".md", ".yml", ".yaml", ".json", ".toml"};
  std::vector<std::filesystem::path> files = {kSource + "/README.md"};
  for (const char* folder : {"/docs", "/deploy", "/docker"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kSource + folder)) {
      // What people and Prometheus read; scripts have names of their own that look like metrics.
      if (entry.is_regular_file() && kRead.contains(entry.path().extension())) files.push_back(entry.path());
    }
  }
  std::size_t names = 0;
  for (const auto& file : files) {
    const std::string text = ReadText(file);
    EXPECT_THAT(Unknown(text), IsEmpty()) << file;
    names += FindMetricNames(text).size();
  }
  EXPECT_GT(names, 100u) << "the page alone has more";
}

TEST(MetricNamesTest, LabelsOfQueriesAreFound) {
  EXPECT_THAT(Unknown("tributary_run_state{run=~\"a|b\", state!=\"1\", run!~\"c\"}"),
              ElementsAre("tributary_run_state{state}"));
}

TEST(MetricNamesTest, ANameThatDoesNotExistIsFound) {
  EXPECT_THAT(Unknown("`tributary_source_missed_frames_total`"),
              ElementsAre("tributary_source_missed_frames_total"));
  EXPECT_THAT(Unknown("tributary_uplink_dropped_frames_total{reason}"),
              ElementsAre("tributary_uplink_dropped_frames_total{reason}"));
  EXPECT_THAT(Unknown("tributary_run_{loss,gain}"), ElementsAre("tributary_run_gain"));
  EXPECT_THAT(Unknown("tributary_board_fusion_{failed_slots,lost_slots}_total"),
              ElementsAre("tributary_board_fusion_lost_slots_total"));
  EXPECT_THAT(Unknown("tributary_random_…"), ElementsAre("tributary_random_"));
  EXPECT_THAT(Unknown("cmake --target tributary_soak"), IsEmpty());
  EXPECT_THAT(Unknown("tributary_run_random_…, tributary_panel_latency_seconds_bucket{panel=\"x\",le=\"1\"}"),
              IsEmpty());
}

// docs/metrics.md is what the daemons export, so its row has every reason.
TEST(MonitoringPageTest, SaysWhatEachReasonOfARefusedConnectionMeans) {
  const std::string metrics = ReadText(kPage), monitoring = ReadText(kSource + "/docs/monitoring.md");
  const std::string row = "| `tributary_connections_refused_total` | `reason` | ";
  const std::size_t begin = metrics.find(row);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t reasons = begin + row.size();
  const std::string list = metrics.substr(reasons, metrics.find(" |", reasons) - reasons);
  const std::size_t section = monitoring.find("### TributaryConnectionsRefused");
  ASSERT_NE(section, std::string::npos);
  const std::string said = monitoring.substr(section, monitoring.find("\n### ", section + 1) - section);
  const std::vector<std::string> names = absl::StrSplit(list, ", ");
  EXPECT_GE(names.size(), 17u);
  for (const std::string& name : names) EXPECT_THAT(said, HasSubstr("`" + name + "`"));
}

}  // namespace
}  // namespace tributary::testing
