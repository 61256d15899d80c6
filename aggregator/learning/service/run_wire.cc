#include "aggregator/learning/service/run_wire.h"

#include <algorithm>

namespace tributary {

v1::Run RunToWire(const RunView& view, bool with_config) {
  v1::Run run;
  run.set_name(view.name);
  run.set_state(static_cast<v1::RunState>(static_cast<int>(view.condition) + v1::RUN_STATE_WAITING));
  run.set_strategy(view.strategy);
  run.set_rounds(view.rounds);
  run.set_committed_rounds(view.committed);
  run.set_round(view.round);
  run.set_deadline_unix_ns(view.deadline_unix_ns);
  run.set_joined_nodes(static_cast<std::uint32_t>(view.participants.size()));
  run.set_connected_nodes(
      static_cast<std::uint32_t>(std::ranges::count(view.participants, true, &ParticipantStatus::connected)));
  run.set_asked_nodes(view.asked);
  run.set_accepted_updates(view.accepted);
  run.set_quorum(view.quorum);
  run.set_round_refused_updates(view.refused);
  run.set_refused_updates(view.totals.refused_updates);
  run.set_total_accepted_updates(view.totals.accepted_updates);
  run.set_total_declined_tasks(view.totals.declined_tasks);
  run.set_element_count(view.element_count);
  run.set_model_sha256(view.model_sha256);
  run.set_started_unix_ns(view.started_unix_ns);
  run.set_message(view.message);
  if (with_config) run.set_config(view.config);
  run.set_epsilon(view.epsilon);
  run.set_delta(view.delta);
  return run;
}

v1::Round RoundToWire(const RoundLine& line) {
  v1::Round round;
  round.set_round(line.round);
  round.set_started_unix_ns(line.started_unix_ns);
  round.set_ended_unix_ns(line.ended_unix_ns);
  round.set_asked(line.asked);
  round.set_accepted(line.accepted);
  round.set_refused(line.refused);
  round.set_dropped(line.dropped);
  round.set_sample_count(line.sample_count);
  round.set_loss(line.loss);
  round.set_spread(line.spread);
  round.set_update_norm(line.update_norm);
  round.set_received_bytes(line.received_bytes);
  round.set_model_sha256(line.model_sha256);
  for (const RoundContribution& each : line.contributions) {
    v1::RoundContribution& contribution = *round.add_contributions();
    contribution.set_node(each.node);
    contribution.set_sample_count(each.sample_count);
    contribution.set_loss(each.loss);
    contribution.set_seconds(each.seconds);
  }
  round.set_declined(line.declined);
  for (const RoundDecline& each : line.declines) {
    v1::RoundDecline& decline = *round.add_declines();
    decline.set_node(each.node);
    decline.set_reason(each.reason);
    decline.set_message(each.message);
  }
  if (line.judgement) {
    v1::Evaluation& evaluation = *round.mutable_evaluation();
    evaluation.set_linear_probe(line.judgement->linear_probe);
    evaluation.set_knn(line.judgement->knn);
    evaluation.set_random_linear_probe(line.judgement->random_linear_probe);
    evaluation.set_random_knn(line.judgement->random_knn);
    evaluation.set_spread(line.judgement->spread);
    evaluation.set_random_spread(line.judgement->random_spread);
    evaluation.set_test_images(line.judgement->test_images);
  }
  round.set_rolled_back(line.rolled_back);
  round.set_failure(line.failure);
  round.set_epsilon(line.epsilon);
  return round;
}

v1::Participant ParticipantToWire(const ParticipantStatus& status) {
  v1::Participant participant;
  participant.set_node(status.node);
  participant.set_connected(status.connected);
  participant.set_sample_count(status.sample_count);
  participant.set_last_round(status.last_round);
  participant.set_accepted_updates(status.accepted_updates);
  participant.set_refused_updates(status.refused_updates);
  participant.set_dropped_rounds(status.dropped_rounds);
  participant.set_last_refusal(status.last_refusal);
  participant.set_declined_tasks(status.declined_tasks);
  participant.set_cannot_train(status.cannot_train);
  return participant;
}

v1::Model ModelToWire(const std::string& run, const ModelRecord& record, bool current) {
  v1::Model model;
  model.set_run(run);
  model.set_round(record.round);
  model.set_sha256(record.sha256);
  model.set_element_count(record.element_count);
  model.set_file_bytes(record.file.bytes);
  model.set_created_unix_ns(record.created_unix_ns);
  model.set_current(current);
  return model;
}

}  // namespace tributary
