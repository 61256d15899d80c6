#include "core/learning/run_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/learning/fresh_model.h"
#include "core/nn/encoder/encoder_file.h"
#include "tests/support/example_keys.h"

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
  EXPECT_EQ(config->client.local_steps(), 50u);
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
  EXPECT_EQ(EncodingOf(config->client), parameters::UpdateEncoding::kInt8);
  EXPECT_EQ(config->client.method(), "byol");
  EXPECT_EQ(config->client.schedule_steps(), 0u);
  EXPECT_EQ(config->client.clip_norm(), 1.5);
  EXPECT_TRUE(config->privacy.secure_aggregation);
  EXPECT_EQ(config->privacy.noise_multiplier, 1.1);
  EXPECT_EQ(config->evaluation.every_rounds, 5u);
}

TEST(RunConfigTest, ReadsEveryStrategyByItsName) {
  for (int kind = 0; kind <= static_cast<int>(StrategyKind::kMultiKrum); ++kind) {
    const std::string name(StrategyName(static_cast<StrategyKind>(kind)));
    const auto file = *config::ConfigFile::Parse("[strategy]\nkind = \"" + name + "\"", "run.toml");
    EXPECT_EQ(ReadRunConfig(file).strategy.kind, static_cast<StrategyKind>(kind)) << name;
  }
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

TEST(RunConfigTest, AFreshEncoderTakesTheImagesThatTheRunNames) {
  const auto config =
      ParseRunConfig("name = \"a\"\n[encoder]\nside = 32\ninput_channels = 3\ngrid = 4", "run.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  const auto model = FreshModel(*config);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(nn::DecodeEncoder(*model)->options.encoder.image(), (nn::ImageShape{32, 3}));
}

TEST(RunConfigTest, NamesTheKeyOfAnEncoderThatCannotBe) {
  EXPECT_EQ(Message("name = \"a\"\n[encoder]\ninput_channels = 2\n"),
            "run.toml:3: encoder.input_channels: must be 1 (grey) or 3 (colour), found 2");
  EXPECT_EQ(Message("name = \"a\"\n[encoder]\nchannels = [8, 16, 16]\ngrid = 10\n"),
            "run.toml:4: encoder.grid: must be from 1 to 3, found 10");
  EXPECT_EQ(Message("name = \"a\"\n[encoder]\ngrid = 1\nchannels = [8, 8, 8, 8, 8, 8]\n"),
            "run.toml:4: encoder.channels: too many stages for the side of the images");
}

TEST(RunConfigTest, ThePagesOfKeysAreCurrent) {
  const auto file = *config::ConfigFile::Parse(R"(name = "kmnist")", "run.toml");
  ReadRunConfig(file);
  ASSERT_TRUE(file.Finish().ok()) << file.Finish();
  const std::vector<config::ConfigKey> keys = file.Keys();
  for (const config::ConfigKey& key : keys) EXPECT_NE(key.help, "") << key.name;
  const char* hint = "write it with TRIBUTARY_WRITE_DOCS=1";
  EXPECT_TRUE(
      testing::PageHolds(TRIBUTARY_SOURCE_DIR "/docs/configuration.md", "run", testing::KeyTable(keys)))
      << hint;
  const std::string text = testing::AnnotatedFile(keys);
  EXPECT_TRUE(ParseRunConfig(text, "run.toml").ok()) << ParseRunConfig(text, "run.toml").status();
  EXPECT_TRUE(testing::PageHolds(TRIBUTARY_SOURCE_DIR "/docs/federated-runs.md", "run",
                                 "<!-- file: run.toml -->\n```toml\n" + text + "```\n"))
      << hint;
}

TEST(RunConfigTest, GivesEachFaultALine) {
  const std::string message = Message("name = \"a\"\n[privacy]\nnoise_multiplier = 1.0\n");
  EXPECT_THAT(message, HasSubstr("run.toml:3: privacy.noise_multiplier: needs clip_norm above 0\n"));
  EXPECT_THAT(message, HasSubstr("privacy.noise_multiplier: needs weighting = \"uniform\""));
}

TEST(RunConfigTest, NamesEveryFaultWithItsPlace) {
  EXPECT_THAT(
      Message("rounds = 0\nbatches = 3\n[strategy]\nkind = \"best\"\n[client]\nencoding = \"fixed32\""),
      AllOf(HasSubstr("name: is required"), HasSubstr("run.toml:1: rounds"),
            HasSubstr("run.toml:2: batches: unknown key"), HasSubstr("run.toml:4: strategy.kind"),
            HasSubstr("run.toml:6: client.encoding")));
}

TEST(RunConfigTest, TellsTheNameOfARunWhoseOtherKeysAreAtFault) {
  EXPECT_EQ(RunNameIn("name = \"letters\"\nrounds = 0\nnosuch = 1\n"), "letters");
  for (const char* none :
       {"rounds = 3\n", "name = 3\n", "name = \"a b\"\n", "name = \"letters\"\nrounds =", ""}) {
    EXPECT_EQ(RunNameIn(none), "") << none;
  }
}

// One table says the limits to the reader and to Validate.
TEST(RunConfigTest, ANumberBeyondItsLimitsIsRefusedAtItsLineAndInASetting) {
  EXPECT_THAT(Message("name = \"a\"\nmax_nodes = 10001\n[strategy]\nmomentum = 1\n[privacy]\ndelta = 0"),
              AllOf(HasSubstr("run.toml:2: max_nodes: expected an integer from 1 to 10000, found 10001"),
                    HasSubstr("run.toml:4: strategy.momentum: expected a number from 0 to below 1, found 1"),
                    HasSubstr("run.toml:6: privacy.delta: expected a number above 0, below 1, found 0")));
  RunConfig config;
  config.name = "a";
  EXPECT_TRUE(Validate(config).ok()) << Validate(config);
  config.max_nodes = 10'001;
  config.strategy.learning_rate = -1;
  config.strategy.tau = std::nan("");
  config.strategy.trim = 0.5;
  config.privacy.delta = 1;
  EXPECT_THAT(std::string(Validate(config).message()),
              AllOf(HasSubstr("max_nodes: must be an integer from 1 to 10000, found 10001"),
                    HasSubstr("strategy.learning_rate: must be a number above 0, found -1"),
                    HasSubstr("strategy.tau: must be a number above 0, found nan"),
                    HasSubstr("strategy.trim: must be a number from 0 to below 0.5, found 0.5"),
                    HasSubstr("privacy.delta: must be a number above 0, below 1, found 1")));
}

TEST(RunConfigTest, SaysWhatTheFormerNameOfAnAugmentationIsCalled) {
  EXPECT_THAT(Message("name = \"a\"\n[client]\naugmentation = \"hardware\""),
              HasSubstr("run.toml:3: client.augmentation: \"hardware\" is now called \"table\""));
  EXPECT_THAT(Message("name = \"a\"\n[client]\naugmentation = \"fast\""),
              HasSubstr("expected one of strong, continuous, table, found \"fast\""));
}

TEST(RunConfigTest, RefusesSettingsThatDoNotGoTogether) {
  EXPECT_THAT(Message("name = \"a\"\n[strategy]\nkind = \"fedprox\""), HasSubstr("proximal_mu"));
  EXPECT_THAT(Message("name = \"a\"\n[strategy]\nkind = \"fedema\""), HasSubstr("ema_lambda"));
  EXPECT_THAT(Message("name = \"a\"\n[strategy]\nkind = \"multi_krum\""), HasSubstr("2 * byzantine + 3"));
  EXPECT_THAT(Message("name = \"a\"\n[strategy]\nkind = \"median\"\n[privacy]\nsecure_aggregation = true"),
              HasSubstr("hides the updates"));
  for (const std::string kind : {"median", "trimmed_mean"}) {
    EXPECT_THAT(Message("name = \"a\"\n[strategy]\nkind = \"" + kind + "\"\n[client]\nencoding = \"topk\""),
                HasSubstr("client.encoding: topk leaves most of an update out"));
  }
  EXPECT_TRUE(ParseRunConfig("name = \"a\"\n[client]\nencoding = \"topk\"", "run.toml").ok());
  EXPECT_THAT(Message("name = \"a\"\n[privacy]\nnoise_multiplier = 1"),
              AllOf(HasSubstr("clip_norm"), HasSubstr("uniform")));
  EXPECT_EQ(
      Message("name = \"a\"\nclip_norm = 1.0\nweighting = \"uniform\"\n[privacy]\nnoise_multiplier = 1"), "")
      << "noise does not need masking: the aggregator scales updates down itself";
  EXPECT_THAT(Message("name = \"a\"\nmin_nodes = 3\n[strategy]\nkind = \"fedbuff\"\n[buffer]\nsize = 4"),
              HasSubstr("buffer.size"));
  EXPECT_THAT(Message("name = \"../a\""), HasSubstr("name: must be"));
  EXPECT_THAT(Message("name = \"a\"\nmin_nodes = 300"), HasSubstr("min_nodes"));
}

}  // namespace
}  // namespace tributary::learning
