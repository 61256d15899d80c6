#include "node/learner/learner_metrics.h"

#include "core/wire/json.h"

namespace tributary::learner {

void LearnerMetrics::Register(const link::FederationClient& client) {
  using Counts = LearnerCounters;
  metrics_.AddCounts<Counts>(
      {}, [this] { return counters(); },
      {{"tributary_learner_accepted_updates_total", "Updates that the aggregator accepted.",
        &Counts::accepted},
       {"tributary_learner_masked_updates_total", "Accepted updates that secure aggregation had masked.",
        &Counts::masked},
       {"tributary_learner_withdrawn_rounds_total", "Rounds given up because the aggregator went on.",
        &Counts::withdrawn},
       {"tributary_learner_failed_rounds_total", "Rounds that this node could not do.", &Counts::failed},
       {"tributary_learner_steps_total", "Training steps of complete rounds.", &Counts::steps},
       {"tributary_learner_dropped_images_total", "Images that the bounded buffer found not novel enough.",
        &Counts::dropped_images}});
  metrics_.AddCounterCallback("tributary_learner_training_seconds_total",
                              "Time spent in complete rounds' training.", {},
                              [this] { return counters().seconds; });
  const auto gauge = [this](const char* name, const char* help, auto Counts::*value) {
    metrics_.AddGaugeCallback(name, help, {}, [this, value] { return counters().*value; });
  };
  gauge("tributary_learner_samples", "What this node trains on; 0: not known yet.", &Counts::samples);
  gauge("tributary_learner_buffered_images", "Images in the bounded buffer after the last accepted round.",
        &Counts::buffered);
  gauge("tributary_learner_needed_bytes", "Memory that the last task's training takes at its peak.",
        &Counts::needed_bytes);
  gauge("tributary_learner_available_bytes", "Memory that this node has for training.",
        &Counts::available_bytes);
  gauge("tributary_learner_round", "Round of the last accepted update.", &Counts::round);
  gauge("tributary_learner_loss", "Mean loss of the last training.", &Counts::loss);
  gauge("tributary_learner_spread", "Collapse check of the last training: near 1 if healthy.",
        &Counts::spread);
  for (int reason = 1; reason < v1::SubmitRefusal_ARRAYSIZE; ++reason) {
    Refused(wire::EnumLabel(static_cast<v1::SubmitRefusal>(reason)));
  }
  for (int reason = 1; reason < v1::DeclineReason_ARRAYSIZE; ++reason) {
    Declined(static_cast<v1::DeclineReason>(reason));
  }
  metrics_.AddGaugeCallback(
      "tributary_learner_participating", "1 while the aggregator gives tasks.", {},
      [&client] { return client.state() == v1::PARENT_STATE_PARTICIPATING ? 1.0 : 0.0; });
  using Link = link::FederationClient::Counters;
  metrics_.AddCounts<Link>(
      {}, [&client] { return client.counters(); },
      {{"tributary_learner_sent_bytes_total", "Payload of updates sent, repetitions included.",
        &Link::sent_bytes},
       {"tributary_learner_received_bytes_total", "Payload of models received.", &Link::received_bytes},
       {"tributary_learner_repeated_submissions_total", "Updates sent again after a broken connection.",
        &Link::repeated_submissions},
       {"tributary_learner_malformed_tasks_total", "Tasks that this node cannot read, and declined.",
        &Link::malformed_tasks},
       {"tributary_learner_lost_keys_total", "Rounds of secure aggregation whose keys this node had lost.",
        &Link::lost_keys},
       {"tributary_learner_refused_steps_total",
        "Steps of secure aggregation not done, or refused by the aggregator.", &Link::refused_steps},
       {"tributary_learner_unusable_shares_total", "Unusable shares of other nodes' secrets.",
        &Link::unusable_shares},
       {"tributary_learner_streams_total", "Streams of tasks that the aggregator answered.",
        &Link::streams}});
}

void LearnerMetrics::Publish(const LearnerCounters& counters) {
  const runtime::MutexLock lock(mutex_);
  counters_ = counters;
}

LearnerCounters LearnerMetrics::counters() const {
  const runtime::MutexLock lock(mutex_);
  return counters_;
}

runtime::Counter& LearnerMetrics::Refused(const std::string& reason) {
  return metrics_.AddCounter("tributary_learner_refused_updates_total",
                             "Updates that the aggregator refused.", {{"reason", reason}});
}

runtime::Counter& LearnerMetrics::Declined(v1::DeclineReason reason) {
  return metrics_.AddCounter("tributary_learner_declined_tasks_total", "Tasks that this node declined.",
                             {{"reason", wire::EnumLabel(reason)}});
}

}  // namespace tributary::learner
