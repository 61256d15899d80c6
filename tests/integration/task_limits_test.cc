// Nodes can train every run that can be started: for any file within the limits, a node and its trainer
// accept the resulting task.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "aggregator/learning/round/run_rules.h"
#include "aggregator/learning/service/federation_wire.h"
#include "core/learning/run_config.h"
#include "core/nn/encoder/training_limits.h"
#include "core/wire/federation_task.h"
#include "node/learner/augmentation.h"
#include "node/learner/self_supervised.h"

namespace tributary {
namespace {

constexpr std::uint64_t kMostSamples = std::numeric_limits<std::int64_t>::max();

// The text of a run's file with values at, near and beyond every limit that ever existed.
class RandomRunFile {
 public:
  explicit RandomRunFile(std::uint64_t seed) : random_(seed) {}

  std::string Text() {
    std::string text = "name = \"r\"\nmin_nodes = 2\n";
    text += Maybe("rounds", {"1", "2147483647"});
    text += Maybe("weighting", {"\"samples\"", "\"uniform\""});
    text += Maybe("max_samples", {"1", "1000000000", fmt::to_string(kMostSamples)});
    text += Maybe("max_element", Around(nn::kMaxElementLimit));
    text += Maybe("clip_norm", Around(nn::kClipNormLimit));
    text += "[encoder]\n";
    text += Maybe("channels", {"[1]", "[2, 2, 2, 2]", "[2, 2, 2, 2, 2]", "[512]", "[513]", "[1024, 1]"});
    text += Maybe("grid", {"1", "3", "7", "14", "28"});
    text += Maybe("side", {"24", "28", "29", "32", "257"});
    text += Maybe("input_channels", {"1", "1", "2", "3", "3"});
    text += Maybe("norm", {"\"batch\"", "\"filter_response\"", "\"none\""});
    text += "[client]\n";
    text += Maybe("local_steps", Counts(nn::kLocalStepsLimit));
    text += Maybe("batch", Counts(nn::kBatchLimit));
    text += Maybe("learning_rate", Around(nn::kLearningRateLimit));
    text += Maybe("momentum", Around(nn::kMomentumLimit));
    text += Maybe("weight_decay", Around(nn::kWeightDecayLimit));
    text += Maybe("proximal_mu", Around(nn::kProximalLimit));
    text += Maybe("ema_lambda", Around(nn::kEmaLambdaLimit));
    text += Maybe("target_decay", Around(nn::kTargetDecayLimit));
    text += Maybe("encoding", {"\"float32\"", "\"float16\"", "\"int8\"", "\"int12\""});
    text += Maybe("seed", {"0", "9223372036854775807"});
    text += Maybe("schedule", {"true", "false"});
    text += Maybe("method", {"\"simclr\"", "\"simsiam\"", "\"byol\""});
    text += Maybe("augmentation", {"\"strong\"", "\"continuous\"", "\"hardware\""});
    text += Maybe("temperature", Around(nn::kTemperatureLimit));
    text += Maybe("crop", Around(nn::kCropLimit));
    text += Maybe("rotation_deg", Around(nn::kRotationLimit));
    text += Maybe("brightness", Around(nn::kBrightnessLimit));
    text += Maybe("contrast", Around(nn::kContrastLimit));
    text += Maybe("blur", Around(nn::kProbabilityLimit));
    text += Maybe("cut_out", Around(nn::kCutOutLimit));
    text += Maybe("flip", Around(nn::kProbabilityLimit));
    text += Maybe("saturation", Around(nn::kSaturationLimit));
    text += Maybe("hue_deg", Around(nn::kHueLimit));
    text += Maybe("grey", Around(nn::kProbabilityLimit));
    return text;
  }
  std::uint64_t Draw(std::uint64_t n) { return random_() % n; }

 private:
  // Most keys have their default, so that a file with many keys is accepted now and then.
  std::string Maybe(std::string_view key, const std::vector<std::string>& values) {
    return Draw(4) != 0 ? "" : fmt::format("{} = {}\n", key, values[Draw(values.size())]);
  }
  static std::vector<std::string> Around(const nn::TrainingLimit& limit) {
    std::vector<std::string> values;
    for (const double value :
         {limit.least, std::nextafter(limit.least, -1e300), limit.most, std::nextafter(limit.most, 1e300),
          10 * limit.most, 1e-300, 1e300, 0.5 * (limit.least + limit.most)}) {
      values.push_back(fmt::format("{:.17g}", value));
      if (values.back().find_first_of(".e") == std::string::npos) values.back() += ".0";
    }
    return values;
  }
  static std::vector<std::string> Counts(const nn::TrainingLimit& limit) {
    std::vector<std::string> values;
    for (const double value : {limit.least - 1, limit.least, limit.most, limit.most + 1, 65'536.0, 32.0}) {
      values.push_back(fmt::to_string(static_cast<std::int64_t>(value)));
    }
    return values;
  }

  std::mt19937_64 random_;
};

// The task that the aggregator sends to the first of two nodes, as it arrives.
v1::ParticipateResponse TaskOf(const learning::RunConfig& config, std::uint64_t samples) {
  learning::RunRules rules =
      *learning::RunRules::Restore(config, {.schema = {}, .model = {}, .element_count = 1000});
  for (const char* node : {"ash", "birch"}) {
    v1::ParticipateRequest declaration;
    declaration.set_node(node);
    declaration.set_sample_count(std::min(samples, config.max_samples));
    EXPECT_TRUE(rules.Join(declaration, 0).ok());
  }
  const learning::RunState& state = rules.state();
  const runtime::ManualClock clock(0);
  v1::ParticipateResponse response;
  EXPECT_TRUE(response.ParseFromString(
      learning::TaskMessage(state, 4000, nullptr, "ash", state.TaskOf("ash"), clock).SerializeAsString()));
  return response;
}

TEST(TaskLimitsTest, EveryRunFileThatIsTakenIsATaskThatANodeTakes) {
  constexpr int kFiles = 35'000;
  constexpr int kFewest = 1'000;
  int taken = 0;
  int with_keys = 0;
  for (int seed = 0; seed < kFiles; ++seed) {
    RandomRunFile file(static_cast<std::uint64_t>(seed));
    const std::string text = file.Text();
    const auto config = learning::ParseRunConfig(text, "run.toml");
    if (!config.ok()) continue;
    ++taken;
    if (text.find("batch = ") != std::string::npos) ++with_keys;
    const v1::ParticipateResponse wire = TaskOf(*config, file.Draw(2) == 0 ? 1 : kMostSamples);
    ASSERT_TRUE(wire.has_train()) << text << wire.wait().reason();
    const auto task = wire::TaskFromWire(wire);
    ASSERT_TRUE(task.ok()) << text << task.status();
    nn::SelfSupervisedOptions model = nn::FreshOptions(learning::MethodOf(config->client));
    model.encoder = config->encoder;
    const auto training = learner::LocalTrainingOf(std::get<wire::TrainTask>(*task), model, "ash", 0);
    ASSERT_TRUE(learner::CreateAugmenter(training.augmentation, training.views).ok())
        << text << training.augmentation;
    const absl::Status valid = nn::Validate(training.trainer);
    ASSERT_TRUE(valid.ok()) << text << valid;
  }
  EXPECT_GE(taken, kFewest);
  EXPECT_GE(with_keys, kFewest / 10);
}

// Faults that a node would find are reported with the run's file, to its author.
TEST(TaskLimitsTest, ARunFileBeyondTheLimitsOfANodeIsRefusedWithItsKey) {
  for (const char* key : {"batch = 65536", "learning_rate = 200.0", "momentum = 0.99995",
                          "weight_decay = 2.0", "proximal_mu = 1e7", "ema_lambda = 1e13"}) {
    const auto config =
        learning::ParseRunConfig(fmt::format("name = \"r\"\n[client]\n{}\n", key), "run.toml");
    ASSERT_FALSE(config.ok()) << key;
    const std::string name = "run.toml:3: client." + std::string(key, std::string_view(key).find(' '));
    EXPECT_NE(config.status().message().find(name), std::string::npos) << config.status();
  }
  EXPECT_FALSE(learning::ParseRunConfig("name = \"r\"\nmax_element = 1e-30\n", "run.toml").ok());
  EXPECT_FALSE(learning::ParseRunConfig("name = \"r\"\nclip_norm = 1e13\n", "run.toml").ok());
  EXPECT_FALSE(learning::ParseRunConfig("name = \"r\"\n[encoder]\nchannels = [1024]\n", "run.toml").ok());
}

// An aggregator continues runs that it accepted before.
TEST(TaskLimitsTest, AStoredRunIsReadWithoutTheLimitsOfTraining) {
  const auto config = learning::ParseRunConfig("name = \"r\"\n[client]\nbatch = 65536\n", "r",
                                               learning::ClientLimits::kStored);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->client.batch(), 65'536u);
}

}  // namespace
}  // namespace tributary
