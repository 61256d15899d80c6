#include "node/learner/learner_metrics.h"

#include "core/wire/json.h"

namespace tributary::learner {

void LearnerMetrics::Register(const link::FederationClient& client) {
  const auto count = [this](const char* name, const char* help, auto& value) {
    metrics_.AddCounterCallback(name, help, {}, [&value] { return static_cast<double>(value.load()); });
  };
  const auto gauge = [this](const char* name, const char* help, auto& value) {
    metrics_.AddGaugeCallback(name, help, {}, [&value] { return static_cast<double>(value.load()); });
  };
  count("tributary_learner_accepted_updates_total", "Updates that the aggregator accepted.", accepted_);
  count("tributary_learner_masked_updates_total", "Accepted updates that secure aggregation had masked.",
        masked_);
  count("tributary_learner_withdrawn_rounds_total", "Rounds given up because the aggregator went on.",
        withdrawn_);
  count("tributary_learner_failed_rounds_total", "Rounds that this node could not do.", failed_);
  count("tributary_learner_steps_total", "Training steps of complete rounds.", steps_);
  count("tributary_learner_training_seconds_total", "Time spent in complete rounds' training.", seconds_);
  gauge("tributary_learner_buffered_images", "Images in the bounded buffer after the last accepted round.",
        buffered_);
  count("tributary_learner_dropped_images_total", "Images that the bounded buffer found not novel enough.",
        dropped_images_);
  gauge("tributary_learner_round", "Round of the last accepted update.", round_);
  gauge("tributary_learner_loss", "Mean loss of the last training.", loss_);
  gauge("tributary_learner_spread", "Collapse check of the last training: near 1 if healthy.", spread_);
  for (int reason = 1; reason < v1::SubmitRefusal_ARRAYSIZE; ++reason) {
    RefusedFor(wire::EnumLabel(static_cast<v1::SubmitRefusal>(reason)));
  }
  for (std::size_t reason = 1; reason < parameters::kDeclineReasons; ++reason) {
    DeclinedFor(static_cast<parameters::DeclineReason>(reason));
  }
  metrics_.AddGaugeCallback(
      "tributary_learner_participating", "1 while the aggregator gives tasks.", {},
      [&client] { return client.state() == link::FederationState::kParticipating ? 1.0 : 0.0; });
  const auto link = [this, &client](const char* name, const char* help,
                                    std::uint64_t link::FederationClient::Counters::*value) {
    metrics_.AddCounterCallback(name, help, {},
                                [&client, value] { return static_cast<double>(client.counters().*value); });
  };
  link("tributary_learner_sent_bytes_total", "Payload of updates sent, repetitions included.",
       &link::FederationClient::Counters::sent_bytes);
  link("tributary_learner_received_bytes_total", "Payload of models received.",
       &link::FederationClient::Counters::received_bytes);
  link("tributary_learner_repeated_submissions_total", "Updates sent again after a broken connection.",
       &link::FederationClient::Counters::repeated_submissions);
  link("tributary_learner_malformed_tasks_total", "Tasks that this node cannot read, and declined.",
       &link::FederationClient::Counters::malformed_tasks);
  link("tributary_learner_lost_keys_total", "Rounds of secure aggregation whose keys this node had lost.",
       &link::FederationClient::Counters::lost_keys);
  link("tributary_learner_refused_steps_total",
       "Steps of secure aggregation not done, or refused by the aggregator.",
       &link::FederationClient::Counters::refused_steps);
  link("tributary_learner_unusable_shares_total", "Unusable shares of other nodes' secrets.",
       &link::FederationClient::Counters::unusable_shares);
  link("tributary_learner_streams_total", "Streams of tasks that the aggregator answered.",
       &link::FederationClient::Counters::streams);
}

void LearnerMetrics::Trained(const parameters::TrainingMetrics& training) {
  steps_ += training.steps;
  seconds_ = seconds_ + training.seconds;
  loss_ = training.loss;
  spread_ = training.spread;
}

void LearnerMetrics::Accepted(std::uint32_t round, bool masked) {
  if (masked) ++masked_;
  round_ = round;
  ++accepted_;  // last: a reader that sees this count sees the others, too
}

void LearnerMetrics::Buffered(std::size_t images, std::uint64_t dropped) {
  buffered_ = images;
  dropped_images_ = dropped;
}

// Rare, so looked up each time. A newer aggregator may give a reason that this program does not know.
runtime::Counter& LearnerMetrics::RefusedFor(const std::string& reason) {
  return metrics_.AddCounter("tributary_learner_refused_updates_total",
                             "Updates that the aggregator refused.", {{"reason", reason}});
}

void LearnerMetrics::Refused(const std::string& reason) {
  // Before the count: a reader that sees the count sees the metric, too.
  RefusedFor(reason).Increment();
  ++refused_;
}

runtime::Counter& LearnerMetrics::DeclinedFor(parameters::DeclineReason reason) {
  return metrics_.AddCounter("tributary_learner_declined_tasks_total", "Tasks that this node declined.",
                             {{"reason", std::string(parameters::DeclineReasonName(reason))}});
}

void LearnerMetrics::Declined(parameters::DeclineReason reason) { DeclinedFor(reason).Increment(); }

LearnerCounters LearnerMetrics::counters() const {
  return {accepted_, masked_, refused_, withdrawn_, failed_, steps_, seconds_, round_, loss_, spread_};
}

}  // namespace tributary::learner
