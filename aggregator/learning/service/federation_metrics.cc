#include "aggregator/learning/service/federation_metrics.h"

#include <algorithm>
#include <functional>
#include <string>

namespace tributary {
namespace {

// The last line of the run's history for which `holds` does; null: none.
template <class Predicate>
const RoundLine* Latest(const RunView& run, Predicate holds) {
  for (auto line = run.history.rbegin(); line != run.history.rend(); ++line) {
    if (std::invoke(holds, **line)) return line->get();
  }
  return nullptr;
}

}  // namespace

void AddFederationMetrics(const Coordinator& coordinator, Metrics& metrics) {
  for (std::size_t i = 1; i < kSubmissionRefusals; ++i) {
    const auto reason = static_cast<SubmissionRefusal>(i);
    metrics.AddCounterCallback(
        "tributary_updates_refused_total", "Updates of nodes that were refused, by reason.",
        {{"reason", std::string(SubmissionRefusalName(reason))}},
        [&coordinator, reason] { return static_cast<double>(coordinator.refused(reason)); });
  }
  for (std::size_t i = 0; i < kDeclineReasons; ++i) {
    const auto reason = static_cast<DeclineReason>(i);
    metrics.AddCounterCallback(
        "tributary_tasks_declined_total", "Tasks that nodes said they cannot do, by reason.",
        {{"reason", std::string(DeclineReasonName(reason))}},
        [&coordinator, reason] { return static_cast<double>(coordinator.declined(reason)); });
  }
  metrics.AddGaugeCallback("tributary_participants_connected", "Nodes with a stream of tasks.", {},
                           [&coordinator] { return static_cast<double>(coordinator.connected()); });
  metrics.AddGaugeCallback("tributary_participants_waiting", "Of these, nodes that wait for a run.", {},
                           [&coordinator] { return static_cast<double>(coordinator.waiting().size()); });
  metrics.AddCounterCallback("tributary_participants_refused_total",
                             "Streams of nodes that were ended at once, with a reason.", {},
                             [&coordinator] { return static_cast<double>(coordinator.refused_streams()); });
  metrics.AddCounterCallback("tributary_masking_steps_refused_total",
                             "Keys and shares of secure aggregation that could not be taken.", {},
                             [&coordinator] { return static_cast<double>(coordinator.refused_steps()); });
  metrics.AddCounterCallback("tributary_updates_received_bytes_total", "Payload of the accepted updates.", {},
                             [&coordinator] { return static_cast<double>(coordinator.received_bytes()); });
  metrics.AddGaugeCallback("tributary_store_healthy", "1 as long as the store could be written.", {},
                           [&coordinator] { return coordinator.healthy() ? 1.0 : 0.0; });
}

void RunMetrics::Set(const char* name, const char* help, const std::string& run, double value) {
  metrics_.AddGauge(name, help, {{"run", run}}).Set(value);
}

void RunMetrics::Refresh() {
  for (const auto& run : board_.Runs()) {
    const std::string& name = run->name;
    Set("tributary_run_committed_rounds", "Rounds whose result is stored.", name, run->committed);
    Set("tributary_run_state", "0 waiting, 1 running, 2 paused, 3 finished, 4 stopped, 5 failed.", name,
        static_cast<double>(run->condition));
    Set("tributary_run_nodes", "Nodes that have joined.", name,
        static_cast<double>(run->participants.size()));
    Set("tributary_run_accepted_updates", "In the round under way.", name, run->accepted);
    Set("tributary_run_connected_nodes", "Of these, now connected.", name,
        static_cast<double>(std::ranges::count_if(run->participants, &ParticipantStatus::connected)));
    Set("tributary_run_unable_nodes", "Of the connected ones, those that cannot train in this run.", name,
        static_cast<double>(std::ranges::count_if(run->participants, [](const ParticipantStatus& each) {
          return each.connected && !each.cannot_train.empty();
        })));
    if (run->epsilon > 0) {
      Set("tributary_run_epsilon", "Differential privacy spent, at the run's delta.", name, run->epsilon);
    }
    if (const RoundLine* last = Latest(*run, &RoundLine::committed)) {
      Set("tributary_run_loss", "Mean loss of the last committed round's nodes, weighted by samples.", name,
          last->loss);
      Set("tributary_run_spread", "Collapse check of that round: near 1 if healthy, 0 if collapsed.", name,
          last->spread);
      Set("tributary_run_round_seconds", "How long that round took.", name,
          1e-9 * static_cast<double>(last->ended_unix_ns - last->started_unix_ns));
    }
    const RoundLine* judged = Latest(*run, [](const RoundLine& line) { return line.judgement.has_value(); });
    if (judged != nullptr) SetJudgement(name, *judged->judgement);
  }
}

void RunMetrics::SetJudgement(const std::string& run, const Judgement& judgement) {
  Set("tributary_run_linear_probe", "Share of the test images, latest evaluated round.", run,
      judgement.linear_probe);
  Set("tributary_run_knn", "Share of the test images, latest evaluated round.", run, judgement.knn);
  Set("tributary_run_test_spread", "Collapse check on the test images, latest evaluated round.", run,
      judgement.spread);
  Set("tributary_run_random_linear_probe", "The same of the random encoder: to be beaten.", run,
      judgement.random_linear_probe);
  Set("tributary_run_random_knn", "The same of the random encoder: to be beaten.", run, judgement.random_knn);
  Set("tributary_run_random_test_spread", "The same of the random encoder.", run, judgement.random_spread);
}

}  // namespace tributary
