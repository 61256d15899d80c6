#include "core/learning/run_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace tributary::learning {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Message(std::string_view text) {
  return std::string(ParseRunConfig(text, "run.toml").status().message());
}

TEST(RunConfigTest, ANameIsEnough) {
  const auto config = ParseRunConfig(R"(name = "first")", "run.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->name, "first");
  EXPECT_EQ(config->strategy.kind, StrategyKind::kFedAvg);
  EXPECT_EQ(config->client.local_steps, 50u);
  EXPECT_EQ(config->quorum, 2u);
  EXPECT_EQ(config->deadline_ns, 60'000'000'000);
}

TEST(RunConfigTest, ReadsEverySetting) {
  const auto config = ParseRunConfig(R"(
name = "kmnist-5"
model = "encoder.safetensors"
rounds = 40
min_nodes = 5
max_nodes = 20
quorum = 4
sample_fraction = 0.5
deadline_s = 12.5
weighting = "uniform"
max_samples = 100000
max_element = 2
clip_norm = 1.5
[strategy]
kind = "fedadam"
beta2 = 0.95
tau = 0.01
[client]
local_steps = 20
batch = 16
learning_rate = 0.1
momentum = 0.8
weight_decay = 0
proximal_mu = 0.01
ema_lambda = 0.5
encoding = "int8"
seed = 7
schedule = false
method = "byol"
augmentation = "table"
target_decay = 0.99
[privacy]
secure_aggregation = true
noise_multiplier = 1.1
delta = 1e-6
noise_seed = 3
[evaluation]
every_rounds = 5
)",
                                     "run.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->model_file, "encoder.safetensors");
  EXPECT_EQ(config->rounds, 40u);
  EXPECT_EQ(config->deadline_ns, 12'500'000'000);
  EXPECT_EQ(config->weighting, UpdateWeighting::kUniform);
  EXPECT_EQ(config->strategy.kind, StrategyKind::kFedAdam);
  EXPECT_EQ(config->strategy.learning_rate, 0.01);
  EXPECT_EQ(config->client.encoding, parameters::UpdateEncoding::kInt8);
  EXPECT_EQ(config->client.method, "byol");
  EXPECT_FALSE(config->client.schedule);
  EXPECT_TRUE(config->privacy.secure_aggregation);
  EXPECT_EQ(config->privacy.noise_multiplier, 1.1);
  EXPECT_EQ(config->evaluation.every_rounds, 5u);
}

TEST(RunConfigTest, SaysWhatAFreshEncoderIsMadeOf) {
  const auto config =
      ParseRunConfig("name = \"a\"\n[encoder]\nchannels = [8, 16]\ngrid = 1\nquantised = true", "run.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->encoder.channels, (std::vector<std::size_t>{8, 16}));
  EXPECT_EQ(config->encoder.grid, 1u);
  EXPECT_TRUE(config->encoder.quantised);
  EXPECT_EQ(config->encoder.norm, nn::EncoderNorm::kNone);
  EXPECT_EQ(config->encoder.activation, nn::EncoderActivation::kHardClip);
  EXPECT_THAT(Message("name = \"a\"\n[encoder]\nchannels = [0]\nnorm = \"layer\""),
              AllOf(HasSubstr("encoder.channels"), HasSubstr("encoder.norm")));
}

// The example in the documentation lists every key with its default.
TEST(RunConfigTest, TheDocumentedDefaultsAreTheDefaults) {
  std::ostringstream text;
  text << std::ifstream(TRIBUTARY_SOURCE_DIR "/docs/federated-runs.md").rdbuf();
  const std::string page = text.str();
  const std::size_t begin = page.find("```toml\n") + 8;
  const auto documented =
      ParseRunConfig(page.substr(begin, page.find("```", begin) - begin), "federated-runs.md");
  ASSERT_TRUE(documented.ok()) << documented.status();
  const auto bare = ParseRunConfig(R"(name = "kmnist")", "run.toml");
  EXPECT_EQ(documented->rounds, bare->rounds);
  EXPECT_EQ(documented->quorum, bare->quorum);
  EXPECT_EQ(documented->deadline_ns, bare->deadline_ns);
  EXPECT_EQ(documented->max_element, bare->max_element);
  EXPECT_EQ(documented->encoder.channels, bare->encoder.channels);
  EXPECT_EQ(documented->encoder.grid, bare->encoder.grid);
  EXPECT_EQ(documented->encoder.norm, bare->encoder.norm);
  EXPECT_EQ(documented->strategy.learning_rate, bare->strategy.learning_rate);
  EXPECT_EQ(documented->strategy.beta2, bare->strategy.beta2);
  EXPECT_EQ(documented->client.local_steps, bare->client.local_steps);
  EXPECT_EQ(documented->client.learning_rate, bare->client.learning_rate);
  EXPECT_EQ(documented->client.weight_decay, bare->client.weight_decay);
  EXPECT_EQ(documented->client.target_decay, bare->client.target_decay);
  EXPECT_EQ(documented->buffer.size, bare->buffer.size);
  EXPECT_EQ(documented->privacy.delta, bare->privacy.delta);
}

TEST(RunConfigTest, GivesEachFaultALine) {
  const std::string message = Message("name = \"a\"\n[privacy]\nnoise_multiplier = 1.0\n");
  EXPECT_THAT(message, HasSubstr("privacy.noise_multiplier needs clip_norm above 0\n"));
  EXPECT_THAT(message, HasSubstr("privacy.noise_multiplier needs weighting = \"uniform\""));
}

TEST(RunConfigTest, NamesEveryFaultWithItsPlace) {
  EXPECT_THAT(
      Message("rounds = 0\nbatches = 3\n[strategy]\nkind = \"best\"\n[client]\nencoding = \"fixed32\""),
      AllOf(HasSubstr("name: is required"), HasSubstr("run.toml:1: rounds"),
            HasSubstr("run.toml:2: batches: unknown key"), HasSubstr("run.toml:4: strategy.kind"),
            HasSubstr("run.toml:6: client.encoding")));
}

TEST(RunConfigTest, SaysWhatTheFormerNameOfAnAugmentationIsCalled) {
  EXPECT_THAT(Message("name = \"a\"\n[client]\naugmentation = \"hardware\""),
              HasSubstr("run.toml:3: client.augmentation: \"hardware\" is now called \"table\""));
  EXPECT_THAT(Message("name = \"a\"\n[client]\naugmentation = \"fast\""),
              HasSubstr("expected one of continuous, table, found \"fast\""));
}

TEST(RunConfigTest, RefusesSettingsThatDoNotGoTogether) {
  EXPECT_THAT(Message("name = \"a\"\n[strategy]\nkind = \"fedprox\""), HasSubstr("proximal_mu"));
  EXPECT_THAT(Message("name = \"a\"\n[strategy]\nkind = \"fedema\""), HasSubstr("ema_lambda"));
  EXPECT_THAT(Message("name = \"a\"\n[strategy]\nkind = \"multi_krum\""), HasSubstr("2 * byzantine + 3"));
  EXPECT_THAT(Message("name = \"a\"\n[strategy]\nkind = \"median\"\n[privacy]\nsecure_aggregation = true"),
              HasSubstr("hides the updates"));
  EXPECT_THAT(Message("name = \"a\"\n[privacy]\nnoise_multiplier = 1"),
              AllOf(HasSubstr("clip_norm"), HasSubstr("uniform")));
  EXPECT_THAT(Message("name = \"a\"\nmin_nodes = 3\n[strategy]\nkind = \"fedbuff\"\n[buffer]\nsize = 4"),
              HasSubstr("buffer.size"));
  EXPECT_THAT(Message("name = \"../a\""), HasSubstr("name must be"));
  EXPECT_THAT(Message("name = \"a\"\nmin_nodes = 300"), HasSubstr("min_nodes"));
}

}  // namespace
}  // namespace tributary::learning
