#include "aggregator/learning/service/federation_metrics.h"

#include <algorithm>
#include <functional>
#include <string>

namespace tributary::learning {
void AddFederationMetrics(const Coordinator& coordinator, runtime::Metrics& metrics) {
  for (std::size_t i = 1; i < kSubmissionRefusals; ++i) {
    const auto reason = static_cast<SubmissionRefusal>(i);
    metrics.AddCounterCallback(
        "tributary_updates_refused_total", "Updates of nodes that were refused, by reason.",
        {{"reason", std::string(SubmissionRefusalName(reason))}}, [&coordinator, reason] {
          return static_cast<double>(coordinator.counters().refused[static_cast<std::size_t>(reason)].load());
        });
  }
  for (std::size_t i = 0; i < parameters::kDeclineReasons; ++i) {
    const auto reason = static_cast<parameters::DeclineReason>(i);
    metrics.AddCounterCallback(
        "tributary_tasks_declined_total", "Tasks that nodes said they cannot do, by reason.",
        {{"reason", std::string(parameters::DeclineReasonName(reason))}}, [&coordinator, reason] {
          return static_cast<double>(
              coordinator.counters().declined[static_cast<std::size_t>(reason)].load());
        });
  }
  metrics.AddGaugeCallback(
      "tributary_participants_connected", "Nodes with a stream of tasks.", {},
      [&coordinator] { return static_cast<double>(coordinator.counters().connected.load()); });
  metrics.AddGaugeCallback("tributary_participants_waiting", "Of these, nodes that wait for a run.", {},
                           [&coordinator] { return static_cast<double>(coordinator.waiting().size()); });
  metrics.AddCounterCallback(
      "tributary_participants_refused_total", "Streams of nodes that were ended at once, with a reason.", {},
      [&coordinator] { return static_cast<double>(coordinator.counters().refused_streams.load()); });
  metrics.AddCounterCallback(
      "tributary_masking_steps_refused_total",
      "Keys and shares of secure aggregation that could not be taken.", {},
      [&coordinator] { return static_cast<double>(coordinator.counters().refused_steps.load()); });
  metrics.AddCounterCallback(
      "tributary_updates_received_bytes_total", "Payload of the accepted updates.", {},
      [&coordinator] { return static_cast<double>(coordinator.counters().received_bytes.load()); });
  metrics.AddGaugeCallback("tributary_store_healthy", "1 as long as the store could be written.", {},
                           [&coordinator] { return coordinator.counters().healthy ? 1.0 : 0.0; });
}

void RunMetrics::Set(const char* name, const char* help, const std::string& run, double value) {
  metrics_.AddGauge(name, help, {{"run", run}}).Set(value);
}

void RunMetrics::Refresh() {
  for (const auto& record : board_.Runs()) {
    const v1::Run& run = record->run;
    const std::string& name = run.name();
    Set("tributary_run_committed_rounds", "Rounds whose result is stored.", name, run.committed_rounds());
    Set("tributary_run_state", "0 waiting, 1 running, 2 paused, 3 finished, 4 stopped, 5 failed.", name,
        run.state() - v1::RUN_STATE_WAITING);
    Set("tributary_run_nodes", "Nodes that have joined.", name, run.joined_nodes());
    Set("tributary_run_accepted_updates", "In the round under way.", name, run.accepted_updates());
    Set("tributary_run_connected_nodes", "Of these, now connected.", name, run.connected_nodes());
    Set("tributary_run_unable_nodes", "Of the connected ones, those that cannot train in this run.", name,
        run.unable_nodes());
    if (run.epsilon() > 0) {
      Set("tributary_run_epsilon", "Differential privacy spent, at the run's delta.", name, run.epsilon());
    }
    if (const v1::Round* last = record->last_committed.get()) {
      Set("tributary_run_loss", "Mean loss of the last committed round's nodes, weighted by samples.", name,
          last->loss());
      Set("tributary_run_spread", "Collapse check of that round: near 1 if healthy, 0 if collapsed.", name,
          last->spread());
      Set("tributary_run_round_seconds", "How long that round took.", name,
          1e-9 * static_cast<double>(last->ended_unix_ns() - last->started_unix_ns()));
    }
    if (record->last_evaluated != nullptr) SetEvaluation(name, record->last_evaluated->evaluation());
  }
}

void RunMetrics::SetEvaluation(const std::string& run, const v1::Evaluation& evaluation) {
  Set("tributary_run_linear_probe", "Share of the test images, latest evaluated round.", run,
      evaluation.linear_probe());
  Set("tributary_run_knn", "Share of the test images, latest evaluated round.", run, evaluation.knn());
  Set("tributary_run_test_spread", "Collapse check on the test images, latest evaluated round.", run,
      evaluation.spread());
  Set("tributary_run_random_linear_probe", "The same of the random encoder: to be beaten.", run,
      evaluation.random_linear_probe());
  Set("tributary_run_random_knn", "The same of the random encoder: to be beaten.", run,
      evaluation.random_knn());
  Set("tributary_run_random_test_spread", "The same of the random encoder.", run, evaluation.random_spread());
}

}  // namespace tributary::learning
