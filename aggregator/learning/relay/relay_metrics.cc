#include "aggregator/learning/relay/relay_metrics.h"

namespace tributary::learning {

void AddRelayMetrics(const Relay& relay, runtime::Metrics& metrics) {
  const auto counter = [&](const char* name, const char* help, const runtime::MetricLabels& labels,
                           std::uint64_t Relay::Counters::*member) {
    metrics.AddCounterCallback(name, help, labels,
                               [&relay, member] { return static_cast<double>(relay.counters().*member); });
  };
  counter("tributary_relay_rounds_total", "Rounds of the parent that were begun here.", {},
          &Relay::Counters::rounds);
  constexpr const char* kSums = "tributary_relay_sums_total";
  constexpr const char* kSumsHelp = "Rounds of the parent by what became of the partial sum.";
  counter(kSums, kSumsHelp, {{"outcome", "accepted"}}, &Relay::Counters::accepted);
  counter(kSums, kSumsHelp, {{"outcome", "refused"}}, &Relay::Counters::refused);
  counter(kSums, kSumsHelp, {{"outcome", "abandoned"}}, &Relay::Counters::abandoned);
  counter("tributary_relay_contributors_total", "Nodes in the accepted partial sums.", {},
          &Relay::Counters::contributors);
  counter("tributary_relay_left_out_total",
          "Nodes left out of a partial sum: the parent counts them elsewhere.", {},
          &Relay::Counters::left_out);
  metrics.AddGaugeCallback(
      "tributary_relay_participating", "1 while the parent says what to do.", {},
      [&relay] { return relay.client().state() == link::FederationState::kParticipating ? 1.0 : 0.0; });
}

}  // namespace tributary::learning
