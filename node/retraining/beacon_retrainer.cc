#include "node/retraining/beacon_retrainer.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/runtime/log.h"
#include "core/runtime/printable.h"
#include "core/runtime/thread_rank.h"
#include "node/retraining/retrained_network.h"
#include "node/retraining/samples_text.h"

namespace tributary::retraining {
namespace {

// How soon a line of the file is read: the covariance follows the errors no sooner.
constexpr std::chrono::milliseconds kPollInterval{20};

}  // namespace

BeaconRetrainer::BeaconRetrainer(std::string panel, RetrainingConfig config, nn::BeaconNetwork model,
                                 std::shared_ptr<BeaconInForce> in_force, double weight_step,
                                 runtime::Metrics& metrics)
    : panel_(std::move(panel)),
      config_(std::move(config)),
      model_(std::move(model)),
      in_force_(std::move(in_force)),
      beacon_(*in_force_->content().network, weight_step) {
  if (!config_.samples_file.empty()) file_.emplace(config_.samples_file);
  const runtime::MetricLabels labels = {{"panel", panel_}};
  metrics.AddCounts<RetrainingCounters>(
      labels, [this] { return status().counters; }, kRetrainingMetrics);
  metrics.AddGaugeCallback("tributary_retraining_deviation_scale",
                           "What multiplies the network's deviations; 1: it is consistent.", labels,
                           [this] { return status().deviation_scale; });
  metrics.AddGaugeCallback("tributary_retraining_drifted", "1 while the network learns what has changed.",
                           labels, [this] { return status().drifted ? 1.0 : 0.0; });
  metrics.AddGaugeCallback("tributary_retraining_waiting_samples", "Samples that were not judged yet.",
                           labels, [this] { return status().waiting_samples; });
}

void BeaconRetrainer::Start() {
  if (file_) file_->Poll().IgnoreError();  // the first look
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void BeaconRetrainer::Stop() {
  {
    const runtime::MutexLock lock(mutex_);
    thread_.request_stop();
  }
  news_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::Status BeaconRetrainer::Offer(std::span<const nn::BeaconExample> samples) {
  {
    const runtime::MutexLock lock(mutex_);
    if (waiting_.size() + samples.size() > kMostWaiting) {
      return absl::ResourceExhaustedError(fmt::format("{} wait to be judged, at most {} may: send them later",
                                                      runtime::Counted(waiting_.size(), "sample"),
                                                      kMostWaiting));
    }
    waiting_.insert(waiting_.end(), samples.begin(), samples.end());
  }
  news_.notify_all();
  return absl::OkStatus();
}

RetrainingStatus BeaconRetrainer::status() const {
  const runtime::MutexLock lock(mutex_);
  RetrainingStatus status = status_;
  status.waiting_samples = waiting_.size();
  return status;
}

std::string BeaconRetrainer::problem() const {
  const runtime::MutexLock lock(mutex_);
  return file_problem_.empty() ? state_problem_ : file_problem_;
}

void BeaconRetrainer::Run(const std::stop_token& stop) {
  runtime::EnterThread("retrain " + panel_, runtime::ThreadRank::kBackground);
  while (true) {
    // One by one, so that those behind it wait in the limited queue while it trains.
    std::optional<nn::BeaconExample> sample;
    {
      runtime::MutexLock lock(mutex_);
      while (!file_ && waiting_.empty() && !stop.stop_requested()) news_.wait(lock);
      if (file_ && waiting_.empty() && !stop.stop_requested()) news_.wait_for(lock, kPollInterval);
      if (stop.stop_requested()) return;
      if (!waiting_.empty()) {
        sample = waiting_.front();
        waiting_.pop_front();
      }
    }
    if (sample) Take(*sample, stop);
    if (file_) PollFile(stop);
  }
}

void BeaconRetrainer::PollFile(const std::stop_token& stop) {
  const auto lines = file_->Poll();
  {
    const runtime::MutexLock lock(mutex_);
    if (!lines.ok()) {
      ++status_.counters.unreadable_polls;
      file_problem_ = absl::StrCat("samples: ", lines.status().message());
    } else {
      file_problem_.clear();
    }
  }
  if (!lines.ok()) return;
  for (const std::string& line : *lines) {
    if (stop.stop_requested()) return;
    const auto sample = ParseSample(line);
    if (sample.ok()) {
      Take(*sample, stop);
      continue;
    }
    const runtime::MutexLock lock(mutex_);
    if (status_.counters.refused_samples++ == 0) {
      runtime::LogWarning("panel {}: {}: {}; further ones are counted", panel_, config_.samples_file,
                          std::string(sample.status().message()));
    }
  }
}

void BeaconRetrainer::Take(const nn::BeaconExample& sample, const std::stop_token& stop) {
  const auto verdict = beacon_.Take(sample);
  {
    const runtime::MutexLock lock(mutex_);
    ++(verdict.ok() ? status_.counters.samples : status_.counters.refused_samples);
    if (verdict.ok() && verdict->drift_began) ++status_.counters.drifts;
  }
  if (!verdict.ok()) return;
  if (verdict->drift_began) {
    runtime::LogWarning(
        "panel {}: its network has drifted: errors are {:.1f} times what it states; it learns from now on",
        panel_, beacon_.deviation_scale());
  }
  Publish();
  if (verdict->training_due) Train(stop);
}

void BeaconRetrainer::Train(const std::stop_token& stop) {
  const std::size_t samples = beacon_.kept_samples();
  const auto done = beacon_.Train([&stop] { return stop.stop_requested(); });
  if (stop.stop_requested()) return;
  const bool taken = done.ok() && done->taken;
  absl::Status saved = absl::OkStatus();
  if (taken) {
    in_force_->Set(beacon_.network(), beacon_.deviation_scale());
    if (!config_.state_file.empty()) saved = SaveRetrained(config_.state_file, beacon_.network(), model_);
    const double scale_cm = 100 * beacon_.network().output_scale_m;
    runtime::LogInfo(
        "panel {}: learned from {}: {:.1f} to {:.1f} cm per coordinate on samples that were held out", panel_,
        runtime::Counted(samples, "sample"), scale_cm * done->error_before, scale_cm * done->error_after);
  } else if (!done.ok()) {
    runtime::LogWarning("panel {}: cannot learn from {}: {}", panel_, runtime::Counted(samples, "sample"),
                        std::string(done.status().message()));
  }
  if (!saved.ok()) runtime::LogError("panel {}: state: {}", panel_, std::string(saved.message()));
  {
    const runtime::MutexLock lock(mutex_);
    RetrainingCounters& counters = status_.counters;
    ++(taken ? counters.trainings : done.ok() ? counters.kept_trainings : counters.failed_trainings);
    if (taken) status_.error_m = done->error_after * beacon_.network().output_scale_m;
    if (!saved.ok()) ++counters.unsaved_networks;
    if (taken) state_problem_ = saved.ok() ? "" : absl::StrCat("state: ", saved.message());
  }
  Publish();
}

void BeaconRetrainer::Publish() {
  in_force_->SetScale(beacon_.deviation_scale());
  const runtime::MutexLock lock(mutex_);
  status_.drifted = beacon_.drifted();
  status_.deviation_scale = beacon_.deviation_scale();
  status_.kept_samples = beacon_.kept_samples();
}

}  // namespace tributary::retraining
