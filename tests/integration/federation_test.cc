// Runs with a real aggregator: the effect of poisoned nodes, and the contents of a node's messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "tests/integration/federation_simulated_node.h"
#include "tests/support/learners.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::testing {
namespace {

constexpr std::size_t kElements = 300;
constexpr int kNodes = 5;
constexpr int kRounds = 3;

// A hostile node sends this in place of `honest`.
using Attack = std::function<void(std::vector<float>& honest, std::mt19937& random)>;

void SignFlip(std::vector<float>& update, std::mt19937&) {
  for (float& value : update) value = -value;
}
void HundredTimes(std::vector<float>& update, std::mt19937&) {
  for (float& value : update) value *= 100;
}
void Random(std::vector<float>& update, std::mt19937& random) {
  std::normal_distribution<float> normal(0, 20);
  for (float& value : update) value = normal(random);
}

// Four honest nodes each go half the way from the model, at 0, to 1, with noise of 0.02; one node attacks.
// Returns the root of the mean square distance from 1 after three rounds.
double DistanceAfter(const std::string& strategy, const Attack& attack) {
  ScratchFolder folder;
  AggregatorProcess aggregator(folder, "aggregator", {"south"}, FederationKeys(folder));
  aggregator.Start();
  EXPECT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  const std::string model = folder.Write("w.safetensors", OneTensorModel(std::vector<float>(kElements)));
  const std::string config =
      folder.Write("run.toml",
                   "name = \"r\"\nrounds = 3\nmin_nodes = 5\nquorum = 5\ndeadline_s = 60.0\n"
                   "max_element = 10000.0\n[strategy]\n" +
                       strategy + "\n");
  EXPECT_EQ(RunCommand(folder, {"run", "start", config, "--model", model, "--aggregator",
                                "127.0.0.1:" + std::to_string(aggregator.ingest_port())}),
            0)
      << ReadText(folder.Path("command.log"));
  std::vector<std::unique_ptr<SimulatedNode>> nodes;
  for (int n = 0; n < kNodes; ++n) {
    const MakeUpdate make = [n, attack](const link::FederationClient::Assignment& assignment,
                                        link::FederationClient& client) -> std::optional<std::vector<float>> {
      const auto file = client.FetchModel(assignment);
      if (!file.ok()) return std::nullopt;
      auto flat = FlatModel(*file);
      std::mt19937 random(100 * assignment.task.round + n);
      std::uniform_real_distribution<float> noise(-0.02f, 0.02f);
      for (float& value : *flat) value = 0.5f * (1 - value) + noise(random);
      if (n == 2) attack(*flat, random);
      return *flat;
    };
    nodes.push_back(
        std::make_unique<SimulatedNode>(aggregator.ingest_port(), "n" + std::to_string(n), "r", make));
  }
  EXPECT_TRUE(WaitFor([&] {
    const auto run = nlohmann::json::parse(aggregator.Get("/api/v1/runs/r"), nullptr, false);
    return !run.is_discarded() && run["run"].value("committed_rounds", 0) == kRounds;
  })) << aggregator.Get("/api/v1/runs/r");
  nodes.clear();
  const auto flat = FlatModel(ReadText(folder.Path("store/models/r.3.safetensors")));
  if (!flat.ok()) return std::nan("");
  double sum = 0;
  for (const float value : *flat) sum += (value - 1.0) * (value - 1.0);
  return std::sqrt(sum / kElements);
}

// Half the way three times leaves 1/8; the honest nodes' noise adds 0.02 · (1 + 1/2 + 1/4) at most.
constexpr double kTolerated = 0.125 + 0.035;

class PoisonedNodeTest : public ::testing::TestWithParam<std::pair<const char*, Attack>> {};

TEST_P(PoisonedNodeTest, DoesNotMoveTheRobustStrategies) {
  for (const char* strategy :
       {"kind = \"median\"", "kind = \"trimmed_mean\"\ntrim = 0.2", "kind = \"multi_krum\"\nbyzantine = 1"}) {
    EXPECT_LT(DistanceAfter(strategy, GetParam().second), kTolerated) << strategy;
  }
}

TEST_P(PoisonedNodeTest, SpoilsThePlainMean) {
  EXPECT_GT(DistanceAfter("kind = \"fedavg\"", GetParam().second), 2 * kTolerated);
}

INSTANTIATE_TEST_SUITE_P(Attacks, PoisonedNodeTest,
                         ::testing::Values(std::pair<const char*, Attack>("SignFlip", SignFlip),
                                           std::pair<const char*, Attack>("HundredTimes", HundredTimes),
                                           std::pair<const char*, Attack>("Random", Random)),
                         [](const auto& attack) { return std::string(attack.param.first); });

// Every message of a node: the requests of the service, field by field. Add each new field here.
TEST(FederationWireTest, ARequestHasRoomForParametersCountsAndMetricsOnly) {
  std::set<std::string> fields;
  std::vector<const google::protobuf::Descriptor*> open;
  const auto* service =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName("tributary.v1.FederationService");
  ASSERT_NE(service, nullptr);
  for (int i = 0; i < service->method_count(); ++i) open.push_back(service->method(i)->input_type());
  std::set<const google::protobuf::Descriptor*> seen(open.begin(), open.end());
  while (!open.empty()) {
    const auto* message = open.back();
    open.pop_back();
    for (int i = 0; i < message->field_count(); ++i) {
      const auto* field = message->field(i);
      using Type = google::protobuf::FieldDescriptor;
      if (field->cpp_type() == Type::CPPTYPE_MESSAGE) {
        if (seen.insert(field->message_type()).second) open.push_back(field->message_type());
        continue;
      }
      // Single numbers are counts and metrics; what could hold a sample is bytes, text or a list.
      const bool roomy = field->is_repeated() || field->cpp_type() == Type::CPPTYPE_STRING;
      if (roomy) fields.insert(message->name() + "." + field->name());
    }
  }
  const std::set<std::string> allowed = {
      // names
      "ParticipateRequest.node", "ParticipateRequest.run", "ParticipateRequest.workloads",
      "ParticipateRequest.encodings", "FetchModelRequest.run", "FetchModelRequest.node", "UpdateHeader.run",
      "UpdateHeader.node", "Contributor.node", "AdvertiseKeysRequest.run", "AdvertiseKeysRequest.node",
      "ShareKeysRequest.run", "ShareKeysRequest.node", "EncryptedShare.from", "EncryptedShare.to",
      "DeclineTaskRequest.run", "DeclineTaskRequest.node", "UnmaskRequest.run", "UnmaskRequest.node",
      "RevealedShare.of",
      // digests and identities
      "ParticipateRequest.boot_id", "ParticipateRequest.schema_sha256", "UpdateHeader.boot_id",
      "DeclineTaskRequest.boot_id", "UpdateHeader.schema_sha256", "UpdateHeader.base_model_sha256",
      // why a node cannot train: 240 bytes are kept
      "DeclineTaskRequest.message",
      // keys
      "AdvertiseKeysRequest.cipher_key", "AdvertiseKeysRequest.mask_key", "AdvertiseKeysRequest.seed_digest",
      "EncryptedShare.seed_digest", "EncryptedShare.key_digest", "EncryptedShare.ciphertext",
      "RevealedShare.share",
      // parameters: whole blocks of the run's encoding, as many elements as its model has
      "UpdateChunk.payload"};
  for (const std::string& field : fields) EXPECT_TRUE(allowed.contains(field)) << field;
}

}  // namespace
}  // namespace tributary::testing
