#include "aggregator/learning/run/round_line.h"

#include "absl/strings/escaping.h"

namespace tributary {

using nlohmann::json;

// The keys are the members' names.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RoundContribution, node, sample_count, loss, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RoundDecline, node, reason, message)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Judgement, linear_probe, knn, spread, random_linear_probe, random_knn,
                                   random_spread, test_images)

json RoundLineJson(const RoundLine& line) {
  json value = {{"round", line.round},
                {"started_unix_ns", line.started_unix_ns},
                {"ended_unix_ns", line.ended_unix_ns},
                {"asked", line.asked},
                {"accepted", line.accepted},
                {"refused", line.refused},
                {"dropped", line.dropped},
                {"declined", line.declined},
                {"sample_count", line.sample_count},
                {"loss", line.loss},
                {"spread", line.spread},
                {"update_norm", line.update_norm},
                {"received_bytes", line.received_bytes},
                {"model_sha256", absl::BytesToHexString(line.model_sha256)},
                {"rolled_back", line.rolled_back},
                {"failure", line.failure},
                {"contributions", line.contributions},
                {"declines", line.declines}};
  if (line.epsilon > 0) value["epsilon"] = line.epsilon;
  if (line.judgement) value["evaluation"] = *line.judgement;
  return value;
}

RoundLine RoundLineOf(const json& value) {
  RoundLine line;
  line.round = value.at("round");
  line.started_unix_ns = value.at("started_unix_ns");
  line.ended_unix_ns = value.at("ended_unix_ns");
  line.asked = value.at("asked");
  line.accepted = value.at("accepted");
  line.refused = value.at("refused");
  line.dropped = value.at("dropped");
  line.sample_count = value.at("sample_count");
  line.loss = value.at("loss");
  line.spread = value.at("spread");
  line.update_norm = value.at("update_norm");
  line.received_bytes = value.at("received_bytes");
  line.model_sha256 = absl::HexStringToBytes(value.at("model_sha256").get<std::string>());
  line.rolled_back = value.at("rolled_back");
  line.failure = value.at("failure");
  line.contributions = value.at("contributions");
  // What lines of before lack.
  line.declined = value.value("declined", 0U);
  if (value.contains("declines")) line.declines = value["declines"];
  line.epsilon = value.value("epsilon", 0.0);
  if (value.contains("evaluation")) line.judgement = value["evaluation"].get<Judgement>();
  return line;
}

}  // namespace tributary
