#include "aggregator/learning/run/round_report.h"

#include <algorithm>
#include <string>

namespace tributary::learning {

v1::Round ReportRound(const std::vector<KeptUpdate>& updates, const DeclinedTasks& declined) {
  v1::Round line;
  double loss = 0;
  double spread = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  std::vector<const KeptUpdate*> named;
  for (const KeptUpdate& each : updates) {
    const auto weight = static_cast<double>(each.header.sample_count);
    loss += weight * each.header.metrics.loss;
    spread += weight * each.header.metrics.spread;
    samples += each.header.sample_count;
    bytes += each.payload_bytes;
    named.push_back(&each);
  }
  line.set_accepted(static_cast<std::uint32_t>(updates.size()));
  line.set_sample_count(samples);
  line.set_loss(samples > 0 ? loss / static_cast<double>(samples) : 0);
  line.set_spread(samples > 0 ? spread / static_cast<double>(samples) : 0);
  line.set_received_bytes(bytes);
  std::ranges::sort(named, {},
                    [](const KeptUpdate* each) -> const std::string& { return each->header.node; });
  named.resize(std::min(named.size(), kNamedContributions));
  for (const KeptUpdate* each : named) {
    v1::RoundContribution& contribution = *line.add_contributions();
    contribution.set_node(each->header.node);
    contribution.set_sample_count(each->header.sample_count);
    contribution.set_loss(each->header.metrics.loss);
    contribution.set_seconds(each->header.metrics.seconds);
  }
  line.set_declined(declined.count);
  for (const DeclinedTasks::One& each : declined.named) {
    v1::RoundDecline& decline = *line.add_declines();
    decline.set_node(each.node);
    decline.set_reason(std::string(parameters::DeclineReasonName(each.decline.reason)));
    decline.set_message(each.decline.message);
  }
  return line;
}

}  // namespace tributary::learning
