#include "aggregator/learning/service/federation_metrics.h"

#include "core/learning/round_verdict.h"

namespace tributary::learning {
void CollectCounters(const LearningCounters& counters, runtime::Reading& reading) {
  reading.Reasons("tributary_updates_refused_total", "Updates of nodes that were refused, by reason.", {},
                  counters.refused, RefusalName, 1);
  reading.Reasons("tributary_tasks_declined_total", "Tasks that nodes said they cannot do, by reason.", {},
                  counters.declined, DeclineName);
  reading.Gauge("tributary_participants_connected", "Nodes with a stream of tasks.", {}, counters.connected);
  reading.Gauge("tributary_participants_waiting", "Nodes with such a stream that wait for a run.", {},
                counters.waiting);
  reading.Counter("tributary_participants_refused_total",
                  "Streams of nodes that were ended at once, with a reason.", {}, counters.refused_streams);
  reading.Counter("tributary_runs_refused_total", "Runs that operators sent and that were not started.", {},
                  counters.refused_runs);
  reading.Counter("tributary_masking_steps_refused_total",
                  "Declarations, keys, shares and declines of nodes that could not be taken.", {},
                  counters.refused_steps);
  reading.Counter("tributary_updates_received_bytes_total", "Payload of the accepted updates.", {},
                  counters.received_bytes);
  reading.Gauge("tributary_store_healthy", "1 as long as the store could be written.", {},
                counters.healthy ? 1 : 0);
}

void CollectRuns(const RunBoard& board, runtime::Reading& reading) {
  for (const auto& record : board.Runs()) {
    const v1::Run& run = record->run;
    const auto set = [&](const char* name, const char* help, double value) {
      reading.Gauge(name, help, {{"run", run.name()}}, value);
    };
    set("tributary_run_committed_rounds", "Rounds whose result is stored.", run.committed_rounds());
    set("tributary_run_rounds", "Rounds to do; 0: the parent does not tell.", run.rounds());
    reading.Counter("tributary_run_failed_rounds_total", "Rounds that changed nothing.",
                    {{"run", run.name()}}, record->failed_rounds);
    set("tributary_run_round_deadline_timestamp_seconds",
        "Unix time of the deadline of the round under way; 0: there is none.",
        1e-9 * static_cast<double>(run.deadline_unix_ns()));
    set("tributary_run_state", "0 waiting, 1 running, 2 paused, 3 finished, 4 stopped, 5 failed.",
        run.state() - v1::RUN_STATE_WAITING);
    set("tributary_run_nodes", "Nodes that have joined.", run.joined_nodes());
    set("tributary_run_accepted_updates", "In the round under way.", run.accepted_updates());
    set("tributary_run_connected_nodes", "Nodes of the run that are connected now.", run.connected_nodes());
    set("tributary_run_unable_nodes", "Connected nodes that cannot train in this run.", run.unable_nodes());
    set("tributary_run_clusters", "Clusters that the nodes form; 0: none was found, or looked for.",
        run.clusters());
    if (run.epsilon() > 0) {
      set("tributary_run_epsilon", "Differential privacy spent, at the run's delta.", run.epsilon());
    }
    if (const v1::Round* last = record->last_committed.get()) {
      set("tributary_run_loss", "Mean loss of the last committed round's nodes, weighted by samples.",
          last->loss());
      if (last->has_spread()) {
        set("tributary_run_spread", "Collapse check of that round: near 1 if healthy, 0 if collapsed.",
            last->spread());
      }
      if (last->has_held_out_accuracy()) {
        set("tributary_run_held_out_accuracy",
            "Accuracy of the model that round began with, on samples that its nodes keep from training.",
            last->held_out_accuracy());
      }
      set("tributary_run_collapsed", "1: that round's features are collapsed: all images look alike.",
          Collapsed(*last) ? 1 : 0);
      set("tributary_run_update_norm", "L2 norm of that round's combined update; 0: it changed nothing.",
          last->update_norm());
      set("tributary_run_round_seconds", "How long that round took.",
          1e-9 * static_cast<double>(last->ended_unix_ns() - last->started_unix_ns()));
    }
    if (record->last_evaluated == nullptr) continue;
    const v1::Evaluation& evaluation = record->last_evaluated->evaluation();
    set("tributary_run_linear_probe", "Share of the test images, latest evaluated round.",
        evaluation.linear_probe());
    set("tributary_run_knn", "Share of the test images, latest evaluated round.", evaluation.knn());
    set("tributary_run_test_spread", "Collapse check on the test images, latest evaluated round.",
        evaluation.spread());
    set("tributary_run_random_linear_probe", "The same of the random encoder: to be beaten.",
        evaluation.random_linear_probe());
    set("tributary_run_random_knn", "The same of the random encoder: to be beaten.", evaluation.random_knn());
    set("tributary_run_worse_than_untrained",
        "1: by the linear probe or by the nearest neighbours, latest evaluated round.",
        WorseThanUntrained(evaluation) ? 1 : 0);
    set("tributary_run_random_test_spread", "The same of the random encoder.", evaluation.random_spread());
  }
}

}  // namespace tributary::learning
