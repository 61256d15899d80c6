#include "aggregator/learning/run/round_sum.h"

#include <algorithm>
#include <utility>

#include "core/status/macros.h"

namespace tributary::learning {

RoundSum::RoundSum(const store::Store& store, std::size_t element_count, bool every_update, double clip_norm,
                   NodeClusters* clusters)
    : store_(store),
      element_count_(element_count),
      every_update_(every_update),
      clip_norm_(clip_norm),
      clusters_(clusters) {}

void RoundSum::Start(const parameters::FixedPoint& fixed_point) {
  updates_.clear();
  if (clusters_ != nullptr) clusters_->StartRound();
  if (!every_update_) sum_.emplace(element_count_).Start(fixed_point);
}

void RoundSum::Clear() {
  updates_.clear();
  sum_.reset();
  combined_ = {};
}

double RoundSum::ScaleOf(const KeptUpdate& update) const {
  return clip_norm_ > 0 && update.record.norm() > clip_norm_ ? clip_norm_ / update.record.norm() : 1.0;
}

absl::Status RoundSum::Give(const KeptUpdate& update, std::string_view bytes, const UpdateSink& sink) const {
  const v1::UpdateHeader& header = update.header();
  if (!bytes.empty()) return ReadUpdate(bytes, EncodingOf(header), header.element_count(), sink);
  ASSIGN_OR_RETURN(store::CheckedReader reader, store_.Read(update.file));
  return ReadUpdate(reader, EncodingOf(header), header.element_count(), sink);
}

absl::Status RoundSum::Add(KeptUpdate update, std::string_view bytes) {
  updates_.push_back(std::move(update));
  if (every_update_) return absl::OkStatus();  // combined at the end of the round
  const KeptUpdate& kept = updates_.back();
  const auto scale = static_cast<float>(ScaleOf(kept));
  std::vector<float> scaled;
  return Give(kept, bytes,
              [&](std::uint64_t offset, std::span<const float> values, std::span<const std::int64_t> words) {
                if (!words.empty()) return sum_->AddFixed(offset, words);
                if (clusters_ != nullptr) clusters_->Add(kept.header().node(), offset, values);
                if (scale == 1) return sum_->Add(offset, values, kept.record.weight());
                scaled.assign(values.begin(), values.end());
                for (float& value : scaled) value *= scale;
                return sum_->Add(offset, scaled, kept.record.weight());
              });
}

absl::Status RoundSum::AddUpAgain(const parameters::FixedPoint& fixed_point,
                                  std::vector<KeptUpdate> updates) {
  Start(fixed_point);
  for (KeptUpdate& each : updates) RETURN_IF_ERROR(Add(std::move(each)));
  return absl::OkStatus();
}

v1::UpdateHeader RoundSum::Said() const {
  v1::UpdateHeader all;
  v1::UpdateMetrics& metrics = *all.mutable_metrics();
  double spread_of = 0, judged = 0;  // samples of the nodes that say each
  for (const KeptUpdate& each : updates_) {
    const v1::UpdateMetrics& its = each.header().metrics();
    const auto samples = static_cast<double>(each.header().sample_count());
    all.set_sample_count(all.sample_count() + each.header().sample_count());
    metrics.set_loss(metrics.loss() + samples * its.loss());
    if (its.has_spread()) {
      metrics.set_spread(metrics.spread() + samples * its.spread());
      spread_of += samples;
    }
    if (its.has_held_out_accuracy()) {
      metrics.set_held_out_accuracy(metrics.held_out_accuracy() + samples * its.held_out_accuracy());
      judged += samples;
    }
    metrics.set_seconds(std::max(metrics.seconds(), its.seconds()));
    metrics.set_steps(metrics.steps() + its.steps());
  }
  if (all.sample_count() == 0) return all;
  metrics.set_loss(metrics.loss() / static_cast<double>(all.sample_count()));
  if (spread_of > 0) metrics.set_spread(metrics.spread() / spread_of);
  if (judged > 0) metrics.set_held_out_accuracy(metrics.held_out_accuracy() / judged);
  return all;
}

absl::StatusOr<std::span<float>> RoundSum::Combine(const Strategy& strategy, double total_weight) {
  if (!every_update_) return sum_->TakeMean(total_weight);
  std::vector<std::vector<float>> deltas(updates_.size(), std::vector<float>(element_count_));
  std::vector<NodeUpdate> nodes;
  for (std::size_t i = 0; i < updates_.size(); ++i) {
    const auto scale = static_cast<float>(ScaleOf(updates_[i]));
    RETURN_IF_ERROR(
        Give(updates_[i], {},
             [&](std::uint64_t offset, std::span<const float> values, std::span<const std::int64_t>) {
               std::ranges::transform(values, deltas[i].begin() + static_cast<std::ptrdiff_t>(offset),
                                      [scale](float value) { return value * scale; });
               return absl::OkStatus();
             }));
    nodes.push_back({updates_[i].header().node(), updates_[i].record.weight(), deltas[i]});
  }
  combined_.resize(element_count_);
  RETURN_IF_ERROR(strategy.Combine(nodes, combined_));
  return std::span<float>(combined_);
}

}  // namespace tributary::learning
