// The programs check the files of deploy/examples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "core/learning/run_config.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/parameters/npy.h"
#include "tests/support/any_beacon.h"
#include "tests/support/certificates.h"
#include "tests/support/example_keys.h"
#include "tests/support/process.h"

namespace tributary::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

const std::string kExamples = TRIBUTARY_SOURCE_DIR "/deploy/examples/";

class ExamplesTest : public ::testing::Test {
 protected:
  // The program's standard error; empty if it finds no fault.
  std::string Faults(const std::string& program, const std::vector<std::string>& arguments) {
    Process process(program, arguments, folder_.Path("log"));
    const int exit_code = process.Wait(std::chrono::seconds(60));
    if (exit_code == 0) return "";
    return program + " ended with " + std::to_string(exit_code) + ": " + process.Log();
  }

  const ScratchFolder folder_;
};

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string ReplacedAll(std::string text, const std::string& from, const std::string& to) {
  while (text.find(from) != std::string::npos) text = Replaced(text, from, to);
  return text;
}

TEST_F(ExamplesTest, EveryRunIsOneThatCanBeStarted) {
  std::vector<std::string> files = {kExamples + "run.toml"};
  for (const auto& entry : std::filesystem::directory_iterator(kExamples + "runs"))
    files.push_back(entry.path());
  const std::string start = folder_.Path("start.safetensors");
  ASSERT_EQ(Faults("tributary", {"train", "beacon-start", "--second-order", "--out", start}), "");
  for (const std::string& file : files) {
    std::vector<std::string> words = {"run", "start", file, "--check"};
    if (file.ends_with("levenberg_marquardt.toml")) words.insert(words.end(), {"--model", start});
    for (const std::string network : {"modulation", "positioning"}) {
      if (!file.ends_with(network + ".toml")) continue;
      words.insert(words.end(), {"--model", TRIBUTARY_SOURCE_DIR "/models/" + network + ".safetensors"});
    }
    EXPECT_EQ(Faults("tributary", words), "") << file;
  }
}

TEST_F(ExamplesTest, ARunOfANetworkThatIsNotDrawnSaysHowToNameOne) {
  EXPECT_THAT(Faults("tributary", {"run", "start", kExamples + "runs/modulation.toml", "--check"}),
              AllOf(HasSubstr("modulation.toml:1: model: "), HasSubstr("--model FILE")));
}

TEST_F(ExamplesTest, ThereIsARunToCopyForEachStrategyAndForPrivacy) {
  std::set<std::string> kinds;
  bool masked = false, noisy = false;
  std::vector<std::filesystem::path> files = {kExamples + "run.toml"};
  for (const auto& entry : std::filesystem::directory_iterator(kExamples + "runs"))
    files.push_back(entry.path());
  for (const std::filesystem::path& file : files) {
    const auto config = learning::ParseRunConfig(ReadText(file), file.string());
    ASSERT_TRUE(config.ok()) << config.status();
    const std::string kind(learning::StrategyName(config->strategy.kind));
    kinds.insert(kind);
    masked |= config->privacy.secure_aggregation;
    noisy |= config->privacy.noise_multiplier > 0;
    if (file.filename() == "run.toml") continue;
    EXPECT_EQ(config->name, file.stem().string()) << "it is found by its name";
  }
  EXPECT_EQ(kinds.size(), learning::kStrategyNames.size()) << "of docs/federated-runs.md";
  EXPECT_TRUE(masked && noisy);
}

TEST_F(ExamplesTest, TheDaemonsTakeTheirsAsTheyStand) {
  EXPECT_EQ(Faults("tributary-node", {"--config", kExamples + "node.toml", "--check"}), "");
  EXPECT_EQ(Faults("tributary-node", {"--config", kExamples + "node-radio.toml", "--check"}), "");
  EXPECT_EQ(Faults("tributary-aggregator", {"--config", kExamples + "aggregator.toml", "--check"}), "");
}

TEST_F(ExamplesTest, TheAggregatorTakesWhatItsExampleHasCommentedOut) {
  const Certificates certificates(folder_, "certs", {"child"});
  certificates.Revoke({});
  std::string text = Uncommented(ReadText(kExamples + "aggregator.toml"));
  ASSERT_THAT(text, HasSubstr("\n[federation.parent]"));
  text = Replaced(text, "images-idx3-ubyte.gz", "glyphs");
  text = Replaced(text, "labels-idx1-ubyte.gz", "");
  text = Replaced(text, "/var/lib/tributary/store", folder_.Path("store"));
  text = ReplacedAll(text, "certs/aggregator", "certs/child");
  text = Replaced(text, "node = \"lab\"", "node = \"child\"");
  text = Replaced(text, "node = \"hall-2\"", "node = \"child\"");
  const std::string path = folder_.Write("aggregator.toml", text);
  EXPECT_EQ(Faults("tributary-aggregator", {"--config", path, "--check"}), "");
}

// The first two tables of docs/federation.md.
TEST_F(ExamplesTest, TheDaemonsTakeWhatTheDocumentationBeginsWith) {
  const Certificates certificates(folder_, "certs", {"hub=10.0.0.1", "b1"});
  const std::string page = ReadText(TRIBUTARY_SOURCE_DIR "/docs/federation.md");
  std::size_t at = 0;
  for (const char* program : {"tributary-aggregator", "tributary-node"}) {
    at = page.find("```toml\n", at);
    ASSERT_NE(at, std::string::npos);
    at += std::string("```toml\n").size();
    std::string text = page.substr(at, page.find("```", at) - at);
    if (text.find("images = ") != std::string::npos) {
      text = Replaced(text, "/var/lib/tributary/images-idx3-ubyte.gz", "glyphs");
    }
    text = ReplacedAll(text, "/var/lib/tributary", folder_.Path(""));
    const std::string path = folder_.Write("certs/" + std::string(program) + ".toml", text);
    EXPECT_EQ(Faults(program, {"--config", path, "--check"}), "") << text;
  }
}

TEST_F(ExamplesTest, ANodeTakesWhatItsExampleHasCommentedOut) {
  const Certificates certificates(folder_, "certs", {"south"});
  std::string text = Uncommented(ReadText(kExamples + "node.toml"));
  ASSERT_THAT(text, HasSubstr("\n[federation]"));
  text = ReplacedAll(text, "../../models", TRIBUTARY_SOURCE_DIR "/models");
  const std::uint64_t shape[] = {1, 1024};
  folder_.Write("recording.npy", parameters::EncodeNpy(shape, std::vector<float>(1024)));
  // No board is opened: without its xclbin the processor would compute.
  text = Replaced(text, "fallback = \"none\"", "fallback = \"cpu\"");
  const std::string path = folder_.Write("node.toml", text);
  EXPECT_THAT(Faults("tributary-node", {"--config", path, "--check"}),
              AnyOf("", HasSubstr("built without XRT")));
}

TEST_F(ExamplesTest, ANodeTakesRecordedRanges) {
  folder_.Write("north.safetensors", nn::EncodeBeacon(AnyBeacon()));
  std::string line = "2022-08-15 9:42:24.766";
  for (int range = 0; range < 24; ++range) line += ",1.5";
  folder_.Write("ranges.csv", line + "\n");
  folder_.Write("survey.toml", ReadText(kExamples + "survey.toml"));
  const std::string path = folder_.Write("node.toml", Uncommented(ReadText(kExamples + "node-ranges.toml")));
  EXPECT_EQ(Faults("tributary-node", {"--config", path, "--check"}), "");
}

}  // namespace
}  // namespace tributary::testing
